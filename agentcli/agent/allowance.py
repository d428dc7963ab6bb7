"""What a run may spend: steps, money, tokens and time. Checked before each request, so that nothing is spent beyond it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from agentcli.core.errors import LimitReached
from agentcli.core.message import Usage


@dataclass(frozen=True, slots=True)
class Allowance:
    """Limits of one run; None is no limit. Cost in USD, time in seconds from the moment this value was made."""

    turns: int | None = None
    cost: float | None = None
    tokens: int | None = None
    seconds: float | None = None
    clock: Callable[[], float] = time.monotonic
    started: float = field(default_factory=time.monotonic)

    def check(self, turns: int, usage: Usage, cost: float | None) -> None:
        """Raise LimitReached, naming the limit, if another request would go beyond one."""
        if self.turns is not None and turns >= self.turns:
            raise LimitReached(f"The limit of {self.turns} turns (--max-turns) is reached.")
        if self.cost is not None and (cost or 0.0) >= self.cost:
            raise LimitReached(f"The limit of ${self.cost:g} (--max-cost) is reached: ${cost:.4f} spent.")
        if self.tokens is not None and usage.total >= self.tokens:
            raise LimitReached(f"The limit of {self.tokens:,} tokens (--max-tokens) is reached: {usage.total:,} used.")
        if self.left() == 0.0:
            raise LimitReached(f"The limit of {self.seconds:g} s (--max-time) is reached.")

    def rest(self, turns: int, usage: Usage, cost: float) -> Allowance:
        """What is left of it after so much, for a subagent."""
        return Allowance(
            None if self.turns is None else max(0, self.turns - turns),
            None if self.cost is None else max(0.0, self.cost - cost),
            None if self.tokens is None else max(0, self.tokens - usage.total),
            self.left(),
        )

    def left(self) -> float | None:
        """Seconds left, never below 0; None where time is not limited."""
        return None if self.seconds is None else max(0.0, self.seconds - (self.clock() - self.started))
