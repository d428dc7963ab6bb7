"""All settings: the sections with the class of each, and the tables with free names.

Those are `[providers.<name>]`, `[models.<id>]`, `[models.aliases]` and `[extensions.<name>]`. They are checked like all
other settings; an extension checks its own.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from functools import cache, cached_property
from typing import Any

from agentcli.core.annotation import Choice, Kind, Scalar, Slot, Table, fields_of
from agentcli.core.errors import ConfigError
from agentcli.core.model import ModelSpec, Prices
from agentcli.core.setting import NEVER, Access, access
from agentcli.core.text.words import instead
from agentcli.program.config.coerce import Layer, coerce, parse_value
from agentcli.program.config.general import General
from agentcli.providers.registry import SERVERS
from agentcli.providers.settings import ProviderSettings

GENERAL = "general"
"""Name of the section whose settings are at the top level."""
SHORT = {"prune": "context.prune"}
"""Tables that may be written without their section's name."""

_Place = tuple[type, str]
"""Class and field of a setting."""


class Schema:
    """Sections of a configuration by name, in the order of listings, in addition to the free tables."""

    def __init__(self, sections: Mapping[str, type]) -> None:
        self.sections: Mapping[str, type[Any]] = {GENERAL: General, **sections}

    @cached_property
    def places(self) -> Mapping[str, _Place]:
        """The class and the field of each setting."""
        return {
            ".".join(path[1:] if path[0] == GENERAL else path): place
            for name, section in self.sections.items()
            for path, place in _fields((name,), section())
        }

    def kind(self, key: str) -> Kind:
        """Return the kind of a setting's value. A run sets few, so the annotations of all are not read."""
        owner, name = self.places[key]
        return _slots(owner)[name].kind

    def choices(self, toggles: Sequence[str]) -> dict[str, Sequence[str]]:
        """Return every setting with its possible values, if they are few; `toggles` are the values of a switch."""
        return {key: _few(self.kind(key), toggles) for key in self.places}

    def entry(self, key: str) -> tuple[str, str]:
        """Split a key such as `context.compression_model.default` into the table setting and the name in it.

        Return two empty texts for other keys.
        """
        full = self.full(key)
        for table in self.places:
            if full.startswith(f"{table}.") and isinstance(self.kind(table), Table):
                return table, full.removeprefix(f"{table}.").strip("\"'")
        return "", ""

    def steps(self, key: str) -> tuple[str, ...]:
        """Return the tables, outermost first, and the name of a setting in a file."""
        table, name = self.entry(key)
        if table:
            return (*table.split("."), name)
        first, _, rest = self.full(key).partition(".")
        return (first, *split(first, rest)) if first in TABLES else tuple(self.full(key).split("."))

    def full(self, key: str) -> str:
        """Return the full key, without quotes: a short prefix such as `prune.` becomes `context.prune.`."""
        key = key.removeprefix(f"{GENERAL}.")
        table, _, rest = key.partition(".")
        if table in TABLES and split(table, rest)[0]:
            return ".".join((table, *split(table, rest)))
        short = next((short for short in SHORT if key.startswith(short + ".")), "")
        return SHORT[short] + key.removeprefix(short) if short else key

    def path(self, key: str) -> tuple[type, Sequence[str]]:
        """Return the class of a setting's section, and the fields that lead to the setting from there."""
        first, _, rest = key.partition(".")
        return (self.sections[first], rest.split(".")) if first in self.sections else (General, key.split("."))

    def is_section(self, key: str) -> bool:
        """Return True for a name that must be a table in a file."""
        return key in TABLES or any(name.startswith(f"{key}.") for name in self.places)

    def access(self, key: str) -> Access:
        """Return the changes that a project may make to a setting: none to a provider or a model.

        Unknown keys are reported elsewhere.
        """
        if key.partition(".")[0] in TABLES:
            return NEVER
        place = self.places.get(key) or self.places.get(self.entry(key)[0])
        if not place:
            return Access("free")
        declared = next(each for each in dataclasses.fields(place[0]) if each.name == place[1])
        return access(declared) or NEVER


def _fields(path: tuple[str, ...], value: Any) -> Iterator[tuple[tuple[str, ...], _Place]]:
    for item in dataclasses.fields(value):
        inner = getattr(value, item.name)
        if dataclasses.is_dataclass(inner):
            yield from _fields((*path, item.name), inner)
        elif access(item):
            yield (*path, item.name), (type(value), item.name)


@cache
def _slots(owner: type) -> Mapping[str, Slot]:
    return {slot.name: slot for slot in fields_of(owner)}


def _few(kind: Kind, toggles: Sequence[str]) -> Sequence[str]:
    match kind:
        case Choice(values):
            return [each for each in values if isinstance(each, str) and each]
        case Scalar.FLAG:
            return toggles
        case _:
            return ()


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
        return f"Unknown setting {key!r} in {layer.origin} is ignored.{instead(key, names)}"
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
    kinds = {**{name: slot.kind for name, slot in _slots(owner).items()}, **own}
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
_PRICES = {field.name for field in dataclasses.fields(Prices)}
