"""Checks a value against the types that its class declares, much quicker than writing and reading it would."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from operator import attrgetter
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

_Check = Callable[[Any], bool]
_Accepted = Mapping[type, _Check | None]
"""The types that a field may have, each with what its value must fulfil besides."""


def is_declared(value: Any) -> bool:
    """True if every field of a dataclass, and of those in it, holds what is declared. What is opaque (`Mapping`) is not looked into."""
    return _of_class(value.__class__)(value)


@cache
def _of_class(kind: type) -> _Check:
    hints = get_type_hints(kind)
    names = [field.name for field in fields(kind)]
    accepted = [_accepted(hints[name]) for name in names]
    values = attrgetter(*names) if len(names) > 1 else lambda one: [getattr(one, name) for name in names]

    def check(one: Any) -> bool:
        for value, types in zip(values(one), accepted, strict=True):
            if type(value) not in types:
                return False
            more = types[type(value)]
            if more is not None and not more(value):
                return False
        return True

    return check


def _accepted(hint: Any) -> _Accepted:
    """The types that an annotation stands for; none for one that is not understood."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Literal:
        return {str: frozenset(inner).__contains__}
    if origin in (Union, UnionType):
        return {kind: more for each in inner for kind, more in _accepted(each).items()}
    if origin is tuple and inner[1:] == (...,):
        return {tuple: _all(_accepted(inner[0]))}
    if origin is Mapping:
        return {dict: None}
    if hint is float:
        return {float: math.isfinite, int: math.isfinite}
    if hint in (str, int, bool, NoneType):
        return {hint: None}
    return {hint: _of_class(hint)} if isinstance(hint, type) and is_dataclass(hint) else {}


def _all(types: _Accepted) -> Callable[[Iterable[Any]], bool]:
    def check(items: Iterable[Any]) -> bool:
        for item in items:
            if type(item) not in types or not ((more := types[type(item)]) is None or more(item)):
                return False
        return True

    return check
