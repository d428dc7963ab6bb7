"""Fields of JSON objects that others may have written: each is of its type, or the whole is refused."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

Json = Mapping[str, Any]


def text(raw: Json, name: str, default: str | None = "") -> str:
    """A string; `default` where it is missing or null. Raises KeyError when there is no default, TypeError for another type."""
    value = raw.get(name)
    if type(value) is str:
        return value
    if value is None and default is not None:
        return default
    if not isinstance(value, str):
        raise TypeError(f"{name} is {value!r:.40}") if name in raw else KeyError(name)
    return value


def whole(raw: Json, name: str, default: int | None = 0) -> int:
    """A whole number, else as `text`."""
    value = raw.get(name)
    if type(value) is int:
        return value
    if value is None and default is not None:
        return default
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise TypeError(f"{name} is {value!r:.40}") if name in raw else KeyError(name)
    return int(value)


def number(raw: Json, name: str) -> float | None:
    """A finite number, or None. Raises TypeError for anything else."""
    value = raw.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise TypeError(f"{name} is {value!r:.40}")
    return value


def table(raw: Json, name: str) -> dict[str, Any]:
    """An object; empty where it is missing or null. Raises TypeError for another type."""
    value = raw.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise TypeError(f"{name} is {value!r:.40}")
    return value


def items(raw: Json, name: str, kind: type, default: tuple[Any, ...] | None = ()) -> tuple[Any, ...]:
    """A list with entries of one kind, else as `text`. True and false are no whole numbers."""
    value = raw.get(name)
    if value is None and default is not None:
        return default
    if not isinstance(value, list) or not {*map(type, value)} <= {kind}:
        raise TypeError(f"{name} is {value!r:.40}") if name in raw else KeyError(name)
    return tuple(value)
