"""Table of providers, one entry each. An adapter is imported on demand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from agentcli.core.model import ModelSpec, Prices
from agentcli.providers.anthropic import models as anthropic_models
from agentcli.providers.google import models as google_models
from agentcli.providers.openai import models as openai_models
from agentcli.providers.openai.models import PRESETS as OPENAI_PRESETS
from agentcli.providers.provider import Preset, Provider

_CLAUDE_LIKE = ModelSpec("", "", anthropic_models.KIND, cache_minimum=4096, known=False)
_CHAT_LIKE = ModelSpec(
    "", "", openai_models.KIND, window=128_000, max_output=16_384, cache_minimum=1024, cache_explicit=False, known=False
)
_DEMO = ModelSpec("demo", "demo", "demo", prices=Prices(), cache_minimum=512, thinking="adaptive")
PROVIDERS: Mapping[str, Provider] = MappingProxyType(
    {
        "anthropic": Provider(
            title="Anthropic",
            fields=anthropic_models.FIELDS,
            adapter="agentcli.providers.anthropic.model:AnthropicModel",
            url="https://api.anthropic.com",
            models_path="/v1/models",
            sdk="anthropic",
            sdk_unused=(
                *("types", "resources", "lib.middleware", "lib.streaming", "lib.tools"),
                *("lib.aws", "lib.bedrock", "lib.foundry", "lib.google_cloud", "lib.vertex"),
            ),
            key_variables=("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
            key_prefix="sk-ant-",
            key_header="x-api-key",
            request_headers=MappingProxyType({"anthropic-version": "2023-06-01"}),
            key_advice=("ANTHROPIC_API_KEY", "for Claude (console.anthropic.com)"),
            base_url_variable="ANTHROPIC_BASE_URL",
            base_url_advice="for a local server (Ollama, llama.cpp, vLLM)",
            default_model="sonnet",
            listed=anthropic_models.models,
            aliases=anthropic_models.ALIASES,
            unknown=_CLAUDE_LIKE,
            also=("claude",),
            prefixes=("claude-",),
            unsaid="claude-",
            # A Claude without known figures is treated like the strictest ones. Dropping a thought too many is cheap; a
            # refused request is not.
            unknown_own=replace(
                _CLAUDE_LIKE, preserved_thinking=True, context_editing=True, search_price=anthropic_models.SEARCH_PRICE
            ),
            summary_model=anthropic_models.SUMMARY_MODEL,
        ),
        "google": Provider(
            title="Google",
            fields=google_models.FIELDS,
            adapter="agentcli.providers.google.model:GoogleModel",
            url="https://generativelanguage.googleapis.com",
            models_path="/v1beta/models",
            sdk="google.genai",
            sdk_unused=(
                *("batches", "caches", "chats", "documents", "file_search_stores"),
                *("live", "operations", "tokens", "tunings"),
            ),
            key_variables=("GOOGLE_API_KEY", "GEMINI_API_KEY"),
            key_prefix="AIza",
            key_header="x-goog-api-key",
            key_advice=("GEMINI_API_KEY", "for Gemini (aistudio.google.com)"),
            base_url_variable="GOOGLE_GEMINI_BASE_URL",
            default_model="flash",
            listed=google_models.models,
            aliases=google_models.ALIASES,
            unknown=ModelSpec(
                "",
                "",
                google_models.KIND,
                window=1_048_576,
                max_output=65_536,
                cache_minimum=4096,
                cache_explicit=False,
                known=False,
            ),
            also=("gemini",),
            prefixes=("gemini-",),
            summary_model=google_models.SUMMARY_MODEL,
        ),
        "openai": Provider(
            title="OpenAI",
            fields=openai_models.FIELDS,
            adapter="agentcli.providers.openai.model:OpenAIModel",
            url="https://api.openai.com/v1",
            models_path="/v1/models",
            sdk="openai",
            sdk_unused=("types",),
            extra="openai",
            key_variables=("OPENAI_API_KEY",),
            key_prefix="sk-proj-",
            key_header="Authorization",
            key_advice=("OPENAI_API_KEY", "for GPT (platform.openai.com)"),
            base_url_variable="OPENAI_BASE_URL",
            default_model="gpt",
            listed=openai_models.models,
            aliases=openai_models.ALIASES,
            unknown=_CHAT_LIKE,
            prefixes=("gpt-", "o1", "o3", "o4", "codex-", "chatgpt-"),
            unknown_own=replace(
                _CHAT_LIKE,
                window=400_000,
                max_output=128_000,
                thinking="level",
                search_price=openai_models.SEARCH_PRICE,
            ),
            presets=OPENAI_PRESETS,
            summary_model=openai_models.SUMMARY_MODEL,
        ),
        "demo": Provider(
            adapter="agentcli.providers.scripted.builtin:scripted",
            listed=lambda: (_DEMO,),
            aliases=MappingProxyType({"demo": "demo/demo"}),
            unknown=replace(_DEMO, known=False),
        ),
        "script": Provider(
            adapter="agentcli.providers.scripted.builtin:scripted", unknown=replace(_DEMO, kind="script", known=True)
        ),
    }
)
"""All providers by kind, in the order in which keys are searched; each works by that name without configuration."""
SERVERS = tuple(kind for kind, provider in PROVIDERS.items() if provider.takes_key)
"""The kinds that a `[providers.<name>]` table may have."""
PRESETS: Mapping[str, tuple[str, Preset]] = MappingProxyType(
    {preset.name: (kind, preset) for kind, provider in PROVIDERS.items() for preset in provider.presets}
)
"""All presets by name, with the kind whose wire format they use."""


def kind_of(name: str) -> str:
    """Return the kind of a provider, by its own name or a common alias; empty if unknown."""
    kinds = {each: kind for kind, provider in PROVIDERS.items() for each in (kind, *provider.also)}
    return kinds.get(name) or PRESETS.get(name, ("", None))[0]


def variables_of(name: str) -> Sequence[str]:
    """Return a provider's environment variables: its key, and its server's address; those of all servers if it is
    unknown.
    """
    own = kind_of(name)
    kinds = (own,) if own else SERVERS
    found = [each for kind in kinds for each in (*PROVIDERS[kind].key_variables, PROVIDERS[kind].base_url_variable)]
    found += [PRESETS[name][1].key_variable] if name in PRESETS else []
    return list(filter(None, found))
