"""What can be told of an open session: its window, its cost, its cache, its jobs, its changes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from agentcli.agent.ports import Glance, Window
from agentcli.agent.reports import acts, cache_lines, changes, cost_lines, job_lines
from agentcli.agent.talk import Talk
from agentcli.context.ahead import foresee
from agentcli.context.budget import Budget, Spent
from agentcli.context.cache import health_of
from agentcli.context.culprit import explained
from agentcli.context.lab.shown import show
from agentcli.context.policies import compacts_early_from, compacts_from, prunes_from
from agentcli.core.history import History
from agentcli.core.journal import Journal
from agentcli.core.model import ModelSpec
from agentcli.tools.jobs import Jobs


class Account:
    """The telling half of a desk. `opened_at` is the last record that was there before the session was opened this time."""

    journal: Journal
    talk: Talk
    jobs: Jobs
    sandbox: str
    opened_at: int

    @property
    def history(self) -> History:
        """What is in force now."""
        return self.journal.history

    @property
    def model(self) -> ModelSpec:
        """The model in use."""
        return self.talk.model.spec

    def budgets(self) -> Sequence[tuple[Budget, Spent]]:
        """Each budget that is set, with what has been spent of it."""
        return self.talk.purse.state(*self.talk.purses())

    def window(self) -> Window:
        """How full the context window is now."""
        window = self.talk.builder.window()
        return Window(window.tokens, window.usable)

    def context_report(self, width: int = 79) -> Sequence[str]:
        """The window drawn and the messages listed, as plain lines of about `width` characters."""
        builder, window = self.talk.builder, self.talk.builder.window()
        cache = builder.cache.health
        made = foresee(self.history, window, datetime.now(UTC))
        tools = window.counter.overhead((), builder.tools)
        marks = {
            "prunes from": prunes_from(window),
            "compacts where it pays from": compacts_early_from(window),
            "compacts at": compacts_from(window),
        }
        lines = show(window, made, tools=tools, marks=marks).lines(width)
        health = f"Cache: {cache.hit_rate:.1%} of all input read from it. {cache.words()}".rstrip()
        return [*lines, "", window.counter.words(), health]

    def cost_report(self) -> Sequence[str]:
        """Tokens and USD per model."""
        return cost_lines(self.journal.records())

    def budget_report(self) -> Sequence[str]:
        """What has been spent of each budget, in words."""
        state = self.budgets()
        lines = [f"{budget.scope} ({budget.mode}): {budget.left(spent)} left" for budget, spent in state]
        return lines or [
            "No budget is set. For example: budget.session.cost = 5.0 in config, or --set budget.task.tokens=200000."
        ]

    def cache_report(self) -> Sequence[str]:
        """How well the provider's cache works in this session."""
        now, records = self.talk.builder.cache.health, list(self.journal.records())
        whole = health_of(records, self.model, now.thrash)
        known = replace(whole, in_a_row=now.in_a_row, changed=now.changed) if now.last else whole
        return cache_lines(explained(known, records, self.model), self.model.prices)

    def tasks_report(self) -> Sequence[str]:
        """The background jobs."""
        return job_lines(self.jobs.all(), time.time())

    def acts_report(self) -> Sequence[str]:
        """What was done unasked before the session was opened this time."""
        return list(acts(record for record in self.journal.records() if record.seq <= self.opened_at))

    def glance(self) -> Glance:
        """What the status line tells besides the window."""
        builder, state = self.talk.builder, self.budgets()
        window, health = builder.window(), builder.cache.health
        return Glance(
            sandbox=self.sandbox,
            prunes=prunes_from(window),
            early=compacts_early_from(window),
            compacts=compacts_from(window),
            hit_rate=health.hit_rate if health.requests else None,
            budget=max((budget.used(spent) for budget, spent in state), default=None),
            jobs=len(self.jobs.running()),
        )

    def diff(self) -> str:
        """This session's changes to files as a unified diff."""
        return changes(self.journal.records())
