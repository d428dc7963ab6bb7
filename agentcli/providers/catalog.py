"""The models we know: windows, output limits, prices and cache rules; and what a user may call them."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from types import MappingProxyType
from typing import Any

from agentcli.core.errors import ConfigError, InputError
from agentcli.core.model import ModelSpec, Prices
from agentcli.providers.settings import BUILT_IN, ProviderSettings

ALIASES: Mapping[str, str] = MappingProxyType(
    {
        "fable": "anthropic/claude-fable-5-1",
        "opus": "anthropic/claude-opus-5-5",
        "sonnet": "anthropic/claude-sonnet-5-5",
        "haiku": "anthropic/claude-haiku-5-5",
        "claude": "anthropic/claude-sonnet-5-5",
        "gemini": "google/gemini-3.8-flash",
        "flash": "google/gemini-3.8-flash",
        "flash-lite": "google/gemini-3.5-flash-lite",
        "pro": "google/gemini-3.1-pro-preview",
        "argon": "google/gemini-4-argon",
        "demo": "demo/demo",
    }
)
"""Short names, each for the newest model of its line that we have figures for."""

_NOTHING: Mapping[str, Any] = MappingProxyType({})
_NO_PROVIDERS: Mapping[str, ProviderSettings] = MappingProxyType({})


def spec(
    name: str,
    overrides: Mapping[str, Mapping[str, Any]] = _NOTHING,
    providers: Mapping[str, ProviderSettings] = _NO_PROVIDERS,
) -> ModelSpec:
    """What is known about the model called `provider/model`, a bare id, an alias, or `script:<name-or-path>`.

    `overrides` maps an id or `provider/id` to fields of ModelSpec (`prices` is a table of its own); `providers` holds
    the configured providers by name. A model that is in no table gets the stated defaults with `known` false. Raises
    InputError for a provider or name that nothing is known about, ConfigError for an override of a field that does not
    exist.
    """
    known = {**BUILT_IN, **providers}
    found = _find(name, known)
    for key in (found.id, found.name):
        if key in overrides:
            found = _overridden(found, overrides[key])
    settings = known.get(found.provider)
    if settings and settings.thinking:
        found = replace(found, thinking=settings.thinking)
    if settings and not settings.caching:
        found = replace(found, cache_explicit=False)
    return found


def models() -> Sequence[ModelSpec]:
    """Every model in the table, by vendor, strongest first."""
    return (*_CLAUDE, *_GEMINI, _DEMO)


def _find(name: str, providers: Mapping[str, ProviderSettings]) -> ModelSpec:
    if name.startswith("script:") and name != "script:":
        return _scripted(name.removeprefix("script:"))
    full = ALIASES.get(name, name)
    provider, slash, model = full.partition("/")
    if slash and provider in providers and model:
        return _of_provider(providers[provider], model)
    if slash and provider in providers:
        raise InputError(f"Which model of {provider}? Write {provider}/<model>, see `agentcli models`.")
    if slash:
        raise InputError(
            f"There is no provider {provider!r}{_near(provider, providers)}. `agentcli models` lists the models."
        )
    for candidate in models():
        if candidate.id == full:
            return candidate
    if full.startswith("claude-"):
        return _unknown(BUILT_IN["anthropic"], full)
    if full.startswith("gemini-"):
        return _unknown(BUILT_IN["google"], full)
    names = [*ALIASES, *(model.id for model in models())]
    raise InputError(f"There is no model {name!r}{_near(name, names)}. Write provider/model, or see `agentcli models`.")


def _of_provider(settings: ProviderSettings, model: str) -> ModelSpec:
    if settings.kind == "scripted":
        return _scripted(model)
    for candidate in models():
        if candidate.id == model and candidate.kind == settings.kind:
            return _renamed(candidate, settings.name)
    return _unknown(settings, model)


def _renamed(candidate: ModelSpec, provider: str) -> ModelSpec:
    """The same model behind another door, where the vendor's prices need not hold."""
    if provider == candidate.provider:
        return candidate
    return replace(candidate, provider=provider, prices=None, summary_model="")


