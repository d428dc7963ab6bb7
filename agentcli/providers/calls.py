"""What a tool call must be for it to run, and for any provider to take it back."""

from __future__ import annotations

import re
from typing import Any

DEEPEST = 200
"""Levels of an input. No tool has a use for more, and recursion over what is much deeper fails."""
_LONGEST = 64


def can_run(name: Any, given: Any) -> bool:
    """Whether a call has a name and a whole input that is an object, as JSON has them."""
    return isinstance(name, str) and bool(name.strip()) and isinstance(given, dict) and not _too_deep(given)


def wire_name(name: str) -> str:
    """A call's name in the letters that every provider takes: a model may have made up one that it would be refused for."""
    letters = re.sub(r"[^a-zA-Z0-9_-]", "_", name)[:_LONGEST]
    return letters if re.match(r"[a-zA-Z_]", letters) else f"_{letters}"[:_LONGEST]


def _too_deep(value: Any) -> bool:
    level = [value]
    for _ in range(DEEPEST):
        level = [inner for each in level for inner in _inside(each)]
        if not level:
            return False
    return True


def _inside(value: Any) -> list[Any]:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [each for each in inner if isinstance(each, dict | list)]
