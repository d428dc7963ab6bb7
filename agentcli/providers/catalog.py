"""Catalogue of models: windows, output limits, prices, cache rules, and the names that a user may enter."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from datetime import date
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from agentcli.core.errors import ConfigError, InputError
from agentcli.core.model import ModelSpec, PriceChange, Prices
from agentcli.core.text.words import instead
from agentcli.providers.platforms import PLATFORMS, vendor_id
from agentcli.providers.provider import Provider
from agentcli.providers.registry import PROVIDERS
from agentcli.providers.settings import BUILT_IN, ProviderSettings, is_plan, is_vendor

ALIASES: Mapping[str, str] = MappingProxyType(
    {alias: name for provider in PROVIDERS.values() for alias, name in provider.aliases.items()}
)
"""Short names, each for the newest model of its line with known figures."""
PROVIDER_ALIASES: Mapping[str, str] = MappingProxyType(
    {name: kind for kind, provider in PROVIDERS.items() for name in provider.also}
)
"""Other names of the providers."""
CACHE_READ, CACHE_WRITE = 0.1, 1.25
"""Prices of reading and writing Anthropic's cache, as shares of the fresh input price (platform.claude.com, prompt
caching).
"""
_NOTHING: Mapping[str, Any] = MappingProxyType({})
_SCRIPT = "script:"
_NO_PROVIDERS: Mapping[str, ProviderSettings] = MappingProxyType({})


def spec(
    name: str,
    overrides: Mapping[str, Mapping[str, Any]] = _NOTHING,
    providers: Mapping[str, ProviderSettings] = _NO_PROVIDERS,
    today: str = "",
) -> ModelSpec:
    """Return the spec of a model: `provider/model`, a bare id, an alias, a `short_name`, or `script:<name-or-path>`.

    A dated id (`claude-sonnet-4-5-20250929`) has the figures of the id without the date. `overrides` maps an id or
    `provider/id` to fields of ModelSpec. Its `prices` is a nested table, or several, each valid from the day `since`.
    `providers` contains the configured providers by name.

    Prices are those of `today`, an ISO date, by default the current day. An unknown model gets documented defaults,
    with `known` false.

    Raises InputError for an unknown provider or name, ConfigError for an override of an unknown field.
    """
    known = {**BUILT_IN, **providers}
    found = _find(name, known)
    if not is_vendor(known[found.provider]):
        # Other platforms may lack them; an override may set them.
        found = replace(found, context_editing=False, compacts_from=0, search_price=None)
    if is_plan(known[found.provider]):
        found = replace(found, prices=Prices())  # a subscription pays for it
    if known[found.provider].wire == "chat":
        found = replace(found, compacts_from=0, search_price=None)
    dateless = undated(found.id)
    for key in dict.fromkeys((dateless, f"{found.provider}/{dateless}", found.id, found.name)):
        if key in overrides:
            found = _overridden(found, overrides[key])
    settings = known.get(found.provider)
    if settings and settings.thinking:
        found = replace(found, thinking=settings.thinking)
    if settings and not settings.caching:
        found = replace(found, cache_explicit=False)
    return found.on(today or date.today().isoformat())


def full_name(name: str) -> str:
    """Resolve an alias; return any other name unchanged."""
    return ALIASES.get(name, name)


def meaning(name: str, own: Mapping[str, str]) -> str:
    """Resolve a user's alias, also through other aliases; return any other name unchanged.

    Raises InputError for a circular alias.
    """
    steps = [name]
    while (target := own.get(steps[-1])) is not None:
        steps.append(target)
        if target in steps[:-1]:
            raise InputError(
                f"The alias {name!r} names no model: {' → '.join(steps)}. Change [models.aliases] in config.toml."
            )
    return steps[-1]


@lru_cache(maxsize=64)
def short_name(name: str) -> str:
    """Return the display name of `provider/id`: the shortest that `spec` accepts; for a script, its file's name."""
    provider, _, model = name.partition("/")
    vendor = PROVIDERS.get(provider)
    if vendor is not None and not vendor.takes_key:
        return model.rpartition("/")[2]
    for short in (model.removeprefix(vendor.unsaid if vendor else ""), model):
        try:
            if _find(short, BUILT_IN).name == name:
                return short
        except InputError:
            continue
    return name


