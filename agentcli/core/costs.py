"""Sums of tokens and USD, and their bar chart as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agentcli.core.dataclass import dataclass
from agentcli.core.message import Usage

NAME = 28
"""Characters of a name beyond which its bar no longer stands below the others."""

WIDTH = 16
"""Characters of the longest bar."""
_EIGHTHS = " ▏▎▍▌▋▊▉█"


@dataclass(frozen=True, slots=True)
class CostSum:
    """Count of requests or sessions with their usage; `cost` in USD, None while no price is known."""

    count: int = 0
    usage: Usage = Usage()
    cost: float | None = None

    def plus(self, usage: Usage, cost: float | None) -> CostSum:
        """The sum with one more."""
        known = self.cost if cost is None else (self.cost or 0.0) + cost
        return CostSum(self.count + 1, self.usage + usage, known)


def money(cost: float | None) -> str:
    """An amount in USD; None where no price is known."""
    return "price unknown" if cost is None else f"${cost:,.4f}"


def cost_chart(sums: Mapping[str, CostSum]) -> list[str]:
    """A line for each name: a bar, tokens and USD."""
    wide = min(max(map(len, sums), default=0), NAME)
    drawn = bars([one.usage.total for one in sums.values()])
    return [
        f"  {name:{wide}}  {bar}  {one.usage.total:>12,}  {money(one.cost)}"
        for (name, one), bar in zip(sums.items(), drawn, strict=True)
    ]


def bars(values: Sequence[float], width: int = WIDTH) -> list[str]:
    """A bar for each value, the largest `width` characters long; nothing for 0, and something for whatever is more."""
    most = max(values, default=0)
    return [_bar(value / most * width if most > 0 else 0).ljust(width) for value in values]


def _bar(length: float) -> str:
    eighths = max(round(length * 8), 1) if length > 0 else 0
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()
