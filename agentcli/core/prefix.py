"""The common beginning of two sequences, one of which grew out of the other."""

from __future__ import annotations

from collections.abc import Sequence


def common(first: Sequence[object], second: Sequence[object]) -> int:
    """Return the number of leading elements that are equal in both. Identical objects are not compared, which takes a few nanoseconds each."""
    count = min(len(first), len(second))
    if first[:count] == second[:count]:
        return count
    pairs = enumerate(zip(first, second, strict=False))
    return next((n for n, (one, other) in pairs if one is not other and one != other), count)