def undated(model: str) -> str:
    """Return a model's id without the date of its snapshot."""
    return re.sub(r"[-@]20\d\d-?[01]\d-?[0-3]\d$", "", model)


def models() -> Sequence[ModelSpec]:
    """Return every model in the table, by vendor, strongest first."""
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
            f"Unknown provider {provider!r}.{instead(provider, providers, '`agentcli models` lists the models.')}"
        )
    for kind, vendor in PROVIDERS.items():
        if (listed := _listed(vendor, full)) is not None:
            return replace(listed, provider=kind)
    for kind, vendor in PROVIDERS.items():
        if vendor.owns(full):
            return _unknown(BUILT_IN[kind], full)
    names = [*ALIASES, *(model.id for model in models())]
    raise InputError(
        f"Unknown model {name!r}.{instead(name, names, 'Write provider/model, or see `agentcli models`.')}"
    )


def _of_provider(settings: ProviderSettings, model: str) -> ModelSpec:
    listed = model
    if settings.platform:
        own = PROVIDERS[settings.kind].aliases.get(model, "").partition("/")[2] or model
        model = PLATFORMS[settings.platform].listed(own)
        listed = vendor_id(model)
    # A foreign server gets exactly the requested name.
    found = _listed(PROVIDERS[settings.kind], listed, whole=not is_vendor(settings))
    if found is None:
        return _unknown(settings, model)
    return _renamed(replace(found, id=model) if settings.platform else found, settings.name)


def _listed(vendor: Provider, model: str, *, whole: bool = False) -> ModelSpec | None:
    """Return the vendor's model with this id; None if it is in no table.

    The id may have a date and, unless `whole`, lack the prefix that people omit.
    """
    for name in (model,) if whole else (model, f"{vendor.unsaid}{model}"):
        ids = (name, undated(name))
        for candidate in vendor.models:
            if candidate.id in ids:
                return replace(candidate, id=name)
    return None


def _renamed(candidate: ModelSpec, provider: str) -> ModelSpec:
    """Return the same model from another provider, whose prices may differ."""
    if provider == candidate.provider:
        return candidate
    return replace(
        candidate,
        provider=provider,
        prices=None,
        price_changes=(),
        tiers={},
        retires="",
        successor="",
        summary_model="",
    )


def _unknown(settings: ProviderSettings, model: str) -> ModelSpec:
    provider = PROVIDERS[settings.kind]
    own = provider.owns(model) and settings.name == settings.kind
    summary_model = provider.summary_model if own else ""
    assumed = (_relative(provider, model) if own else None) or provider.assumed(model)
    if not assumed.cache_explicit and not own and (claude := _claude_of(model)) is not None:
        assumed = replace(assumed, cache_explicit=True, cache_minimum=claude.cache_minimum)
    return replace(assumed, provider=settings.name, id=model, summary_model=summary_model)


_STAGES = ("preview", "latest", "exp")
"""Words in a model's id that are not part of its family."""


def _relative(vendor: Provider, model: str) -> ModelSpec | None:
    """Return the assumed spec of a new model of a known line; None for a model of another generation.

    A newer minor version has the figures of the previous one. A new line has the smallest sizes of its generation and
    no prices. It has the generation's thinking style if all its models share one.
    """
    family, version = _lineage(model)
    same = [each for each in vendor.models if version and _lineage(each.id)[1][:1] == version[:1]]
    before = [each for each in same if _lineage(each.id)[0] == family and _lineage(each.id)[1] < version]
    if before:
        newest = max(before, key=lambda each: _lineage(each.id)[1])
        return replace(newest, known=False, assumed=newest.id, retires="", successor="")
    if not same or any(_lineage(each.id)[0] == family for each in same):
        return None
    closest = max(same, key=lambda each: _lineage(each.id)[1])
    usual, styles = vendor.assumed(model), {each.thinking for each in same}
    return replace(
        usual,
        window=min(each.window for each in same),
        max_output=min(each.max_output for each in same),
        cache_minimum=max(each.cache_minimum for each in same),
        thinking=closest.thinking if len(styles) == 1 else usual.thinking,
        assumed=closest.id,
    )


