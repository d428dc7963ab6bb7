"""Budgets in tokens or money for a session, a task and an agent, and the pace of spending."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from agentcli.context.settings import BudgetLimit, BudgetSettings
from agentcli.core.dataclass import dataclass
from agentcli.core.message import Usage

Scope = Literal["session", "task", "agent"]
Mode = Literal["hard", "soft", "approval"]
_DEFAULT = BudgetSettings()


@dataclass(frozen=True, slots=True)
class Spent:
    """Tokens and money used. `cost` is in USD, or None if prices are unknown."""

    tokens: int = 0
    cost: float | None = None

    def add(self, usage: Usage, cost: float | None) -> Spent:
        """Return the sum after one more request."""
        money = self.cost if cost is None else (self.cost or 0.0) + cost
        return Spent(self.tokens + usage.total, money)

    def plus(self, other: Spent) -> Spent:
        """Return the sum of both."""
        money = None if self.cost is None and other.cost is None else (self.cost or 0.0) + (other.cost or 0.0)
        return Spent(self.tokens + other.tokens, money)

    def since(self, earlier: Spent) -> Spent:
        """Return the difference to an earlier sum: the share of one task in a session's total."""
        money = None if self.cost is None else self.cost - (earlier.cost or 0.0)
        return Spent(self.tokens - earlier.tokens, money)


@dataclass(frozen=True, slots=True)
class Budget:
    """Limit of one scope; 0 is no limit. At the end `hard` refuses, `soft` warns and continues, `approval` asks."""

    scope: Scope
    tokens: int = 0
    cost: float = 0.0
    mode: Mode = "hard"
    settings: BudgetSettings = _DEFAULT

    @property
    def is_set(self) -> bool:
        """Whether it limits anything."""
        return self.tokens > 0 or self.cost > 0

    def used(self, spent: Spent) -> float:
        """Return the share used, of tokens or of money, whichever is larger."""
        tokens = spent.tokens / self.tokens if self.tokens > 0 else 0.0
        money = (spent.cost or 0.0) / self.cost if self.cost > 0 else 0.0
        return max(tokens, money)

    def is_low(self, spent: Spent) -> bool:
        """Return True if so little is left that the model is told."""
        return self.is_set and 1 - self.used(spent) < self.settings.tell_below

    def delay(self, spent: Spent) -> float:
        """Return the seconds to delay the next request."""
        used = self.used(spent)
        steps = zip(self.settings.pressure_from, self.settings.pressure_seconds, strict=False)
        return max((seconds for share, seconds in steps if used >= share), default=0.0)

    def left(self, spent: Spent) -> str:
        """Return the remaining budget as text for people and the model."""
        words = []
        if self.tokens > 0:
            words.append(f"{max(0, self.tokens - spent.tokens):,} of {self.tokens:,} tokens")
        if self.cost > 0:
            words.append(f"${max(0.0, self.cost - (spent.cost or 0.0)):.2f} of ${self.cost:.2f}")
        return " and ".join(words) or "no limit"


def budgets_of(settings: BudgetSettings) -> Mapping[Scope, Budget]:
    """Return the budgets that the configuration sets, by scope."""
    limits: tuple[tuple[Scope, BudgetLimit], ...] = (
        ("session", settings.session),
        ("task", settings.task),
        ("agent", settings.agent),
    )
    return {scope: Budget(scope, limit.tokens, limit.cost, limit.mode, settings) for scope, limit in limits}


@dataclass(frozen=True, slots=True)
class Verdict:
    """Decision on the next request. `reason` names the deciding budget, of scope `scope`; `warning` is for the user.

    `delay` is in seconds. `warned` are the budgets that have warned so far: pass them to the next check, so that each warns once.
    """

    action: Literal["go", "ask", "refuse"] = "go"
    reason: str = ""
    scope: Scope = "session"
    warning: str = ""
    delay: float = 0.0
    warned: frozenset[str] = frozenset()


def check_budgets(
    budgets: Iterable[tuple[Budget, Spent]],
    *,
    next_tokens: int = 0,
    next_cost: float = 0.0,
    warned: frozenset[str] = frozenset(),
    approved: frozenset[Scope] = frozenset(),
) -> Verdict:
    """Decide on a request estimated at `next_tokens` tokens and `next_cost` USD; the strictest budget decides.

    Past its end an `approval` budget asks until its scope is among `approved`; if there is no one to ask, the caller refuses.
    """
    in_force = [(budget, spent) for budget, spent in budgets if budget.is_set]
    action: Literal["go", "ask", "refuse"] = "go"
    scope: Scope = "session"
    reason, warnings, reported = "", [], set(warned)
    for budget, spent in in_force:
        over = _would_exceed(budget, spent, next_tokens, next_cost)
        if over and budget.mode == "hard" and action != "refuse":
            action, reason, scope = "refuse", over, budget.scope
        elif over and budget.mode == "approval" and budget.scope not in approved and action == "go":
            action, reason, scope = "ask", over, budget.scope
        elif over and budget.mode == "soft" and f"{budget.scope} over" not in reported:
            reported.add(f"{budget.scope} over")
            warnings.append(over)
        if not over and budget.used(spent) > budget.settings.warn_at and budget.scope not in reported:
            reported.add(budget.scope)
            warnings.append(
                f"{budget.used(spent):.0%} of the {budget.scope} budget is used: {budget.left(spent)} left."
            )
    delay = max((budget.delay(spent) for budget, spent in in_force), default=0.0)
    return Verdict(action, reason, scope, " ".join(warnings), 0.0 if action == "refuse" else delay, frozenset(reported))


def budget_notice(budgets: Sequence[tuple[Budget, Spent]]) -> str:
    """Return a notice for the model if less than `tell_below` of a budget is left, else an empty text."""
    low = [f"{budget.left(spent)} of the {budget.scope} budget" for budget, spent in budgets if budget.is_low(spent)]
    return f"{'; '.join(low)} left. Finish the most important part first and spend little." if low else ""


def _would_exceed(budget: Budget, spent: Spent, tokens: int, cost: float) -> str:
    if budget.tokens > 0 and spent.tokens + tokens > budget.tokens:
        return (
            f"The {budget.scope} budget of {budget.tokens:,} tokens would be exceeded: {spent.tokens:,} are used "
            f"and the next request needs about {tokens:,}."
        )
    if budget.cost > 0 and (spent.cost or 0.0) + cost > budget.cost:
        return (
            f"The {budget.scope} budget of ${budget.cost:.2f} would be exceeded: ${spent.cost or 0.0:.2f} is spent "
            f"and the next request costs about ${cost:.2f}."
        )
    return ""
