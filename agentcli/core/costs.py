"""Sums of tokens and USD, and their bar chart as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agentcli.core.dataclass import dataclass
from agentcli.core.message import Usage

NAME = 28
"""Maximum characters of a name for its bar to be aligned with the others."""

WIDTH = 16
"""Characters of the longest bar."""
_EIGHTHS = " ▏▎▍▌▋▊▉█"


@dataclass(frozen=True, slots=True)
class CostSum:
    """Count of requests or sessions with their usage; `cost` in USD, None if no price is known."""

    count: int = 0
    usage: Usage = Usage()
    cost: float | None = None

    def plus(self, usage: Usage, cost: float | None) -> CostSum:
        """Return the sum with one more usage and its cost in USD (None: price unknown)."""
        known = self.cost if cost is None else (self.cost or 0.0) + cost
        return CostSum(self.count + 1, self.usage + usage, known)


def plus(one: float | None, other: float | None) -> float | None:
    """Return the sum of two costs; None, an unknown price, adds nothing to a known cost."""
    return None if one is None and other is None else (one or 0.0) + (other or 0.0)


def money(cost: float | None) -> str:
    """Return an amount in USD as text; None means that no price is known."""
    if cost is None:
        return "price unknown"
    return f"${cost:,.4f}" if cost else "$0"


def dollars(cost: float) -> str:
    """Return an amount in USD, briefly: in cents, and with four decimals if it is less than half a cent."""
    return f"${cost:.{2 if cost >= 0.005 or not cost else 4}f}"


def cost_chart(sums: Mapping[str, CostSum]) -> list[str]:
    """Return a line for each name: a bar, tokens and USD."""
    wide = min(max(map(len, sums), default=0), NAME)
    drawn = bars([one.usage.total for one in sums.values()])
    return [
        f"  {name:{wide}}  {bar}  {one.usage.total:>12,}  {money(one.cost)}"
        for (name, one), bar in zip(sums.items(), drawn, strict=True)
    ]


def bars(values: Sequence[float], width: int = WIDTH) -> list[str]:
    """Return a bar for each value, the largest with `width` characters. 0 has no bar; every larger value has a visible
    one.
    """
    most = max(values, default=0)
    return [_bar(value / most * width if most > 0 else 0).ljust(width) for value in values]


def _bar(length: float) -> str:
    eighths = max(round(length * 8), 1) if length > 0 else 0
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()
