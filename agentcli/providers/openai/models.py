"""The GPT models, strongest first, and names of optional fields in refusals.

The refusals are those of OpenAI's API and of servers with its wire format.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

from agentcli.core.model import ModelSpec, Prices
from agentcli.providers.provider import Preset, Wording

KIND = "openai"
SEARCH_PRICE = 0.01
"""USD of one web search."""
SUMMARY_MODEL = f"{KIND}/gpt-6-luna"
ALIASES: Mapping[str, str] = MappingProxyType(
    {
        "gpt": f"{KIND}/gpt-6.2-sol",
        "astra": f"{KIND}/gpt-6.2-astra",
        "sol": f"{KIND}/gpt-6.2-sol",
        "terra": f"{KIND}/gpt-6.1-terra",
        "luna": f"{KIND}/gpt-6-luna",
    }
)
"""Short names, each for the newest model of its line with known figures."""
_LONG = 272_000
"""Prompt tokens above which the whole request costs more.

It costs twice the input price and one and a half times the output price.
"""

_DOUBLE_OR_HALF: Mapping[str, float] = {"priority": 2.0, "flex": 0.5}


def _gpt(model: str, *prices: float, write: float | None = None, **known: Any) -> ModelSpec:
    """Make a GPT's spec with its prices: input, output, cache read.

    From 5.6 on, cache writes cost a quarter more than fresh input; for older models `write`.
    """
    fresh, out, read = prices
    written = fresh * 1.25 if write is None else write
    over: dict[str, Any] = {
        "over": _LONG,
        "over_input": 2 * fresh,
        "over_output": 1.5 * out,
        "over_cache_read": 2 * read,
        "over_cache_write": 2 * written,
    }
    return ModelSpec(
        KIND, model, KIND,
        window=known.pop("window", 1_050_000),
        max_output=128_000,
        prices=Prices(fresh, out, read, written, **(over if known.pop("long", True) else {})),
        cache_minimum=1024,
        cache_lifetime=known.pop("cache_lifetime", 1800.0),
        cache_explicit=False,
        summary_model=SUMMARY_MODEL,
        search_price=SEARCH_PRICE,
        **{"thinking": "level", "compacts_from": 1, **known},
    )  # fmt: skip


@cache
def models() -> tuple[ModelSpec, ...]:
    """Return the models, strongest first."""
    # Prices are in USD per million tokens. Prices and limits come from the vendor's pages or reports about them, on
    # 2026-11-18. The prompt (at most 922,000) and the reply share the window. Not confirmed are the cache reads of 6.2
    # Sol, which are taken from 6.1 Sol. The long-prompt prices of the 6.1 and 6.2 models are the family's usual
    # factors, also not confirmed. Nor is the lower price of 5.6 Sol after 2026-11-21. The tiers of 5.4 and 5.5 come
    # from the vendor's page on priority processing. Those of the 6 and 6.1 models come from reports about its prices,
    # read on 2026-11-27. Other models have no confirmed tier.
    return (
        _gpt("gpt-6.2-astra", 8, 40, 0.4),
        _gpt("gpt-6.2-sol", 2, 10, 0.1),
        _gpt("gpt-6.1-sol", 2, 10, 0.1, tiers=_DOUBLE_OR_HALF),
        _gpt("gpt-6.1-terra", 1, 5, 0.05),
        _gpt("gpt-6-astra", 10, 50, 1.0),
        _gpt("gpt-6-sol", 2, 10, 0.2, tiers=_DOUBLE_OR_HALF),
        _gpt("gpt-6-luna", 0.1, 0.5, 0.01, tiers=_DOUBLE_OR_HALF),
        _gpt("gpt-5.6-sol", 4, 20, 0.4),
        _gpt("gpt-5.6-terra", 2, 12, 0.2),
        _gpt("gpt-5.6-luna", 0.2, 1.2, 0.02),
        _gpt("gpt-5.5", 5, 30, 0.5, write=5, cache_lifetime=300.0, tiers={"priority": 2.5}),
        _gpt("gpt-5.4", 2.5, 15, 0.25, write=2.5, cache_lifetime=300.0, tiers={"priority": 2.0}),
        _gpt("gpt-5.4-mini", 0.75, 4.5, 0.075, write=0.75, cache_lifetime=300.0, window=400_000, long=False,
             tiers={"priority": 2.0}),
    )  # fmt: skip


FIELDS: Mapping[str, Wording] = MappingProxyType(
    {
        "stream_options": Wording(r"stream_options(?:\.include_usage)?|include_usage"),
        "max_tokens": Wording(r"max_tokens", r"max_tokens\b.{0,80}\buse ['\"`]?max_completion_tokens"),
        "call_ids": Wording(
            r"tool[_ ]?call[_ ]?ids?|call_ids?", r"(?:tool[_ ]?call[_ ]?ids?|call_ids?)\b.{0,80}\b(?:length of 9|a-z, a-z, 0-9)"
        ),
        "compaction": Wording(r"compaction"),
        "summaries": Wording(
            r"reasoning[._]summary|reasoning summar(?:y|ies)", r"must be verified to generate reasoning summar"
        ),
        "thoughts": Wording(r"reasoning_content|reasoning_details"),
        "effort": Wording(r"reasoning[_.]effort|(?:reasoning )?effort"),
        "thinking": Wording(r"reasoning(?:\.encrypted_content)?|thinking|encrypted[ _]content"),
        "cache": Wording(r"prompt_cache_\w+|cache_control"),
        "result_images": Wording(
            r"images? in tool (?:message|result|output)s?",
            r"only allowed for messages with role ['\"`]user['\"`], but this message with role ['\"`]tool",
        ),
        "images": Wording(
            r"(?:image|vision|multimodal)s?(?: (?:inputs?|contents?|urls?))?|image_url|input_image",
            r"at most 0 images?\b|is not a multimodal model|no endpoints found that support image",
        ),
    }
)  # fmt: skip
"""The wordings of each capability; the specific ones first."""


PRESETS: tuple[Preset, ...] = (
    Preset("ollama", "Ollama", "http://127.0.0.1:11434/v1", start="ollama serve"),
    Preset("lmstudio", "LM Studio", "http://127.0.0.1:1234/v1", start="lms server start"),
    Preset("llamacpp", "llama.cpp", "http://127.0.0.1:8080/v1", start="llama-server --jinja -m MODEL.gguf"),
    Preset("vllm", "vLLM", "http://127.0.0.1:8000/v1", start="vllm serve MODEL --enable-auto-tool-choice --tool-call-parser PARSER"),
    Preset("sglang", "SGLang", "http://127.0.0.1:30000/v1", start="python -m sglang.launch_server --model MODEL"),
    Preset("openrouter", "OpenRouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", key_site="openrouter.ai/settings/keys"),
    Preset("deepseek", "DeepSeek", "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY", key_site="platform.deepseek.com"),
    Preset("mistral", "Mistral", "https://api.mistral.ai/v1", "MISTRAL_API_KEY", key_site="console.mistral.ai"),
    Preset("groq", "Groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY", key_site="console.groq.com"),
    Preset("xai", "xAI", "https://api.x.ai/v1", "XAI_API_KEY", key_site="console.x.ai"),
    Preset("chatgpt", "ChatGPT", "https://api.openai.com/v1", "CHATGPT_ACCESS_TOKEN", plan=True),
)  # fmt: skip
"""Presets by name. Each is a provider of that name; a `[providers.<name>]` table changes only the fields that it
contains.
"""