def _unknown(settings: ProviderSettings, model: str) -> ModelSpec:
    found = replace(_UNKNOWN[settings.kind], provider=settings.name, id=model)
    # A Claude we have no figures for is treated as the strictest ones: dropping a thought too many costs little, a refused request more.
    strict = settings.kind == "anthropic" and model.startswith("claude-")
    return replace(found, preserved_thinking=strict, summary_model=_summary_model(found))


def _summary_model(found: ModelSpec) -> str:
    """The cheap model of the same family that writes summaries; empty to use the model itself."""
    if found.provider == "anthropic" and found.id.startswith("claude-"):
        return "anthropic/claude-haiku-5-5"
    if found.provider == "google" and found.id.startswith("gemini-"):
        return "google/gemini-3.5-flash-lite"
    return ""


def _scripted(name: str) -> ModelSpec:
    return replace(_DEMO, provider="script", id=name, kind="scripted", known=True)


def _overridden(found: ModelSpec, changes: Mapping[str, Any]) -> ModelSpec:
    names = {field.name for field in fields(ModelSpec)} - {"provider", "id", "kind", "known", "summary_prices"}
    unknown = sorted(set(changes) - names)
    if unknown:
        raise ConfigError(f"models.{found.id} has no setting {unknown[0]!r}{_near(unknown[0], names)}.")
    values = dict(changes)
    if isinstance(values.get("prices"), Mapping):
        values["prices"] = _prices_overridden(found, values["prices"])
    for key, value in values.items():
        _check_kind(found, key, value)
    return replace(found, **values, known=True)


def _prices_overridden(found: ModelSpec, changes: Mapping[str, Any]) -> Prices:
    names = {field.name for field in fields(Prices)}
    unknown = sorted(set(changes) - names)
    if unknown:
        raise ConfigError(f"models.{found.id}.prices has no setting {unknown[0]!r}{_near(unknown[0], names)}.")
    return replace(found.prices or Prices(), **changes)


def _check_kind(found: ModelSpec, key: str, value: Any) -> None:
    present = getattr(found, key)
    whole = isinstance(present, int) and not isinstance(present, bool)
    right = isinstance(value, int | float) if isinstance(present, float) else isinstance(value, type(present))
    if present is not None and (not right or (whole and value < 0)):
        raise ConfigError(f"models.{found.id}.{key} must be of kind {type(present).__name__}, not {value!r}.")


def _near(name: str, names: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(names), n=3, cutoff=0.5)
    return f"; near names: {', '.join(close)}" if close else ""


def _claude(model: str, *prices: float, cache_minimum: int = 512, **known: Any) -> ModelSpec:
    """A Claude with its prices: input, output, 5-minute write, 1-hour write, read."""
    fresh, out, write, write_1h, read = prices
    return ModelSpec(
        "anthropic", model, "anthropic",
        window=known.pop("window", 1_000_000),
        max_output=known.pop("max_output", 128_000),
        prices=replace(Prices(fresh, out, read, write, write_1h), **known.pop("over", {})),
        cache_minimum=cache_minimum,
        summary_model="anthropic/claude-haiku-5-5",
        **{"thinking": "adaptive", **known},
    )  # fmt: skip


def _gemini(model: str, *prices: float, **known: Any) -> ModelSpec:
    """A Gemini with its prices: input, output, cache read. Writing its implicit cache costs what fresh input costs."""
    fresh, out, read = prices
    return ModelSpec(
        "google", model, "google",
        window=1_048_576,
        max_output=65_536,
        prices=replace(Prices(fresh, out, read, fresh), **known.pop("over", {})),
        cache_minimum=known.pop("cache_minimum", 4096),
        cache_explicit=False,
        summary_model="google/gemini-3.5-flash-lite",
        **{"thinking": "level", **known},
    )  # fmt: skip


_HAIKU_OVER = {
    "over": 100_000,
    "over_input": 0.5,
    "over_output": 2.5,
    "over_cache_read": 0.05,
    "over_cache_write": 0.625,
}
_PRO_31_OVER = {
    "over": 200_000,
    "over_input": 4,
    "over_output": 18,
    "over_cache_read": 0.4,
    "over_cache_write": 4,
}
_PRO_25_OVER = {
    "over": 200_000,
    "over_input": 2.5,
    "over_output": 15,
    "over_cache_read": 0.25,
    "over_cache_write": 2.5,
}

