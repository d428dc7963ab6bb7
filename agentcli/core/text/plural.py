"""Counts with their nouns."""

from __future__ import annotations


def plural(count: int, noun: str) -> str:
    """`1 line`, `2,000 lines`, `3 processes`, `4 matches`, `5 entries`."""
    if count == 1:
        return f"1 {noun}"
    if noun.endswith(("s", "ch")):
        return f"{count:,} {noun}es"
    return f"{count:,} {noun[:-1]}ies" if noun.endswith("ry") else f"{count:,} {noun}s"
