"""The Claude models, strongest first, and names of optional fields in refusals.

The refusals are those of the Messages API and of servers with its wire format.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from types import MappingProxyType
from typing import Any

from agentcli.core.model import ModelSpec, Prices
from agentcli.providers.provider import Wording

KIND = "anthropic"
LEAST_COMPACTED = 50_000
"""Minimum trigger of the vendor's compaction in tokens; not all models have it."""
SEARCH_PRICE = 0.01
"""USD of one web search."""
SUMMARY_MODEL = f"{KIND}/claude-haiku-5-5"
ALIASES: Mapping[str, str] = MappingProxyType(
    {
        "fable": f"{KIND}/claude-fable-5-1",
        "opus": f"{KIND}/claude-opus-5-5",
        "sonnet": f"{KIND}/claude-sonnet-5-5",
        "haiku": f"{KIND}/claude-haiku-5-5",
        "claude": f"{KIND}/claude-sonnet-5-5",
    }
)
"""Short names, each for the newest model of its line with known figures."""


def _claude(model: str, *prices: float, cache_minimum: int = 512, **known: Any) -> ModelSpec:
    """Make a Claude's spec with its prices: input, output, 5-minute write, read."""
    fresh, out, write, read = prices
    return ModelSpec(
        KIND, model, KIND,
        window=known.pop("window", 1_000_000),
        max_output=known.pop("max_output", 128_000),
        prices=replace(Prices(fresh, out, read, write), **known.pop("over", {})),
        cache_minimum=cache_minimum,
        summary_model=SUMMARY_MODEL,
        deferred_tools=True,
        search_price=SEARCH_PRICE,
        **{"thinking": "adaptive", "context_editing": True, **known},
    )  # fmt: skip


_HAIKU_OVER = {
    "over": 100_000,
    "over_input": 0.5,
    "over_output": 2.5,
    "over_cache_read": 0.05,
    "over_cache_write": 0.625,
}


@cache
def models() -> tuple[ModelSpec, ...]:
    """Return the models, strongest first."""
    # Prices in USD per million tokens and limits from the vendor's pages in November 2026. No page has the output
    # limits of the 4.5 models and of Sonnet 4.6; they are the family's usual ones. Not confirmed: the end dates of Opus
    # 4.5 and Haiku 4.5, whose earliest dates have passed.
    return (
        _claude("claude-fable-5-1", 10, 50, 12.5, 0.25, preserved_thinking=True, system_messages=True, compacts_from=LEAST_COMPACTED),
        _claude("claude-fable-5", 10, 50, 12.5, 1.0, system_messages=True, compacts_from=LEAST_COMPACTED),
        _claude("claude-opus-5-5", 4, 20, 5, 0.2, preserved_thinking=True, system_messages=True, compacts_from=LEAST_COMPACTED),
        _claude("claude-opus-5", 5, 25, 6.25, 0.5, system_messages=True, compacts_from=LEAST_COMPACTED),
        _claude("claude-opus-4-8", 5, 25, 6.25, 0.5, cache_minimum=1024, system_messages=True, compacts_from=LEAST_COMPACTED),
        _claude("claude-opus-4-7", 5, 25, 6.25, 0.5, cache_minimum=2048, compacts_from=LEAST_COMPACTED),
        _claude("claude-opus-4-6", 5, 25, 6.25, 0.5, cache_minimum=4096, compacts_from=LEAST_COMPACTED),
        _claude("claude-opus-4-5", 5, 25, 6.25, 0.5, cache_minimum=4096, window=200_000, max_output=64_000, thinking="budget"),
        _claude("claude-sonnet-5-5", 2, 10, 2.5, 0.1, preserved_thinking=True, system_messages=True),
        _claude("claude-sonnet-5", 2, 10, 2.5, 0.2, cache_minimum=1024, compacts_from=LEAST_COMPACTED),
        _claude("claude-sonnet-4-6", 3, 15, 3.75, 0.3, cache_minimum=1024, max_output=64_000, compacts_from=LEAST_COMPACTED),
        _claude("claude-sonnet-4-5", 3, 15, 3.75, 0.3, cache_minimum=1024, window=200_000, max_output=64_000, thinking="budget",
                retires="2026-11-30", successor=f"{KIND}/claude-sonnet-5-5"),
        _claude("claude-haiku-5-5", 0.1, 0.5, 0.125, 0.01, over=_HAIKU_OVER, preserved_thinking=True),
        _claude("claude-haiku-4-5", 1, 5, 1.25, 0.1, cache_minimum=4096, window=200_000, max_output=64_000, thinking="budget"),
    )  # fmt: skip


FIELDS: Mapping[str, Wording] = MappingProxyType(
    {
        "deferred_tools": Wording(r"defer_loading|tool[_ ]references?"),
        "compaction": Wording(r"compact[_-][\w-]*\d|compaction"),
        "context_editing": Wording(
            r"context[_-]management[\w.-]*|clear_(?:tool_uses|thinking)_\d+",
            r"[\"'`]?clear_(?:tool_uses|thinking)_\d+[\"'`]? does not match",
        ),
        "effort": Wording(r"output_config(?:\.effort)?|effort"),
        "thinking": Wording(
            r"(?:(?:adaptive|extended|interleaved) )?thinking(?:\.type)?(?:\.(?:enabled|adaptive))?(?:\.budget_tokens)?"
            r"|budget_tokens|interleaved-thinking[\w-]*"
        ),
        "cache": Wording(r"cache_control|ephemeral"),
        "system_messages": Wording(
            r"system messages?|roles?:? ['\"`]?system['\"`]?", r"\brole: input should be 'user' or 'assistant'"
        ),
        "result_images": Wording(
            r"images? in tool[_ ]results?", r"tool_result[\w.]*:? images?(?: blocks?)? (?:is|are) not (?:supported|permitted)"
        ),
        "images": Wording(r"(?:image|vision|multimodal)s?(?: (?:inputs?|contents?|urls?))?", r"at most 0 images?\b|is not a multimodal model"),
    }
)  # fmt: skip
"""The wordings of each capability; the specific ones first."""
