"""Reports about a session: window, cost, cache, budgets, jobs, changes."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

from agentcli.agent.conversation import Conversation
from agentcli.agent.core import SessionCore
from agentcli.agent.ports import StatusFacts, WindowUsage
from agentcli.agent.spending import Budget, Spent
from agentcli.context.cache_health import CacheHealth, explain_miss, health_of
from agentcli.context.policies import (
    compacts_early_from,
    compacts_from,
    compacts_in_turn_from,
    policy_of,
    prunes_from,
)
from agentcli.core.event import Retrying
from agentcli.core.journal import Journal
from agentcli.core.message import Message, ToolResult, Usage
from agentcli.core.model import ModelSpec, Prices
from agentcli.core.record import Compaction, Failure, FeatureState, Prune, Record, Retry, Settings, Title
from agentcli.core.subagent_result import purpose, spent
from agentcli.core.text.words import plural
from agentcli.providers.catalog import short_name
from agentcli.sessions.info import local_day, local_minute
from agentcli.tools.jobs import Job

if TYPE_CHECKING:
    from agentcli.context.window_report import WindowReport
    from agentcli.core.costs import CostSum

RETIRES_SOON = 30
"""Days before a model's end from which it is announced."""
PRUNES_IF_IT_PAYS = "prunes if that pays, from"
"""Name of a mark below which nothing is pruned, and above which the price decides."""
LOSSES_TOLD = 5
"""Maximum lost records to list when a session is opened."""


class SessionReport:
    """Reports about one open session."""

    def __init__(self, conversation: Conversation, core: SessionCore) -> None:
        self._conversation, self._jobs, self._folder = conversation, core.jobs, core.folder
        self._sandbox, self._opened_at = core.setup.permissions.sandbox, core.opened_at
        self._journal, self._approval = conversation.journal, core.approval

    def budgets(self) -> Sequence[tuple[Budget, Spent]]:
        """Each budget that is set, with the amount spent."""
        return self._conversation.guard.state(*self._conversation.spending.totals())

    def window(self) -> WindowUsage:
        """Usage of the context window."""
        window = self._conversation.builder.window()
        return WindowUsage(window.tokens, window.usable)

    def context(self) -> WindowReport:
        """Report the context window, its parts and messages as they are now."""
        from agentcli.context.room import forecast
        from agentcli.context.window_report import show

        builder, window = self._conversation.builder, self._conversation.builder.window()
        planned = forecast(self._journal.history, window, datetime.now(UTC))
        tools = window.counter.overhead((), builder.tools)
        marks = {
            PRUNES_IF_IT_PAYS if policy_of(window).prunes_if_it_pays else "prunes from": prunes_from(window),
            "compacts early from": compacts_early_from(window),
            "compacts at": compacts_from(window),
        }
        return show(window, planned, tools=tools, marks=marks)

    def counting(self) -> Sequence[str]:
        """Return lines about how tokens are counted, and how much of them came from the provider's cache."""
        cache = self._conversation.builder.cache.health
        health = f"Cache: {cache.hit_rate:.1%} of all input read from it. {cache.warning()}".rstrip()
        return [self._conversation.builder.window().counter.description(), health]

    def outlook(self) -> Sequence[str]:
        """Return lines about what a compaction now would drop and keep."""
        from agentcli.context.room import outlook

        return outlook(self._conversation.builder.window())

    def cold(self, least: float) -> str:
        """Return the line about a prompt that must be written to the provider's cache again. Empty if the cache has it,
        or if that costs less than `least` USD.
        """
        if not least or not self._journal.history.turn:
            return ""
        from agentcli.context.pruning.plan import free_because
        from agentcli.core.costs import dollars

        builder = self._conversation.builder
        window, spec = builder.window(), builder.model.spec
        fresh = spec.cost(Usage(input=window.tokens)) or 0.0
        cost = (spec.cost(Usage(cache_write=window.tokens)) or 0.0) if spec.cache_explicit else fresh
        if cost < least or not (
            builder.cache.is_expired(spec.cache_lifetime) or free_because(window, datetime.now(UTC))
        ):
            return ""
        return f"Cache is cold: {window.tokens / 1000:.0f}k tokens, {dollars(cost)}. Enter sends · /compress first"

    def costs(self) -> Sequence[str]:
        """Tokens and USD per model."""
        return cost_lines(self._journal.records())

    def budget(self) -> Sequence[str]:
        """Describe the rest of each budget, a line for each."""
        state = self.budgets()
        lines = [f"{budget.scope} ({budget.mode}): {budget.left(spent)} left" for budget, spent in state]
        return lines or [
            "No budget is set. For example: budget.session.cost = 5.0 in config, or --set budget.task.tokens=200000."
        ]

    def cache(self) -> Sequence[str]:
        """Lines about the provider's cache in this session."""
        now, records = self._conversation.builder.cache.health, list(self._journal.records())
        whole = health_of(records, self._conversation.model.spec, self._conversation.builder.traits, now.thrash)
        known = replace(whole, in_a_row=now.in_a_row, changed=now.changed) if now.last else whole
        return cache_lines(
            explain_miss(known, records, self._conversation.model.spec), self._conversation.model.spec.prices
        )

    def tasks(self) -> Sequence[str]:
        """Describe the background jobs."""
        return job_lines(self._jobs.all(), time.monotonic())

    def automatic_actions(self) -> Sequence[str]:
        """Return retries, compactions and the like of earlier processes, and this process's actions that nobody was
        asked about, oldest first.
        """
        before = automatic_actions(record for record in self._journal.records() if record.seq <= self._opened_at)
        return [
            *before,
            *(f"{local_minute(one.time)} {one.title} ran unasked: {one.why}" for one in self._approval.unasked),
        ]

    def status(self) -> StatusFacts:
        """Facts for the status line, the window aside."""
        builder, state = self._conversation.builder, self.budgets()
        window, health = builder.window(), builder.cache.health
        return StatusFacts(
            sandbox=self._sandbox,
            prunes=prunes_from(window),
            early=compacts_early_from(window),
            compacts=compacts_from(window),
            compacts_in_turn=compacts_in_turn_from(window),
            hit_rate=health.hit_rate if health.requests else None,
            budget=max((budget.used(spent) for budget, spent in state), default=None),
            jobs=len(self._jobs.running()),
            folder=self._folder.shown(),
        )

    def diff(self) -> str:
        """Return this session's changes to files as a unified diff."""
        from agentcli.sessions.checkpoints.undo import batches, results_in_force

        made = batches(self._journal.records_of("checkpoint"))
        return changes(results_in_force(self._journal.records_of("tool_result"), made))


