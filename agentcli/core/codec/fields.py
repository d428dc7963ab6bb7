"""Fields of JSON objects that other programs may have written. One field of a wrong type refuses the whole object."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import is_dataclass
from functools import cache
from types import NoneType
from typing import Any, TypeVar

from agentcli.core.annotation import (
    Choice,
    Fields,
    Items,
    Kind,
    Maybe,
    Noted,
    OneOf,
    Scalar,
    Slot,
    Table,
    Unread,
    bare,
    fields_of,
)
from agentcli.core.dataclass import values_of
from agentcli.core.setting import COST, Range

Json = Mapping[str, Any]


def text(raw: Json, name: str, default: str | None = "") -> str:
    """Return a string; `default` if it is missing or null. Raises KeyError if there is no default, TypeError for another type."""
    value = raw.get(name)
    if type(value) is str:
        return value
    if value is None and default is not None:
        return default
    raise TypeError(f"{name} is {value!r:.40}") if name in raw else KeyError(name)


def whole(raw: Json, name: str, default: int | None = 0) -> int:
    """Return a whole number; otherwise like `text`."""
    value = raw.get(name)
    if type(value) is int:
        return value
    if value is None and default is not None:
        return default
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise TypeError(f"{name} is {value!r:.40}") if name in raw else KeyError(name)
    return int(value)


def number(raw: Json, name: str) -> float | None:
    """Return a finite number, or None. Raises TypeError for anything else."""
    value = raw.get(name)
    if value is None or (type(value) is float and math.isfinite(value)):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise TypeError(f"{name} is {value!r:.40}")
    return value


def amount(raw: Json, name: str) -> float | None:
    """Return an amount in USD, or None for an invalid one. A bad price must not lose a record."""
    value = raw.get(name)
    return value if (type(value) is float or type(value) is int) and value in COST else None


def table(raw: Json, name: str) -> dict[str, Any]:
    """Return an object; empty if it is missing or null. Raises TypeError for another type."""
    value = raw.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise TypeError(f"{name} is {value!r:.40}")
    return value


def is_deeper(value: Any, levels: int) -> bool:
    """Return True if a JSON value is nested deeper than that."""
    level = [value]
    for _ in range(levels):
        level = [inner for each in level for inner in _inside(each)]
        if not level:
            return False
    return True


def items(raw: Json, name: str, kind: type, default: tuple[Any, ...] | None = ()) -> tuple[Any, ...]:
    """Return a list with entries of one kind; otherwise like `text`. True and false do not count as whole numbers."""
    value = raw.get(name)
    if value is None and default is not None:
        return default
    if not isinstance(value, list) or not {*map(type, value)} <= {kind}:
        raise TypeError(f"{name} is {value!r:.40}") if name in raw else KeyError(name)
    return tuple(value)


def _inside(value: Any) -> list[Any]:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return [each for each in inner if isinstance(each, dict | list | tuple)]


T = TypeVar("T")
_Check = Callable[[Any], bool]
_Accepted = Mapping[type, _Check | None]
"""The types that a field may have, each with a further condition."""


def is_declared(value: Any) -> bool:
    """Return True if every field of a dataclass, and of nested ones, has its declared type. Contents of opaque types
    (`Mapping`) are not checked.
    """
    return _of_class(value.__class__)(value)


def as_declared(value: T) -> T:
    """Return a dataclass without fields of a wrong type.

    Each becomes an empty value, or the valid part of a list.
    """
    slots = fields_of(value.__class__)
    return value.__class__(**{slot.name: _mended(getattr(value, slot.name), slot) for slot in slots})


@cache
def _of_class(owner: type) -> _Check:
    slots = fields_of(owner)
    names, accepted = [slot.name for slot in slots], [_accepted(slot.kind) for slot in slots]
    values = values_of(names)

    def check(one: Any) -> bool:
        for value, types in zip(values(one), accepted, strict=True):
            if type(value) not in types:
                return False
            more = types[type(value)]
            if more is not None and not more(value):
                return False
        return True

    return check


def _accepted(kind: Kind) -> _Accepted:
    """Return the types that values of a kind may have; none for an unknown kind."""
    match kind:
        case Scalar.NUMBER:
            return {float: math.isfinite, int: _is_float}
        case Scalar.TEXT | Scalar.WHOLE | Scalar.FLAG:
            return {kind.value: None}
        case Choice(values):
            return {str: frozenset(values).__contains__}
        case Maybe(of):
            return {**_accepted(of), NoneType: None}
        case OneOf(kinds):
            return {accepted: more for each in kinds for accepted, more in _accepted(each).items()}
        case Items(of, container) if of is not None and container is tuple:
            return {tuple: _all(_accepted(of))}
        case Table(of):
            return {dict: None if of is Scalar.ANYTHING else _all_values(_accepted(of))}
        case Fields(owner):
            return {owner: _of_class(owner)}
        case Noted(of, notes):
            return {each: _within(more, notes) for each, more in _accepted(of).items()}
        case Items() | Scalar.ANYTHING | Unread():
            return {}


def _within(more: _Check | None, notes: Iterable[Any]) -> _Check | None:
    """Return a condition that also checks the ranges in the metadata."""
    ranges = [note for note in notes if isinstance(note, Range)]
    if not ranges:
        return more
    return lambda value: (more is None or more(value)) and all(value in each for each in ranges)


def _is_accepted(value: Any, types: _Accepted) -> bool:
    return type(value) in types and ((more := types[type(value)]) is None or more(value))


def _mended(value: Any, slot: Slot) -> Any:
    kind = bare(slot.kind)
    if _is_accepted(value, _accepted(slot.kind)):
        return value
    if isinstance(kind, Items) and kind.of is None:  # a tuple of fixed length
        alike = isinstance(value, tuple) and [*map(type, value)] == [*map(type, slot.default)]
        return value if alike else slot.default
    if isinstance(slot.kind, Maybe) and not (isinstance(kind, Fields) and isinstance(value, kind.owner)):
        return None
    return _near(value, kind)


def _near(value: Any, kind: Kind) -> Any:
    """Return the usable part of a value of another kind."""
    match kind:
        case Items(of) if of is not None:
            inner, given = _accepted(of), value if isinstance(value, list | tuple) else ()
            mended = [as_declared(each) if is_dataclass(each) and type(each) in inner else each for each in given]
            return tuple(each for each in mended if _is_accepted(each, inner))
        case Table(of):
            inner, table = _accepted(of), value if isinstance(value, Mapping) else {}
            return {name: each for name, each in table.items() if not inner or _is_accepted(each, inner)}
        case Fields(owner):
            return as_declared(value) if isinstance(value, owner) else _empty(owner)
        case Choice(values):
            return values[-1]
        case Scalar.TEXT:
            return str(value) if isinstance(value, int | float) else ""
        case _:
            return kind.value() if isinstance(kind, Scalar) else None


def _empty(owner: type) -> Any:
    """Return an instance whose required fields are empty."""
    needed = (slot for slot in fields_of(owner) if slot.required)
    return owner(**{slot.name: _near(None, bare(slot.kind)) for slot in needed})


def _is_float(value: int) -> bool:
    return abs(value) <= sys.float_info.max


def _all_values(types: _Accepted) -> Callable[[Mapping[str, Any]], bool]:
    inner = _all(types)
    return lambda table: inner(table.values())


def _all(types: _Accepted) -> Callable[[Iterable[Any]], bool]:
    def check(items: Iterable[Any]) -> bool:
        for item in items:
            if type(item) not in types or not ((more := types[type(item)]) is None or more(item)):
                return False
        return True

    return check
