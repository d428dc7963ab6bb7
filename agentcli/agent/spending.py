"""Budgets of a session and limits of a run: checked before each request, so that nothing is spent beyond them."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import field

from agentcli.agent.ports import ApprovalRequest, Approve
from agentcli.context.budget import Budget, Scope, Spent, Verdict, budget_notice, budgets_of, check_budgets
from agentcli.context.settings import BudgetSettings
from agentcli.core.dataclass import dataclass, replace
from agentcli.core.errors import LimitReached
from agentcli.core.event import Event, Waiting, Warned
from agentcli.core.journal import Journal
from agentcli.core.message import ToolCall, Usage


class TurnSpending:
    """Spending of the session, and of the present turn with its `limits`. `steps` counts the turn's requests."""

    def __init__(self, journal: Journal, limits: RunLimits) -> None:
        self.limits = limits
        self.steps = 0
        self._journal = journal
        self._before = (Usage(), 0.0)

    def begin(self) -> None:
        """Begin a turn."""
        history = self._journal.history
        self.steps, self._before = 0, (history.usage, history.cost or 0.0)

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
    """The budgets of one session. A subagent shares its parent's: `above` returns the spending of session and task there."""

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
        """Start a new task: approvals and warnings for the former task no longer count."""
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

    async def pay(
        self, session: Spent, task: Spent, tokens: int, cost: float, interrupt: asyncio.Event
    ) -> AsyncIterator[Event]:
        """Ask for a request of about so many tokens and USD. Raises LimitReached when it may not be made."""
        verdict, refused = await self._verdict(session, task, tokens, cost)
        if verdict.warning:
            yield Warned(verdict.warning)
        if refused:
            raise LimitReached(f"{refused} Raise it (budget.* in config, or --set) or start a new task.")
        if verdict.delay:
            yield Waiting(verdict.delay, "a budget runs low")
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(interrupt.wait(), verdict.delay)

    async def objection(self, session: Spent, task: Spent, tokens: int, cost: float) -> str:
        """Return the reason against a request other than the turn's own, such as one for a summary; empty if it may be made."""
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
        """Return the verdict of the budgets, with the reason of a refusal; ask the person about each budget that demands it."""
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
    """Limits of one run on requests, cost, tokens and time; None is no limit. Cost in USD, time in seconds from the creation of this value."""

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

    def check_wait(self, seconds: float, reason: str) -> None:
        """Raise LimitReached if a wait of so many seconds, for this reason, would go beyond the limit of time."""
        left = self.left()
        if left is not None and seconds >= left:
            raise LimitReached(
                f"{reason}, and the limit of {self.seconds:g} s (--max-time) leaves no time for a retry."
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
