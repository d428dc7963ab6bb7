"""Range of numbers that a setting allows, with their unit, declared in the type of its field."""

from __future__ import annotations

from typing import Annotated

from agentcli.core.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Range:
    """From `low` to `high`, both included unless it is `between` them; without `high` there is no upper end.

    `unit`: the word for the number, in the plural; empty for a share.
    """

    low: float = 0
    high: float | None = None
    between: bool = False
    unit: str = ""

    def __contains__(self, number: float) -> bool:
        if self.between and number in (self.low, self.high):
            return False
        return self.low <= number and (self.high is None or number <= self.high)

    def __str__(self) -> str:
        if self.high is None:
            return f"{self.low:g} or more"
        return f"between {self.low:g} and {self.high:g}" if self.between else f"from {self.low:g} to {self.high:g}"


NOT_NEGATIVE = Range()
"""The range of every number whose field states none."""
COST = Range(0, 1e9, unit="USD")
"""Cost that one record may have. A provider's price list or a server may state any number."""
PRICE = Range(0, 100_000, unit="USD per million tokens")
"""Prices that tokens may have; a larger number is a mistake in the list."""
Cost = Annotated[float, COST]
Share = Annotated[float, Range(0, 1)]
Part = Annotated[float, Range(0, 1, between=True)]
Positive = Annotated[int, Range(1)]
Tokens = Annotated[int, Range(unit="tokens")]
Bytes = Annotated[int, Range(unit="bytes")]
Lines = Annotated[int, Range(unit="lines")]
Messages = Annotated[int, Range(unit="messages")]
Calls = Annotated[int, Range(unit="calls")]
Requests = Annotated[int, Range(unit="requests")]
Turns = Annotated[int, Range(unit="turns")]
Sessions = Annotated[int, Range(unit="sessions")]
Seconds = Annotated[float, Range(high=1e9, unit="seconds")]
"""At most about 30 years: some timers of the system take no more."""
Days = Annotated[float, Range(high=1e6, unit="days")]
Dollars = Annotated[float, Range(unit="USD")]
