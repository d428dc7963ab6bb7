"""Coercion of values to the types of settings, and descriptions of those types."""

from __future__ import annotations

import math
import tomllib
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import ConfigError
from agentcli.core.text.near import did_you_mean, near_names
from agentcli.core.text.ranges import NOT_NEGATIVE, Range


@dataclass(frozen=True, slots=True)
class Layer:
    """Settings from one place: dotted keys with raw values. `typed` is false where values are text to be parsed.

    `places` says of a full key where exactly it is set, where that is more than the origin.
    """

    origin: str
    values: Mapping[str, Any]
    typed: bool = True
    places: Mapping[str, str] = field(default_factory=dict)

    def place(self, key: str) -> str:
        """` in config.toml`, or whatever tells where a key was set; empty where nothing needs to be told."""
        where = self.places.get(key, self.origin)
        return f" in {where}" if where else ""


def parse_value(text: str) -> Any:
    """The value of `key=value`: TOML if it is TOML, else the text itself."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


_BOOLEANS = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
"""Spellings of true and false where all is text."""


def coerce(key: str, hint: Any, raw: Any, layer: Layer) -> Any:
    """The value as a setting of this type holds it. Raises ConfigError, naming its place, for another type or out of range."""
    hint, allowed = _bare(hint)
    value = raw if layer.typed else (raw if _accepts(hint, raw) and hint is str else parse_value(raw))
    if not layer.typed and hint is bool and isinstance(raw, str):
        value = _BOOLEANS.get(raw.strip().lower(), value)
    if not layer.typed and _is_list(hint) and isinstance(value, str):
        value = [part.strip() for part in value.split(",") if part.strip()]
    if not _accepts(hint, value):
        raise ConfigError(f"{key}{layer.place(key)} must be {_describe(hint)}, not {value!r}.")
    if wrong := [number for number in _numbers(hint, value) if number not in allowed]:
        expected = "numbers" if _is_list(hint) or isinstance(value, Mapping) else _describe(hint)
        raise ConfigError(f"{key}{layer.place(key)} must be {expected} {allowed}, not {wrong[0]!r}.")
    if _is_list(hint):
        return tuple(value)
    return float(value) if hint is float else value


def _bare(hint: Any) -> tuple[Any, Range]:
    """A type without the range that is stated with it, and that range."""
    if get_origin(hint) is Annotated:
        return get_args(hint)[0], next(each for each in get_args(hint)[1:] if isinstance(each, Range))
    if _is_list(hint):
        inner, allowed = _bare(get_args(hint)[0])
        return get_origin(hint)[(inner, *get_args(hint)[1:])], allowed
    return hint, NOT_NEGATIVE


def _numbers(hint: Any, value: Any) -> list[float]:
    """The numbers in a value that is one, or a list or table of them; what a table of anything holds is not ours to judge."""
    if get_args(hint)[1:] == (Any,):
        return []
    values = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else [value]
    return [each for each in values if isinstance(each, int | float) and not isinstance(each, bool)]


def _is_list(hint: Any) -> bool:
    return get_origin(hint) in (tuple, list, frozenset)


_CHECKS: dict[Any, Callable[[Any], bool]] = {
    str: lambda value: isinstance(value, str),
    bool: lambda value: isinstance(value, bool),
    int: lambda value: isinstance(value, int) and not isinstance(value, bool),
    float: lambda value: isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value),
    Any: lambda _: True,
}


def _accepts(hint: Any, value: Any) -> bool:
    if hint in _CHECKS:
        return _CHECKS[hint](value)
    origin = get_origin(hint)
    if origin is Literal:
        return value in get_args(hint)
    if origin in (Union, types.UnionType):
        return any(_accepts(arm, value) for arm in get_args(hint) if arm is not type(None))
    if _is_list(hint):
        return isinstance(value, list | tuple) and all(_accepts(get_args(hint)[0], item) for item in value)
    inner = get_args(hint)[1:] or (Any,)
    return isinstance(value, Mapping) and all(_accepts(inner[0], item) for item in value.values())


def _describe(hint: Any) -> str:
    names = {str: "text", bool: "true or false", int: "a whole number", float: "a number"}
    if hint in names:
        return names[hint]
    if get_origin(hint) is Literal:
        return "one of " + ", ".join(map(repr, get_args(hint)))
    if _is_list(hint):
        return "a list"
    inner = names.get(get_args(hint)[-1]) if get_args(hint) else None
    return f"a table in which each value is {inner}" if inner else "a table"


def near(key: str, known: Iterable[str]) -> str:
    """A question that names the nearest known keys; empty where none is near."""
    return did_you_mean(near_names(key, known))
