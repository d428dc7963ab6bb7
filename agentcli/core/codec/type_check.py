"""Checks a value against the types that its class declares, much faster than writing and reading it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from types import NoneType
from typing import Any

from agentcli.core.annotation import (
    Choice,
    Fields,
    Items,
    Kind,
    Maybe,
    Noted,
    OneOf,
    Scalar,
    Table,
    Unread,
    fields_of,
)
from agentcli.core.dataclass import values_of

_Check = Callable[[Any], bool]
_Accepted = Mapping[type, _Check | None]
"""The types that a field may have, each with a further condition on the value."""


def is_declared(value: Any) -> bool:
    """Return True if every field of a dataclass, and of the dataclasses in it, has its declared type. Opaque types (`Mapping`) are not checked inside."""
    return _of_class(value.__class__)(value)


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
            return {float: math.isfinite, int: math.isfinite}
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
        case Table():
            return {dict: None}
        case Fields(owner):
            return {owner: _of_class(owner)}
        case Noted(of):
            return _accepted(of)
        case Items() | Scalar.ANYTHING | Unread():
            return {}


def _all(types: _Accepted) -> Callable[[Iterable[Any]], bool]:
    def check(items: Iterable[Any]) -> bool:
        for item in items:
            if type(item) not in types or not ((more := types[type(item)]) is None or more(item)):
                return False
        return True

    return check