def _lineage(model: str) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Return the family of an id, and its version: `claude-fable-5-1` is (`claude`, `fable`), (5, 1)."""
    words = [word for word in undated(model).split("-") if word not in _STAGES]
    numbers = [word for word in words if re.fullmatch(r"\d+(\.\d+)?", word)]
    version = tuple(int(part) for word in numbers for part in word.split("."))
    return tuple(word for word in words if word not in numbers), version


def _claude_of(model: str) -> ModelSpec | None:
    """Return the Claude with this id at a gateway, such as `anthropic/claude-sonnet-4.5`; None for others.

    Claude caches only on request.
    """
    vendor = PROVIDERS["anthropic"]
    named = next(
        (f"{prefix}{rest}" for prefix in vendor.prefixes for _, found, rest in [model.rpartition(prefix)] if found), ""
    )
    if not named and not model.startswith("anthropic/"):
        return None
    return _listed(vendor, vendor_id(named).replace(".", "-")) or vendor.unknown


def _overridden(found: ModelSpec, changes: Mapping[str, Any]) -> ModelSpec:
    names = {field.name for field in fields(ModelSpec)} - {
        "provider",
        "id",
        "kind",
        "known",
        "summary_prices",
        "window_stated",
        "assumed",
        "price_changes",
        "search_price",
    }
    unknown = sorted(set(changes) - names)
    if unknown:
        raise ConfigError(f"models.{found.id} has no setting {unknown[0]!r}.{instead(unknown[0], names)}")
    values = dict(changes)
    if (given := values.get("prices")) is not None:
        dated = [given] if isinstance(given, Mapping) else given
        values["prices"], later = _prices_overridden(found, dated)
        found = replace(found, price_changes=later)
    for key, value in values.items():
        _check_kind(found, key, value)
    if "tiers" in values:
        values["tiers"] = {**found.tiers, **values["tiers"]}
    return replace(found, **values, known=True)


def _prices_overridden(
    found: ModelSpec, tables: Iterable[Mapping[str, Any]]
) -> tuple[Prices | None, tuple[PriceChange, ...]]:
    """Return the prices in a table without a date, and the changes in dated ones.

    Missing fields keep their values.
    """
    prices = found.prices
    changes: list[PriceChange] = []
    for table in sorted(tables, key=lambda table: str(table.get("since", ""))):
        since, values = str(table.get("since", "")), {key: value for key, value in table.items() if key != "since"}
        names = {field.name for field in fields(Prices)}
        unknown = sorted(set(values) - names)
        if unknown:
            raise ConfigError(f"models.{found.id}.prices has no setting {unknown[0]!r}.{instead(unknown[0], names)}")
        before = (changes[-1].prices if changes else prices) or _cache_prices(found, values)
        if since:
            changes.append(PriceChange(since, replace(before, **values)))
        else:
            prices = replace(before, **values)
    return prices, tuple(changes)


def _cache_prices(found: ModelSpec, values: Mapping[str, Any]) -> Prices:
    """Return the cache's prices if a table has only the price of fresh input.

    Explicit caching has Anthropic's shares of that price. Otherwise, the price is the same.
    """
    fresh = values.get("input", 0.0)
    if not isinstance(fresh, int | float):
        return Prices()  # refused later
    read, write = (CACHE_READ, CACHE_WRITE) if found.cache_explicit else (1.0, 1.0)
    return Prices(cache_read=fresh * read, cache_write=fresh * write)


def _check_kind(found: ModelSpec, key: str, value: Any) -> None:
    present = getattr(found, key)
    whole = isinstance(present, int) and not isinstance(present, bool)
    right = isinstance(value, int | float) if isinstance(present, float) else isinstance(value, type(present))
    if present is not None and (not right or (whole and value < 0)):
        raise ConfigError(f"models.{found.id}.{key} must be a {type(present).__name__}, not {value!r}.")
