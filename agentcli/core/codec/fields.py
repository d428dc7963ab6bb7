"""Fields of JSON objects that other programs may have written. One field of a wrong type refuses the whole object."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from agentcli.core.text.ranges import COST

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
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise TypeError(f"{name} is {value!r:.40}")
    return value


def amount(raw: Json, name: str) -> float | None:
    """Return an amount in USD, or None for an invalid one: a bad price is no reason to lose a record."""
    value = raw.get(name)
    return value if isinstance(value, int | float) and not isinstance(value, bool) and value in COST else None


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
