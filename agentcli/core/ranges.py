"""The numbers that a setting may take, stated beside its field as part of its type."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated


@dataclass(frozen=True, slots=True)
class Range:
    """From `low` to `high`, both included; without `high` there is no upper end."""

    low: float = 0
    high: float | None = None

    def __contains__(self, number: float) -> bool:
        return self.low <= number and (self.high is None or number <= self.high)

    def __str__(self) -> str:
        return f"{self.low:g} or more" if self.high is None else f"from {self.low:g} to {self.high:g}"


NOT_NEGATIVE = Range()
"""The range of every number whose field states no other."""
Share = Annotated[float, Range(0, 1)]
Positive = Annotated[int, Range(1)]
