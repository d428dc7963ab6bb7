"""The numbers that a setting may take, stated beside its field as part of its type."""

from __future__ import annotations

from typing import Annotated

from agentcli.core.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Range:
    """From `low` to `high`, both included unless it is `between` them; without `high` there is no upper end."""

    low: float = 0
    high: float | None = None
    between: bool = False

    def __contains__(self, number: float) -> bool:
        if self.between and number in (self.low, self.high):
            return False
        return self.low <= number and (self.high is None or number <= self.high)

    def __str__(self) -> str:
        if self.high is None:
            return f"{self.low:g} or more"
        return f"between {self.low:g} and {self.high:g}" if self.between else f"from {self.low:g} to {self.high:g}"


NOT_NEGATIVE = Range()
"""The range of every number whose field states no other."""
Share = Annotated[float, Range(0, 1)]
Part = Annotated[float, Range(0, 1, between=True)]
Positive = Annotated[int, Range(1)]
