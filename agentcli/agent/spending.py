"""Budgets in tokens or money, and limits of a run.

Each request is checked before it is made, so that nothing is spent beyond them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Literal

from agentcli.agent.ports import ApprovalRequest, Approve
from agentcli.context.settings import BudgetLimit, BudgetSettings
from agentcli.core.dataclass import dataclass, replace
from agentcli.core.errors import LimitReached
from agentcli.core.event import Emit, Warned
from agentcli.core.journal import Journal
from agentcli.core.message import ToolCall, Usage
from agentcli.core.model import ModelSpec

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
        """Return the difference to an earlier sum: one task's share of a session's total."""
        money = None if self.cost is None else self.cost - (earlier.cost or 0.0)
        return Spent(self.tokens - earlier.tokens, money)


@dataclass(frozen=True, slots=True)
class Budget:
    """Limit of one scope; 0 means no limit. At the end `hard` refuses, `soft` warns and continues, `approval` asks."""

    scope: Scope
    tokens: int = 0
    cost: float = 0.0
    mode: Mode = "hard"
    settings: BudgetSettings = _DEFAULT

    @property
    def is_set(self) -> bool:
        """True if it limits anything."""
        return self.tokens > 0 or self.cost > 0

    def used(self, spent: Spent) -> float:
        """Return the used share, of tokens or of money, whichever is larger."""
        tokens = spent.tokens / self.tokens if self.tokens > 0 else 0.0
        money = (spent.cost or 0.0) / self.cost if self.cost > 0 else 0.0
        return max(tokens, money)

    def is_low(self, spent: Spent) -> bool:
        """Return True if so little is left that the model gets a note."""
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


RUNNING_LOW = "a budget runs low"
"""The reason why a request waits for a budget."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Decision on the next request. `reason` mentions the deciding budget, of scope `scope`; `warning` is for the user.

    `delay` is in seconds. `warned` are the budgets that have warned so far: pass them to the next check, so that each
    warns once.
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
    """Decide on a request estimated at `next_tokens` tokens and `next_cost` USD.

    The strictest budget decides. A used-up `approval` budget asks until its scope is among `approved`. If nobody can be
    asked, the caller refuses.
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


class TurnSpending:
    """Spending of the session, and of the current turn with its `limits`. `steps` counts the turn's requests."""

    def __init__(self, journal: Journal, limits: RunLimits) -> None:
        self.limits = limits
        self.steps = 0
        self.turns: list[float] = []
        """USD of each turn since the session was opened."""
        self._journal = journal
        self._before = (Usage(), 0.0)
        self._opened, self._earlier = journal.history.last_seq, list[float]()

    def costs(self) -> Sequence[float]:
        """USD of each turn of the session, oldest first; of those before it was opened, that spent something."""
        if self._opened:
            from agentcli.agent.costs.turns import costs_until

            self._earlier, self._opened = costs_until(self._opened, self._journal.records()), 0
        return [*self._earlier, *self.turns]

    def begin(self) -> None:
        """Begin a turn."""
        history = self._journal.history
        self.steps, self._before = 0, (history.usage, history.cost or 0.0)

    def end(self) -> None:
        """End a turn."""
        self.turns.append(self.spent()[1])

    def spent(self) -> tuple[Usage, float]:
        """Tokens and USD of this turn so far."""
        usage, cost = self._before
        now = self._journal.history
        return now.usage - usage, (now.cost or 0.0) - cost

    def totals(self) -> tuple[Spent, Spent]:
        """Tokens and USD spent by the session and by the task."""
        usage, cost = self.spent()
        now = self._journal.history
        return Spent(now.usage.total, now.cost), Spent(usage.total, cost)