# Prices in USD per million tokens and limits as the vendors' pages had them in November 2026. Where a page is silent (the cache reads of
# Gemini other than 3.8 Flash and 3.1 Pro, the outputs of the 4.5 Claudes and of Sonnet 4.6) the figure is the family's usual one.
_CLAUDE: tuple[ModelSpec, ...] = (
    _claude("claude-fable-5-1", 10, 50, 12.5, 20, 0.25, preserved_thinking=True, system_messages=True),
    _claude("claude-fable-5", 10, 50, 12.5, 20, 1.0, system_messages=True),
    _claude("claude-opus-5-5", 4, 20, 5, 8, 0.2, preserved_thinking=True, system_messages=True),
    _claude("claude-opus-5", 5, 25, 6.25, 10, 0.5, system_messages=True),
    _claude("claude-opus-4-8", 5, 25, 6.25, 10, 0.5, cache_minimum=1024, system_messages=True),
    _claude("claude-opus-4-7", 5, 25, 6.25, 10, 0.5, cache_minimum=2048),
    _claude("claude-opus-4-6", 5, 25, 6.25, 10, 0.5, cache_minimum=4096),
    _claude("claude-opus-4-5", 5, 25, 6.25, 10, 0.5, cache_minimum=4096, window=200_000, max_output=64_000, thinking="budget"),
    _claude("claude-sonnet-5-5", 2, 10, 2.5, 4, 0.1, preserved_thinking=True, system_messages=True),
    _claude("claude-sonnet-5", 2, 10, 2.5, 4, 0.2, cache_minimum=1024),
    _claude("claude-sonnet-4-6", 3, 15, 3.75, 6, 0.3, cache_minimum=1024, max_output=64_000),
    _claude("claude-sonnet-4-5", 3, 15, 3.75, 6, 0.3, cache_minimum=1024, window=200_000, max_output=64_000, thinking="budget"),
    _claude("claude-haiku-5-5", 0.1, 0.5, 0.125, 0.2, 0.01, over=_HAIKU_OVER, preserved_thinking=True),
    _claude("claude-haiku-4-5", 1, 5, 1.25, 2, 0.1, cache_minimum=4096, window=200_000, max_output=64_000, thinking="budget"),
)  # fmt: skip
_GEMINI: tuple[ModelSpec, ...] = (
    _gemini("gemini-4-argon", 2, 10, 0.2),  # 4 and 20 from 2026-12-01
    _gemini("gemini-3.8-flash", 0.75, 3.75, 0.075),  # 1.5 and 7.5 from 2027-01-01
    _gemini("gemini-3.7-flash", 0.75, 3.75, 0.075),
    _gemini("gemini-3.5-flash-lite", 0.3, 2.5, 0.03),
    _gemini("gemini-3.1-pro-preview", 2, 12, 0.2, over=_PRO_31_OVER),
    _gemini("gemini-2.5-pro", 1.25, 10, 0.125, cache_minimum=2048, thinking="budget", over=_PRO_25_OVER),
    _gemini("gemini-2.5-flash", 0.3, 2.5, 0.03, cache_minimum=2048, thinking="budget"),
)
_DEMO = ModelSpec(
    "demo", "demo", "demo", window=200_000, max_output=32_000, prices=Prices(), cache_minimum=512, thinking="adaptive"
)
_UNKNOWN: Mapping[str, ModelSpec] = MappingProxyType(
    {
        "anthropic": ModelSpec("", "", "anthropic", cache_minimum=4096, known=False),
        "google": ModelSpec(
            "", "", "google", window=1_048_576, max_output=65_536, cache_minimum=4096, cache_explicit=False, known=False
        ),
        "demo": replace(_DEMO, known=False),
    }
)
"""What is assumed of a model that is in no table: a window of 200,000 tokens on the Anthropic wire, 1,048,576 on Google's."""
