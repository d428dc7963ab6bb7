"""Arguments of a call, which this vendor's wires send as a text of JSON."""

from __future__ import annotations

import json
from typing import Any

BARE = "input"
"""The parameter of a tool whose calls are a bare text."""


def parsed(text: str) -> Any:
    """Parse a whole text strictly; an empty text is an empty object, and invalid JSON is None."""
    if not text.strip():
        return {}
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not valid JSON")