def lost(journal: Journal) -> Sequence[str]:
    """Return a line about the session's unreadable records; none if all are readable."""
    named, more = journal.notes[:LOSSES_TOLD], len(journal.notes) - LOSSES_TOLD
    if not named:
        return ()
    listed = "; ".join([*named, *([f"and {more:,} more"] if more > 0 else [])])
    return (
        f"Not all of this session could be read: {listed}. It continues without; `agentcli sessions check` says more.",
    )


def assumed(model: ModelSpec) -> str:
    """Return the assumptions about an unknown model."""
    window = f"a window of {model.window:,} tokens"
    stated = f"its server states {window}" if model.window_stated else f"{window} is assumed"
    return (
        f"{model.name} is not in the model table: {stated}, and replies of up to {model.max_output:,} tokens are assumed, at an "
        f'unknown price. Set them in config: [models."{model.name}"] window, max_output, prices.'
    )


def unlimited(model: ModelSpec) -> str:
    """Return a warning that cost limits have no effect for a model of unknown price."""
    return (
        f"The price of {model.name} is not known, so limits in USD have no effect: set --max-tokens or --max-turns, or its price in "
        f'config: [models."{model.name}"] prices.'
    )


def lifetime(model: ModelSpec, today: str) -> str:
    """Return a warning about a model that is retired, or will be within `RETIRES_SOON` days of `today`.

    Return an empty text for any other model.
    """
    if not model.retires or model.retires > (date.fromisoformat(today) + timedelta(RETIRES_SOON)).isoformat():
        return ""
    last = date.fromisoformat(model.retires)
    verb = "retires" if today < model.retires else "was retired"
    day = f"{last.day} {last:%b}" + (f" {last.year}" if not today.startswith(f"{last.year}-") else "")
    other = f" Switch: /model {short_name(model.successor)}" if model.successor else ""
    return f"{_title(model)} {verb} on {day}.{other}"


def _title(model: ModelSpec) -> str:
    """Return a model's name as its vendor writes it: `Sonnet 4.5` for `claude-sonnet-4-5`."""
    words = re.sub(r"(?<=\d)-(?=\d)", ".", short_name(model.name).rpartition("/")[2]).split("-")
    return " ".join(word[:1].upper() + word[1:] for word in words)


def cost_lines(records: Iterable[Record]) -> Sequence[str]:
    """Return a session's tokens and USD per model and day, and how much of the input came from the cache."""
    from agentcli.core.costs import CostSum, cost_chart, money

    models: dict[str, CostSum] = {}
    days: dict[str, CostSum] = {}
    for record, model, usage, cost in _spent(records):
        for sums, name in ((models, model), (days, local_day(record.time))):
            sums[name] = sums.get(name, CostSum()).plus(usage, cost)
    if not models:
        return ["Nothing spent yet."]
    total = sum((one.usage for one in models.values()), Usage())
    costs = [one.cost for one in models.values() if one.cost is not None]
    return [
        f"{total.total:,} tokens, {money(sum(costs) if costs else None)}",
        "",
        "Per model",
        *(line for name, one in models.items() for line in _lines(name, one)),
        "",
        "Per day",
        *cost_chart(days),
    ]


