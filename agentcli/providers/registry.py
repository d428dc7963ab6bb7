"""The table of providers: all that the program knows of one, in one entry. Its adapter is imported when it is needed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from agentcli.core.model import ModelSpec, Prices
from agentcli.providers.anthropic import models as anthropic_models
from agentcli.providers.google import models as google_models

_NO_ALIASES: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """A wire format and the vendor whose it is."""

    adapter: str
    """`module:name` of what makes a Model of spec, settings, key and base URL."""
    sdk: tuple[str, ...] = ()
    """What to import early: the SDK, and what it would import at its first request."""
    url: str = ""
    """Where its API is, unless an address is set."""
    models_path: str = ""
    """What answers there without a key, if only to refuse."""
    key_variables: tuple[str, ...] = ()
    """Where the vendor's key is looked for; the first that is set wins, as in the SDK. Without any, it takes no key."""
    key_advice: tuple[str, str] = ("", "")
    """The variable that is told to whoever has no key, and what it gives."""
    base_url_variable: str = ""
    base_url_advice: str = ""
    """What setting that variable gives, where it needs no key."""
    default_model: str = ""
    """For whoever has a key and says nothing."""
    models: tuple[ModelSpec, ...] = ()
    """Those that we have figures for, strongest first."""
    aliases: Mapping[str, str] = field(default_factory=lambda: _NO_ALIASES)
    unknown: ModelSpec
    """What is assumed of a model that is not among them."""
    prefix: str = ""
    """How the vendor's own models begin, for names without a provider; empty where that tells nothing."""
    unknown_own: ModelSpec | None = None
    """The same of the vendor's own, where it differs."""
    summary_model: str = ""
    """The cheap one of the vendor's own, which writes their summaries; empty to use the model itself."""

    @property
    def takes_key(self) -> bool:
        """Whether it is a server, which a `[providers.<name>]` table may describe, and not a script."""
        return bool(self.key_variables)

    def owns(self, model: str) -> bool:
        """Whether an id is that of one of the vendor's own models."""
        return bool(self.prefix) and model.startswith(self.prefix)

    def assumed(self, model: str) -> ModelSpec:
        """What is assumed of a model by its id."""
        return self.unknown_own if self.unknown_own and self.owns(model) else self.unknown


_CLAUDE_LIKE = ModelSpec("", "", anthropic_models.KIND, cache_minimum=4096, known=False)
_DEMO = ModelSpec("demo", "demo", "demo", prices=Prices(), cache_minimum=512, thinking="adaptive")
PROVIDERS: Mapping[str, Provider] = MappingProxyType(
    {
        "anthropic": Provider(
            adapter="agentcli.providers.anthropic.model:AnthropicModel",
            url="https://api.anthropic.com",
            models_path="/v1/models",
            sdk=("httpx2", "anthropic", "anthropic.resources.messages"),
            key_variables=("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
            key_advice=("ANTHROPIC_API_KEY", "for Claude (console.anthropic.com)"),
            base_url_variable="ANTHROPIC_BASE_URL",
            base_url_advice="for a local server (Ollama, llama.cpp, vLLM)",
            default_model="sonnet",
            models=anthropic_models.MODELS,
            aliases=anthropic_models.ALIASES,
            unknown=_CLAUDE_LIKE,
            prefix="claude-",
            # A Claude we have no figures for is treated as the strictest ones: dropping a thought too many costs little, a refused request more.
            unknown_own=replace(_CLAUDE_LIKE, preserved_thinking=True),
            summary_model=anthropic_models.SUMMARY_MODEL,
        ),
        "google": Provider(
            adapter="agentcli.providers.google.model:GoogleModel",
            url="https://generativelanguage.googleapis.com",
            models_path="/v1beta/models",
            sdk=("httpx2", "google.genai"),
            key_variables=("GOOGLE_API_KEY", "GEMINI_API_KEY"),
            key_advice=("GEMINI_API_KEY", "for Gemini (aistudio.google.com)"),
            base_url_variable="GOOGLE_GEMINI_BASE_URL",
            default_model="flash",
            models=google_models.MODELS,
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
            prefix="gemini-",
            summary_model=google_models.SUMMARY_MODEL,
        ),
        "demo": Provider(
            adapter="agentcli.providers.scripted.builtin:scripted",
            models=(_DEMO,),
            aliases=MappingProxyType({"demo": "demo/demo"}),
            unknown=replace(_DEMO, known=False),
        ),
        "script": Provider(
            adapter="agentcli.providers.scripted.builtin:scripted", unknown=replace(_DEMO, kind="script", known=True)
        ),
    }
)
"""Every provider by its kind, in the order in which keys are looked for; each can be used by that name without configuration."""
SERVERS = tuple(kind for kind, provider in PROVIDERS.items() if provider.takes_key)
"""The kinds that a `[providers.<name>]` table may be of."""
