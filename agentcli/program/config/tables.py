"""Tables with free names: `[providers.<name>]`, `[models.<id>]`, `[models.aliases]` and `[extensions.<name>]`.

They are checked like all other settings; an extension checks its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import date
from functools import cache
from typing import Any

from agentcli.core.annotation import Choice, Kind, Scalar, Table, fields_of
from agentcli.core.errors import ConfigError
from agentcli.core.model import ModelSpec, Prices
from agentcli.program.config.coerce import Layer, coerce, near, parse_value
from agentcli.providers.registry import SERVERS
from agentcli.providers.settings import ProviderSettings

EXTENSIONS = "extensions"
TABLES = ("providers", "models", EXTENSIONS)
ALIASES = "aliases"
"""The table below `models` with the user's own names of models, not a model."""
Tables = dict[str, dict[str, dict[str, Any]]]
"""Table, name in it, setting: value."""


def split(table: str, rest: str) -> tuple[str, ...]:
    """Split a key below a table into name and setting: `x.model` is `("x", "model")`.

    In a table setting the setting's key follows: `x.headers.a` is `("x", "headers", "a")`. A name may contain dots, and
    quotes as in TOML.
    """
    if table == "models" and rest.startswith(f"{ALIASES}."):
        return (ALIASES, rest.removeprefix(f"{ALIASES}.").strip("\"'"))
    if table == EXTENSIONS:
        return (*rest.split(".", 1), "")[:2]
    owner, _, last = rest.rpartition(".")
    above, _, field = owner.rpartition(".")
    path = (above, field, last) if above and field in _INNER else (owner, last)
    return (path[0].strip("\"'"), *path[1:])


def put(tables: Tables, key: str, raw: Any, layer: Layer) -> str:
    """Set one of these settings, and return a warning if it is unknown. Raise ConfigError for a value of the wrong type."""
    table, _, rest = key.partition(".")
    owner, field, *inner = split(table, rest)
    if not owner:
        raise ConfigError(f"{key}{layer.place(key)} must be a table.")
    if (table, owner) == ("models", ALIASES):
        tables[table].setdefault(owner, {})[field] = _alias(key, field, raw, layer)
        return ""
    if table == EXTENSIONS:
        tables[table].setdefault(owner, {})[field] = _value(raw, layer)
        return ""
    known = _settings(table)
    if field not in known or (field == "prices" and inner and inner[0] not in _PRICES):
        names = [f"{table}.{owner}.{name}" for name in known]
        if field in _OTHERWISE and _OTHERWISE[field] in known:
            names = [f"{table}.{owner}.{_OTHERWISE[field]}"]
        return f"Unknown setting {key!r} in {layer.origin} is ignored.{near(key, names)}"
    there = tables[table].setdefault(owner, {})
    if field == "prices" and isinstance(dated := _value(raw, layer), list):
        there[field] = tuple(_dated_prices(key, each, layer) for each in dated)
        return ""
    if inner:
        raw, layer = (
            {**there.get(field, {}), inner[0]: _value(raw, layer)},
            Layer(layer.origin, {}, places=layer.places),
        )
    there[field] = coerce(key, known[field], raw, layer)
    return ""


def _alias(key: str, name: str, raw: Any, layer: Layer) -> str:
    """Check an alias and return its model. Raise ConfigError if the alias could be the full name of a model."""
    if not name or any(mark in "/:" or mark.isspace() for mark in name):
        raise ConfigError(
            f"{key}{layer.place(key)}: an alias is one word without / and :, such as models.{ALIASES}.fast."
        )
    if not (model := str(coerce(key, Scalar.TEXT, raw, layer)).strip()):
        raise ConfigError(f"{key}{layer.place(key)} must be the name of a model.")
    return model


def _dated_prices(key: str, table: Any, layer: Layer) -> Mapping[str, Any]:
    """Check and return one of several price tables: valid from the day `since`, or now if it has no day."""
    if not isinstance(table, Mapping):
        raise ConfigError(f"{key}{layer.place(key)} must be a table, or a list of tables with `since`, not {table!r}.")
    values = {name: value for name, value in table.items() if name != "since"}
    prices = coerce(key, Table(Scalar.NUMBER), values, Layer(layer.origin, {}, places=layer.places))
    if "since" not in table:
        return dict(prices)
    try:
        since = date.fromisoformat(str(table["since"]))
    except ValueError:
        raise ConfigError(
            f"{key}.since{layer.place(key)} must be a date such as 2026-12-01, not {table['since']!r}."
        ) from None
    return {**prices, "since": since.isoformat()}


def _value(raw: Any, layer: Layer) -> Any:
    return raw if layer.typed else parse_value(raw)


@cache
def _settings(table: str) -> Mapping[str, Kind]:
    """Return the settings that a table may have, with their kinds."""
    owner, own, fixed = _OWNERS[table]
    kinds = {**{slot.name: slot.kind for slot in fields_of(owner)}, **own}
    return {name: kind for name, kind in kinds.items() if name not in fixed}


_OWNERS: Mapping[str, tuple[type, Mapping[str, Kind], Sequence[str]]] = {
    "providers": (ProviderSettings, {"kind": Choice(SERVERS)}, ("name",)),
    "models": (
        ModelSpec,
        {"prices": Table(Scalar.NUMBER)},
        ("provider", "id", "kind", "known", "price_changes", "window_stated"),
    ),
}
"""Class of a table's settings, kinds that differ from its fields' kinds, and fields that are not settings."""
_INNER = ("headers", "extra_body", "prices", "tiers")
_OTHERWISE = {"api_version": "version", "api_base": "base_url", "endpoint": "base_url", "max_tokens": "max_output"}
"""Other programs' names for a setting, too different from ours to be suggested by spelling."""
_PRICES = {field.name for field in fields(Prices)}
