"""The tables whose names are free, `[providers.<name>]` and `[models.<id>]`: their settings are checked like all others."""

from __future__ import annotations

import typing
from collections.abc import Mapping
from dataclasses import fields
from datetime import date
from functools import cache
from typing import Any, Literal

from agentcli.config.coerce import Layer, coerce, near, parse_value
from agentcli.core.errors import ConfigError
from agentcli.core.model import ModelSpec, Prices
from agentcli.providers.registry import SERVERS
from agentcli.providers.settings import ProviderSettings

_one_of: Any = Literal
TABLES = ("providers", "models")
Tables = dict[str, dict[str, dict[str, Any]]]
"""Table, name in it, setting: value."""


def split(rest: str) -> tuple[str, ...]:
    """Name, setting and, inside a setting that is a table itself, its key: `x.headers.a` is `("x", "headers", "a")`.

    A name may hold dots, and quotes as TOML wants them there.
    """
    owner, _, last = rest.rpartition(".")
    above, _, field = owner.rpartition(".")
    path = (above, field, last) if above and field in _INNER else (owner, last)
    return (path[0].strip("\"'"), *path[1:])


def put(tables: Tables, key: str, raw: Any, layer: Layer) -> str:
    """Set one of these settings; returns a warning where it is unknown. Raises ConfigError for a value of the wrong type."""
    table, _, rest = key.partition(".")
    owner, field, *inner = split(rest)
    if not owner:
        raise ConfigError(f"{key}{layer.place(key)} must be a table.")
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


def _dated_prices(key: str, table: Any, layer: Layer) -> Mapping[str, Any]:
    """One of several tables of prices: those of a day, `since`, on, or without it the present ones."""
    if not isinstance(table, Mapping):
        raise ConfigError(f"{key}{layer.place(key)} must be a table, or a list of tables with `since`, not {table!r}.")
    values = {name: value for name, value in table.items() if name != "since"}
    prices = coerce(key, Mapping[str, float], values, Layer(layer.origin, {}, places=layer.places))
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
def _settings(table: str) -> Mapping[str, Any]:
    """The settings that a table may hold, with their types."""
    if table == "providers":
        hints = typing.get_type_hints(ProviderSettings) | {"kind": _one_of[SERVERS]}
    else:
        hints = typing.get_type_hints(ModelSpec) | {"prices": Mapping[str, float]}
    fixed = ("name",) if table == "providers" else ("provider", "id", "kind", "known", "price_changes", "window_stated")
    return {name: hint for name, hint in hints.items() if name not in fixed}


_INNER = ("headers", "extra_body", "prices")
_OTHERWISE = {"api_version": "version", "api_base": "base_url", "endpoint": "base_url", "max_tokens": "max_output"}
"""Names that other programs have for a setting, where spelling alone would not lead to ours."""
_PRICES = {field.name for field in fields(Prices)}
