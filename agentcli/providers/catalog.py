"""The catalogue of models: windows, output limits, prices, cache rules, and the names a user may give."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from datetime import date
from types import MappingProxyType
from typing import Any

from agentcli.core.errors import ConfigError, InputError
from agentcli.core.model import ModelSpec, PriceChange, Prices
from agentcli.core.text.near import near_names
from agentcli.providers.platforms import PLATFORMS, vendor_id
from agentcli.providers.registry import PROVIDERS
from agentcli.providers.settings import BUILT_IN, ProviderSettings, is_vendor

ALIASES: Mapping[str, str] = MappingProxyType(
    {alias: name for provider in PROVIDERS.values() for alias, name in provider.aliases.items()}
)
"""Short names, each for the newest model of its line that we have figures for."""
PROVIDER_ALIASES: Mapping[str, str] = MappingProxyType(
    {name: kind for kind, provider in PROVIDERS.items() for name in provider.also}
)
"""Other names of the providers."""
_NOTHING: Mapping[str, Any] = MappingProxyType({})
_SCRIPT = "script:"
_NO_PROVIDERS: Mapping[str, ProviderSettings] = MappingProxyType({})


def spec(
    name: str,
    overrides: Mapping[str, Mapping[str, Any]] = _NOTHING,
    providers: Mapping[str, ProviderSettings] = _NO_PROVIDERS,
    today: str = "",
) -> ModelSpec:
    """The spec of the model called `provider/model`, a bare id, an alias, or `script:<name-or-path>`.

    `overrides` maps an id or `provider/id` to fields of ModelSpec (`prices` is a table of its own, or several that begin on the day
    `since`); `providers` holds the configured providers by name. Prices are those of `today`, an ISO date, by default the present day. A model that is in no table gets the stated defaults with `known` false. Raises
    InputError for a provider or name that nothing is known about, ConfigError for an override of a field that does not
    exist.
    """
    known = {**BUILT_IN, **providers}
    found = _find(name, known)
    if found.context_editing and not is_vendor(known[found.provider]):
        found = replace(found, context_editing=False)  # other platforms offer it or not; an override may say so
    for key in (found.id, found.name):
        if key in overrides:
            found = _overridden(found, overrides[key])
    settings = known.get(found.provider)
    if settings and settings.thinking:
        found = replace(found, thinking=settings.thinking)
    if settings and not settings.caching:
        found = replace(found, cache_explicit=False)
    return found.on(today or date.today().isoformat())


def full_name(name: str) -> str:
    """The name that an alias stands for; any other as it is."""
    return ALIASES.get(name, name)


def models() -> Sequence[ModelSpec]:
    """Every model in the table, by vendor, strongest first."""
    return [model for provider in PROVIDERS.values() for model in provider.models]


def _find(name: str, providers: Mapping[str, ProviderSettings]) -> ModelSpec:
    if name.startswith(_SCRIPT) and name != _SCRIPT:
        return _unknown(BUILT_IN["script"], name.removeprefix(_SCRIPT))
    full = full_name(name)
    provider, slash, model = full.partition("/")
    if provider not in providers:
        provider = PROVIDER_ALIASES.get(provider, provider)
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
    for kind, vendor in PROVIDERS.items():
        if vendor.owns(full):
            return _unknown(BUILT_IN[kind], full)
    names = [*ALIASES, *(model.id for model in models())]
    raise InputError(f"There is no model {name!r}{_near(name, names)}. Write provider/model, or see `agentcli models`.")


def _of_provider(settings: ProviderSettings, model: str) -> ModelSpec:
    listed = model
    if settings.platform:
        own = PROVIDERS[settings.kind].aliases.get(model, "").partition("/")[2] or model
        model = PLATFORMS[settings.platform].listed(own)
        listed = vendor_id(model)
    for candidate in models():
        if candidate.id == listed and candidate.kind == settings.kind:
            return _renamed(replace(candidate, id=model), settings.name)
    return _unknown(settings, model)


def _renamed(candidate: ModelSpec, provider: str) -> ModelSpec:
    """The same model from another provider, whose prices may differ."""
    if provider == candidate.provider:
        return candidate
    return replace(
        candidate, provider=provider, prices=None, price_changes=(), retires="", successor="", summary_model=""
    )


def _unknown(settings: ProviderSettings, model: str) -> ModelSpec:
    provider = PROVIDERS[settings.kind]
    own = provider.owns(model) and settings.name == settings.kind
    summary_model = provider.summary_model if own else ""
    return replace(provider.assumed(model), provider=settings.name, id=model, summary_model=summary_model)


def _overridden(found: ModelSpec, changes: Mapping[str, Any]) -> ModelSpec:
    names = {field.name for field in fields(ModelSpec)} - {
        "provider",
        "id",
        "kind",
        "known",
        "summary_prices",
        "window_stated",
        "price_changes",
    }
    unknown = sorted(set(changes) - names)
    if unknown:
        raise ConfigError(f"models.{found.id} has no setting {unknown[0]!r}{_near(unknown[0], names)}.")
    values = dict(changes)
    if (given := values.get("prices")) is not None:
        dated = [given] if isinstance(given, Mapping) else given
        values["prices"], later = _prices_overridden(found, dated)
        found = replace(found, price_changes=later)
    for key, value in values.items():
        _check_kind(found, key, value)
    return replace(found, **values, known=True)


def _prices_overridden(
    found: ModelSpec, tables: Iterable[Mapping[str, Any]]
) -> tuple[Prices | None, tuple[PriceChange, ...]]:
    """The prices of the table without a date, and the changes by those that have one. Each keeps what it does not name."""
    prices = found.prices
    changes: list[PriceChange] = []
    for table in sorted(tables, key=lambda table: str(table.get("since", ""))):
        since, values = str(table.get("since", "")), {key: value for key, value in table.items() if key != "since"}
        names = {field.name for field in fields(Prices)}
        unknown = sorted(set(values) - names)
        if unknown:
            raise ConfigError(f"models.{found.id}.prices has no setting {unknown[0]!r}{_near(unknown[0], names)}.")
        before = changes[-1].prices if changes else prices
        if since:
            changes.append(PriceChange(since, replace(before or Prices(), **values)))
        else:
            prices = replace(before or Prices(), **values)
    return prices, tuple(changes)


def _check_kind(found: ModelSpec, key: str, value: Any) -> None:
    present = getattr(found, key)
    whole = isinstance(present, int) and not isinstance(present, bool)
    right = isinstance(value, int | float) if isinstance(present, float) else isinstance(value, type(present))
    if present is not None and (not right or (whole and value < 0)):
        raise ConfigError(f"models.{found.id}.{key} must be a {type(present).__name__}, not {value!r}.")


def _near(name: str, names: Iterable[str]) -> str:
    close = near_names(name, names)
    return f"; near names: {', '.join(close)}" if close else ""