def cache_lines(health: CacheHealth, prices: Prices | None) -> Sequence[str]:
    """Return lines about the provider's cache: hit rate, tokens and USD by kind, and the causes of rewrites."""
    from agentcli.core.costs import money

    if not health.requests:
        return ["Nothing has been asked yet, so nothing is cached."]
    tokens = {
        "fresh": health.fresh,
        "cache write": health.written,
        "cache read": health.read,
        "output": health.output,
    }
    costs = health.costs(prices) if prices is not None else {}
    return [
        f"{health.hit_rate:.1%} of all input came from the cache, in {health.requests} requests; {health.misses} missed it.",
        *(f"  {kind:11} {count:>12,} tokens  {money(costs.get(kind))}" for kind, count in tokens.items()),
        f"{health.compactions} compactions, {health.prunes} prunes, {health.recalls} outputs recalled.",
        health.warning() or "No problems.",
    ]


def job_lines(jobs: Sequence[Job], now: float) -> Sequence[str]:
    """Describe a session's background jobs, oldest first; `now` is in monotonic seconds."""
    if not jobs:
        return ["No background jobs. Ctrl-B sends a running command to the background."]
    return [_job(job, now) for job in jobs]


def automatic_actions(records: Iterable[Record]) -> Iterator[str]:
    """Return lines about a session's automatic actions: retries, waits, compactions, prunes and fallbacks, oldest
    first.
    """
    for record in records:
        match record.body:
            case Compaction(trigger=trigger, status="compressed") as body if trigger != "manual":
                yield f"{_when(record)} Compaction: {body.tokens_before:,} → {body.tokens_after:,} tokens ({trigger}, {body.policy})"
            case Compaction(trigger=trigger, status=status) if trigger != "manual":
                yield f"{_when(record)} Compaction: {status.replace('_', ' ')} ({trigger})"
            case Retry(0, delay, reason):
                yield f"{_when(record)} Waiting {delay:.0f} s: {reason}"
            case Settings(why=why) if why:
                yield f"{_when(record)} {why}"
            case Retry(attempt, delay, reason):
                yield f"{_when(record)} {Retrying(attempt, delay, reason).text()}"
            case Prune(cleared=(), reason=reason):
                yield f"{_when(record)} {reason}"
            case Prune(cleared=calls, tokens=tokens, reason=reason):
                yield f"{_when(record)} Pruned {len(calls)} old calls, {tokens:,} tokens. {reason}"
            case _:
                pass


def changes(records: Iterable[Record]) -> str:
    """Return every edit of a session as one unified diff, in order."""
    diffs = [
        str(record.body.metadata["diff"]).rstrip("\n")
        for record in records
        if isinstance(record.body, ToolResult) and not record.body.failed and record.body.metadata.get("diff")
    ]
    return "\n".join(diffs)


def _job(job: Job, now: float) -> str:
    from agentcli.core.text.terminal import console_text

    seconds = (now - job.started) if job.ended is None else job.ended.seconds
    minutes, rest = divmod(int(seconds), 60)
    took = f"{minutes} m {rest:02} s" if minutes else f"{rest} s"
    last = console_text(bytes(job.fresh)).rstrip("\n").rpartition("\n")[2]
    return f"{job.id}  {job.state}, {took}  $ {job.command}" + (f"\n       {last}" if last else "")


def _when(record: Record) -> str:
    return local_minute(record.time)


def _spent(records: Iterable[Record]) -> Iterator[tuple[Record, str, Usage, float | None]]:
    for record in records:
        match record.body:
            case Message(role="assistant", usage=Usage() as usage) as message:
                yield record, f"{message.provider}/{message.model}", usage, message.cost
            case Compaction(usage=usage, model=model, cost=cost) if usage.total:
                yield record, f"{model} (summaries)", usage, cost
            case Title(usage=usage, model=model, cost=cost) if usage.total:
                yield record, f"{model} (titles)", usage, cost
            case FeatureState(feature, usage=usage, model=model, cost=cost) if usage.total:
                yield record, f"{model} ({feature})", usage, cost
            case ToolResult() as result if spent(result)[1].total:
                model, usage, cost = spent(result)
                yield record, f"{model} ({purpose(result)})", usage, cost
            case Failure(usage=usage, where=model, cost=cost) if usage.total:
                yield record, model, usage, cost
            case _:
                pass


def _lines(model: str, spent: CostSum) -> Iterator[str]:
    from agentcli.core.costs import money

    usage = spent.usage
    cached = 100 * usage.cache_read / usage.prompt if usage.prompt else 0.0
    yield f"  {model}: {plural(spent.count, 'request')}, {money(spent.cost)}"
    yield (
        f"    new {usage.input:,} · cache write {usage.cache_write:,} · cache read {usage.cache_read:,} ({cached:.0f} %) · "
        f"out {usage.output:,} ({usage.reasoning:,} thinking)"
    )
