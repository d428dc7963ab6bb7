"""Elapsed times, as text for people."""

from __future__ import annotations


def ago(seconds: float) -> str:
    """Return an elapsed time as text: `just now`, `5 min ago`, `3 h ago`, `2 days ago`."""
    for size, unit in ((86_400, "day"), (3600, "h"), (60, "min")):
        if seconds >= size:
            count = int(seconds // size)
            return f"{count} {unit}{'s' * (unit == 'day' and count > 1)} ago"
    return "just now"
