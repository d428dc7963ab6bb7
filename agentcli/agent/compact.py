"""Replaces an old part of the view by a summary: decided purely, summarised once, applied as one record."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from agentcli.agent.hooks import Hooks
from agentcli.agent.standby import Standby
from agentcli.agent.summaries import shortened, summarise, truncated, without_model
from agentcli.agent.summaries.brief import Brief, Made
from agentcli.agent.summaries.secretary import Interrupted, Secretary, Unusable
from agentcli.context.compaction import Summary, Task, after, body, shrinkage, task
from agentcli.context.keep import pins_report
from agentcli.context.limits import Limits, limits_of
from agentcli.context.plan import Plan
from agentcli.context.policies import policy_named
from agentcli.context.preview import preview
from agentcli.context.settings import ContextSettings, SnapshotSettings
from agentcli.context.tokens import Counts
from agentcli.context.view import View, view
from agentcli.core.errors import ModelError
from agentcli.core.event import CompactionEnded, CompactionStarted, Event, Noticed, Recorded, Retrying, Warned
from agentcli.core.history import in_force
from agentcli.core.journal import Journal
from agentcli.core.model import Model, ModelSpec, ToolSchema
from agentcli.core.record import Compaction, CompactionStatus, Record, Retry, Settings, Trigger, Undo


async def compact(
    journal: Journal,
    summariser: Model,
    main: ModelSpec,
    settings: ContextSettings,
    counts: Counts,
    *,
    trigger: Trigger,
    focus: str = "",
    system: Sequence[str] = (),
    tools: Sequence[ToolSchema] = (),
    options: Mapping[str, Any] | None = None,
    interrupt: asyncio.Event | None = None,
    hooks: Hooks | None = None,
    calls: int | None = None,
    may_call: Callable[[], Awaitable[str]] | None = None,
    cwd: str = "",
    policy: str = "",
    standby: Standby | None = None,
) -> AsyncIterator[Event]:
    """Compact the session's view as its policy plans it. Ends with exactly one CompactionEnded, whatever happens.

    `trigger` manual and overflow force it, auto leaves it to the marks of the policy. `system`, `tools` and `options` are those of
    the session's requests. `calls` are the summary calls left for this turn, by default all that the settings allow. `may_call` says why a
    model must not be called at all, where something forbids it: asked once, before the first call. `standby` writes where the summariser fails.
    """
    name = policy or settings.policy
    yield CompactionStarted(trigger, name)
    run = _Run(journal, main, settings, counts, trigger, name, cwd)
    plan = run.plan()
    if plan.trigger is None or not plan.does_something:
        yield run.ended("noop", plan.tokens_before, " ".join(plan.reasons) or "There is nothing to compact.")
        return
    async for warning in _warnings(run, plan, hooks, interrupt):
        yield warning
    work = task(plan, policy_named(name), journal.history, counts, run.limits, settings, cwd, run.unledgered())
    if heavy := pins_report(work.pins, counts, int(run.limits.usable * settings.pins_share)):
        yield Warned(heavy)
    brief = Brief(
        settings,
        counts,
        run.limits.usable,
        main,
        focus,
        tuple(system),
        tuple(tools),
        options or {},
    )
    left = settings.max_summary_calls if calls is None else calls
    form = settings.snapshot
    secretary = Secretary(summariser, left, plan.tokens_before, interrupt, form.reply_tokens, form.margin)
    secretary.standby = standby
    secretary.forbidden = await may_call() if may_call and plan.summarised else ""
    making = asyncio.create_task(_made(work, brief, secretary))
    async for event in secretary.during(making):
        for told in run.told(event):
            yield told
    try:
        made, trouble = making.result()
    except Interrupted:
        for event in run.gave_up(secretary, "Interrupted: the session goes on unchanged."):
            yield event
        return
    if plan.optional and (trouble := trouble or made.summary.note):
        why = f"The summariser failed ({trouble}). Nothing demands a compaction yet: the session goes on unchanged."
        for event in run.gave_up(secretary, why):
            yield event
        return
    for event in run.apply(work, brief, made, secretary, trouble):
        yield event


def uncompress(journal: Journal) -> Iterator[Event]:
    """Take back the newest compaction: the view is again what it was before it, and what has been said since follows."""
    newest = journal.history.compaction
    if newest is None:
        yield Noticed("Nothing to take back: this session's view has not been compacted.")
        return
    yield Recorded(journal.append(Undo(newest.seq, "compaction")))


async def _warnings(
    run: _Run, plan: Plan, hooks: Hooks | None, interrupt: asyncio.Event | None
) -> AsyncIterator[Event]:
    if hooks is None:
        return
    kind: Literal["manual", "auto"] = "manual" if run.trigger == "manual" else "auto"
    folder = run.journal.folder
    failed = await hooks.before_compression(
        kind, run.journal.id, folder, interrupt, policy=plan.policy, tokens_before=plan.tokens_before
    )
    if failed:
        yield Warned(f"{failed.rstrip('.')}. The compaction goes on.")


async def _made(work: Task, brief: Brief, secretary: Secretary) -> tuple[Made, str]:
    """The summary by the model, or else by the ledger alone with the reason; outputs cut as the plan says. Raises Interrupted."""
    if secretary.interrupt and secretary.interrupt.is_set():
        raise Interrupted
    cut = shortened(work, brief.settings.auto.clipped * 3)
    if not work.plan.summarised:
        return Made(Summary(replaced=cut)), ""
    try:
        made, trouble = await summarise(work, brief, secretary), ""
    except (ModelError, Unusable) as error:
        trouble = str(error)
        made = Made(without_model(work, brief, f"the summariser failed: {trouble}"))
    whole = replace(made.summary, replaced={**made.summary.replaced, **cut})
    return replace(made, summary=whole), trouble


@dataclass(frozen=True, slots=True)
class _Run:
    """One attempt at a compaction: what it was asked for, and how its outcome is told."""

    journal: Journal
    main: ModelSpec
    settings: ContextSettings
    counts: Counts
    trigger: Trigger
    policy: str
    cwd: str

    @property
    def limits(self) -> Limits:
        return limits_of(self.main, self.settings)

    def plan(self) -> Plan:
        shown = view(self.journal.history)
        forced = self.trigger != "auto"
        plan = policy_named(self.policy).plan(shown, self.limits, self.counts, self.settings, forced=forced)
        return replace(plan, trigger="overflow") if self.trigger == "overflow" and plan.trigger else plan

    def unledgered(self) -> Sequence[Record]:
        """The records before the view, where the compaction that it begins with knows nothing of them (an imported session)."""
        newest = self.journal.history.compaction
        if newest is None or (isinstance(newest.body, Compaction) and newest.body.ledger):
            return ()
        first = min((entry.seq for entry in self.journal.history.entries), default=newest.seq)
        return [record for record in in_force(list(self.journal.records())) if record.seq < first]

    def told(self, event: Event) -> Iterator[Event]:
        """What happened while the summary was written; what was done unasked is recorded first."""
        match event:
            case Retrying(attempt, delay, reason):
                yield Recorded(self.journal.append(Retry(attempt, delay, reason)))
            case Noticed(why):
                yield Recorded(self.journal.append(Settings(why=why)))
            case _:
                pass
        yield event

    def apply(self, work: Task, brief: Brief, made: Made, secretary: Secretary, trouble: str) -> Iterator[Event]:
        """Record the first form of the result that is small enough; if none is, the session stays as it is."""
        record, shrunk = self._first_that_fits(work, brief, made, bool(trouble))
        spent = replace(
            record,
            usage=secretary.usage,
            cost=secretary.cost,
            model=secretary.spec.name if secretary.usage.total else "",
            note="; ".join(filter(None, (record.note, _log(made, self.settings.snapshot)))),
            carry=replace(record.carry, calibration=self.counts.calibration.to_json()),
        )
        before = work.plan.tokens_before
        if shrunk is None:
            yield from self._failed(
                spent, "failed_token_count", "The tokens could not be counted; the session goes on unchanged."
            )
            return
        if not self._worth_it(work, shrunk):
            why = f"The result would be {_share(shrunk)}; the session goes on unchanged."
            yield from self._failed(spent, "failed_inflated", why)
            return
        later = max(0, round(before * (1 - shrunk)))
        yield Recorded(self.journal.append(replace(spent, tokens_before=before, tokens_after=later)))
        yield self.ended("compressed", before, _told(work, made, record, trouble), later)

    def gave_up(self, secretary: Secretary, why: str) -> Iterator[Event]:
        """Nothing came of it: what it cost is recorded, nothing else."""
        spent = Compaction(
            self.trigger, "failed_summary", self.policy, usage=secretary.usage, cost=secretary.cost, note=why
        )
        yield from self._failed(spent, "failed_summary", why)

    def ended(self, status: CompactionStatus, before: int, why: str, later: int | None = None) -> CompactionEnded:
        return CompactionEnded(self.trigger, status, self.policy, before, before if later is None else later, why)

    def _failed(self, spent: Compaction, status: CompactionStatus, why: str) -> Iterator[Event]:
        before = self.counts.prompt(view(self.journal.history))
        failed = Compaction(
            self.trigger, status, self.policy, tokens_before=before, tokens_after=before,
            model=spent.model, usage=spent.usage, cost=spent.cost, note=why,
        )  # fmt: skip
        yield Recorded(self.journal.append(failed))
        yield self.ended(status, before, why)

    def _first_that_fits(
        self, work: Task, brief: Brief, made: Made, fallen_back: bool
    ) -> tuple[Compaction, float | None]:
        """The summary; where that does not fit the window or saves too little, the ledger's; where that does not, the least."""
        record, shrunk = self._measured(work, made.summary)
        if work.policy.form == "regions" or not work.plan.summarised or work.plan.optional:
            return record, shrunk
        others = [] if fallen_back else [without_model(work, brief, "the summary was too long")]
        for other in (*others, truncated(work, brief)):
            if shrunk is None or (self._worth_it(work, shrunk) and self._fits(record)):
                break
            record, shrunk = self._measured(work, replace(other, replaced=made.summary.replaced))
        return record, shrunk

    def _measured(self, work: Task, summary: Summary) -> tuple[Compaction, float | None]:
        record = body(work, summary, self.trigger, self.main.preserved_thinking)
        return record, shrinkage(work.view, self._later(record), self.counts)

    def _worth_it(self, work: Task, shrunk: float) -> bool:
        return shrunk >= (self.settings.min_shrink if work.policy.stricter else 0.0)

    def _fits(self, record: Compaction) -> bool:
        return self.counts.head + self.counts.view(self._later(record)) <= self.limits.usable * self.settings.fit

    def _later(self, record: Compaction) -> View:
        return after(self.journal.history, record)


def _share(shrunk: float) -> str:
    return f"only {shrunk:.0%} smaller" if shrunk > 0 else f"{-shrunk:.0%} larger" if shrunk < 0 else "no smaller"


def _log(made: Made, form: SnapshotSettings) -> str:
    """What was struck from the summary and why, for who reads the record."""
    longest = form.struck_characters
    struck = [f"struck {item.sentence[:longest]!r}: {item.why[:longest]}" for item in made.struck[: form.struck_items]]
    more = len(made.struck) - len(struck)
    return "; ".join((*struck, f"struck {more} more") if more else struck)


def _told(work: Task, made: Made, record: Compaction, trouble: str) -> str:
    """What was done, in a line for people."""
    count = len(work.gone)
    said = [f"Summarised {count} messages." if count else f"Cut {len(work.plan.clipped)} large outputs to their ends."]
    if trouble:
        said.append(f"The summariser failed ({trouble}); the snapshot was made from the session's ledger.")
    elif record.note:
        said.append(f"Note: {record.note}.")
    if made.struck:
        said.append(f"{len(made.struck)} sentences were struck that nothing in the conversation bears out.")
    return " ".join(said)


__all__ = ["compact", "preview", "uncompress"]
