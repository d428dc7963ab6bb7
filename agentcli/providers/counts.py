"""Tokens as providers report them: a wrong count must not cost the reply that it stands in."""

from __future__ import annotations

from typing import Any

MOST = 10**12
"""No request has as many tokens."""


def tokens(value: Any) -> int:
    """A number of tokens; 0 for what is none."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20:
        value = int(value)
    return int(value) if isinstance(value, int | float) and 0 < value <= MOST else 0