class BudgetGuard:
    """Budgets of one session.

    A subagent shares its parent's: `above` returns the spending of session and task there.
    """

    def __init__(
        self, settings: BudgetSettings, approve: Approve, above: Callable[[], tuple[Spent, Spent]] | None = None
    ) -> None:
        self.budgets = budgets_of(settings)
        self._approve = approve
        self._above = above
        self._warned: frozenset[str] = frozenset()
        self._approved: frozenset[Scope] = frozenset()
        self._reminded: set[str] = set()

    def new_task(self) -> None:
        """Start a new task: approvals and warnings for the previous task no longer count."""
        self._approved -= {"task"}
        self._warned -= {"task", "task over"}
        self._reminded -= {"task"}

    def state(self, session: Spent, task: Spent) -> Sequence[tuple[Budget, Spent]]:
        """Each budget that is set, with the amount spent."""
        agent = Spent()
        if self._above is not None:
            agent = session
            session, task = (each.plus(agent) for each in self._above())
        spent: dict[Scope, Spent] = {"session": session, "task": task, "agent": agent}
        return [(budget, spent[scope]) for scope, budget in self.budgets.items() if budget.is_set]

    async def pay(self, session: Spent, task: Spent, tokens: int, cost: float, emit: Emit) -> float:
        """Return the seconds to wait before a request of about so many tokens and USD. Raises LimitReached if it may not be made."""
        verdict, refused = await self._verdict(session, task, tokens, cost)
        if verdict.warning:
            await emit(Warned(verdict.warning))
        if refused:
            raise LimitReached(f"{refused} Raise it (budget.* in config, or --set) or start a new task.")
        return verdict.delay

    async def objection(self, session: Spent, task: Spent, tokens: int, cost: float) -> str:
        """Return the reason against a request other than the turn's own, such as for a summary.

        Return an empty text if it may be made.
        """
        warned = self._warned
        _, refused = await self._verdict(session, task, tokens, cost)
        self._warned = warned  # a warning that was not shown counts as not given
        return refused

    def reminder(self, session: Spent, task: Spent) -> str:
        """Return the reminder for the model about budgets that run low; each is reported once."""
        low = [
            each
            for each in self.state(session, task)
            if each[0].is_low(each[1]) and each[0].scope not in self._reminded
        ]
        self._reminded |= {budget.scope for budget, _ in low}
        return budget_notice(low)

    async def _verdict(self, session: Spent, task: Spent, tokens: int, cost: float) -> tuple[Verdict, str]:
        """Return the verdict of the budgets, and the reason if they refuse.

        Ask the person about each budget that requires it.
        """
        state, first = self.state(session, task), None
        while True:
            verdict = check_budgets(
                state, next_tokens=tokens, next_cost=cost, warned=self._warned, approved=self._approved
            )
            self._warned = verdict.warned
            first = first or verdict
            if verdict.action == "ask" and await self._allowed(verdict):
                continue
            return replace(first, delay=verdict.delay), "" if verdict.action == "go" else verdict.reason

    async def _allowed(self, verdict: Verdict) -> bool:
        ask = ApprovalRequest(ToolCall("budget", "budget", {}), "Continue beyond the budget", verdict.reason, "")
        answer = await self._approve(ask)
        if answer is None or answer.choice == "no":
            return False
        self._approved |= {verdict.scope}
        return True


@dataclass(frozen=True, slots=True)
class RunLimits:
    """Limits of one run on requests, cost, tokens and time; None means no limit.

    Cost in USD, time in seconds from the creation of this value.
    """

    turns: int | None = None
    cost: float | None = None
    tokens: int | None = None
    seconds: float | None = None
    clock: Callable[[], float] = time.monotonic
    started: float = field(default_factory=time.monotonic)

    def check(self, turns: int, usage: Usage, cost: float | None) -> None:
        """Raise LimitReached, mentioning the limit, if another request would exceed one."""
        if self.turns is not None and turns >= self.turns:
            raise LimitReached(f"The limit of {self.turns} turns (--max-turns) is reached.")
        if self.cost is not None and (cost or 0.0) >= self.cost:
            raise LimitReached(f"The limit of ${self.cost:g} (--max-cost) is reached: ${cost:.4f} spent.")
        if self.tokens is not None and usage.total >= self.tokens:
            raise LimitReached(f"The limit of {self.tokens:,} tokens (--max-tokens) is reached: {usage.total:,} used.")
        if self.left() == 0.0:
            raise LimitReached(f"The limit of {self.seconds:g} s (--max-time) is reached.")

    def check_wait(self, seconds: float, reason: str) -> None:
        """Raise LimitReached if a wait of so many seconds, for this reason, would exceed the time limit."""
        left = self.left()
        if left is not None and seconds >= left:
            raise LimitReached(
                f"{reason}, and the limit of {self.seconds:g} s (--max-time) doesn't allow time for a retry."
            )

    def rest(self, turns: int, usage: Usage, cost: float) -> RunLimits:
        """Return the limits that remain after this spending, for a subagent."""
        return RunLimits(
            None if self.turns is None else max(0, self.turns - turns),
            None if self.cost is None else max(0.0, self.cost - cost),
            None if self.tokens is None else max(0, self.tokens - usage.total),
            self.left(),
        )

    def left(self) -> float | None:
        """Return the seconds left, never below 0; None if time is not limited."""
        return None if self.seconds is None else max(0.0, self.seconds - (self.clock() - self.started))


def tier_unpriced(model: ModelSpec, tier: str) -> str:
    """Return a warning that costs are estimated because the price of a request's tier is unknown.

    Return an empty text if the price is known.
    """
    if not tier or tier in model.tiers or model.prices is None:
        return ""
    return (
        f"{model.provider} served this in the tier {tier}, whose price is not known: its cost is estimated at the standard price. Set "
        f'its multiple of that price in config: [models."{model.name}"] tiers = {{ {tier} = … }}.'
    )
