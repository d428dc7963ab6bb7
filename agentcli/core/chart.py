"""Numbers as bars of text."""

from __future__ import annotations

from collections.abc import Sequence

WIDTH = 16
"""Characters of the longest bar."""
_EIGHTHS = " ▏▎▍▌▋▊▉█"


def bars(values: Sequence[float], width: int = WIDTH) -> list[str]:
    """A bar for each value, the largest `width` characters long; nothing for 0, and something for whatever is more."""
    most = max(values, default=0)
    return [_bar(value / most * width if most > 0 else 0).ljust(width) for value in values]


def _bar(length: float) -> str:
    eighths = max(round(length * 8), 1) if length > 0 else 0
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()
