"""Coerce values to the kinds of settings, and describe those kinds."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from agentcli.core.annotation import Choice, Fields, Items, Kind, Maybe, Noted, OneOf, Scalar, Table, Unread, bare
from agentcli.core.dataclass import dataclass
from agentcli.core.errors import ConfigError
from agentcli.core.setting import NOT_NEGATIVE, Range
from agentcli.core.text.words import instead


@dataclass(frozen=True, slots=True)
class Layer:
    """Settings from one place: dotted keys with raw values."""

    origin: str
    values: Mapping[str, Any]
    typed: bool = True
    """False if values are text to be parsed."""
    places: Mapping[str, str] = field(default_factory=dict)
    """For a full key, the exact place that sets it, if that is more precise than the origin."""
    origins: Mapping[str, str] = field(default_factory=dict)
    """For a full key, its origins, if there are several."""

    def place(self, key: str) -> str:
        """Return the place that sets a key, as in ` in config.toml`; empty if there is nothing to report."""
        where = self.places.get(key, self.origin)
        return f" in {where}" if where else ""


def parse_value(text: str) -> Any:
    """Return the value of `key=value`: parsed as TOML if it is TOML, else the text itself."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


_BOOLEANS = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
"""Spellings of true and false in layers of text."""


def coerce(key: str, declared: Kind, raw: Any, layer: Layer) -> Any:
    """Return the value in the type of a setting of this kind.

    Raise ConfigError, with its place, for another type or a value out of range.
    """
    kind, allowed = bare(declared), _range(declared)
    value = raw if layer.typed or (kind is Scalar.TEXT and isinstance(raw, str)) else parse_value(raw)
    if not layer.typed and kind is Scalar.FLAG and isinstance(raw, str):
        value = _BOOLEANS.get(raw.strip().lower(), value)
    if not layer.typed and isinstance(kind, Items) and isinstance(value, str):
        value = [part.strip() for part in value.split(",") if part.strip()]
    if not _accepts(kind, value):
        near = instead(str(value), filter(None, map(str, kind.values))) if isinstance(kind, Choice) else ""
        raise ConfigError(f"{key}{layer.place(key)} must be {_describe(kind)}, not {value!r}.{near}")
    if wrong := [number for number in _numbers(kind, value) if number not in allowed]:
        expected = "numbers" if isinstance(kind, Items) or isinstance(value, Mapping) else _describe(kind)
        raise ConfigError(f"{key}{layer.place(key)} must be {expected} {allowed}, not {wrong[0]!r}.")
    if isinstance(kind, Items):
        return tuple(value)
    return float(value) if kind is Scalar.NUMBER else value


def _range(kind: Kind) -> Range:
    """Return the range stated for a kind, or for the kind of its items."""
    match kind:
        case Noted(_, notes):
            return next((each for each in notes if isinstance(each, Range)), NOT_NEGATIVE)
        case Items(of) if of is not None:
            return _range(of)
        case _:
            return NOT_NEGATIVE


def _numbers(kind: Kind, value: Any) -> list[float]:
    """Return the numbers in a number, or in a list or table of numbers.

    A table of anything is not checked.
    """
    if kind == Table(Scalar.ANYTHING):
        return []
    values = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else [value]
    return [each for each in values if isinstance(each, int | float) and not isinstance(each, bool)]


def _accepts(kind: Kind, value: Any) -> bool:
    match kind:
        case Scalar.TEXT:
            return isinstance(value, str)
        case Scalar.FLAG:
            return isinstance(value, bool)
        case Scalar.WHOLE:
            return isinstance(value, int) and not isinstance(value, bool)
        case Scalar.NUMBER:
            return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        case Scalar.ANYTHING:
            return True
        case Choice(values):
            return value in values
        case Noted(of) | Maybe(of):
            return _accepts(of, value)
        case OneOf(kinds):
            return any(_accepts(each, value) for each in kinds)
        case Items(of):
            return isinstance(value, list | tuple) and all(of is None or _accepts(of, item) for item in value)
        case Table(of):
            return isinstance(value, Mapping) and all(_accepts(of, item) for item in value.values())
        case Fields() | Unread():
            return isinstance(value, Mapping)


_NAMES = {
    Scalar.TEXT: "text",
    Scalar.FLAG: "true or false",
    Scalar.WHOLE: "a whole number",
    Scalar.NUMBER: "a number",
}


def _describe(kind: Kind) -> str:
    match kind:
        case Scalar() if kind in _NAMES:
            return _NAMES[kind]
        case Choice(values):
            return "one of " + ", ".join(map(repr, filter(None, values)))
        case Items():
            return "a list"
        case Table(Scalar() as of) if of in _NAMES:
            return f"a table in which each value is {_NAMES[of]}"
        case _:
            return "a table"
