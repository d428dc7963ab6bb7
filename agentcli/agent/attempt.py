"""One attempt at a compaction: what it is to do, what came of it, and how that is recorded and told."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from agentcli.agent.summaries import truncated, without_model
from agentcli.agent.summaries.brief import Brief, Made
from agentcli.agent.summaries.secretary import Interrupted, Secretary
from agentcli.context.compaction import Summary, Task, body, shrinkage, task
from agentcli.context.plan import Plan
from agentcli.context.policies import plan
from agentcli.context.settings import SnapshotSettings
from agentcli.context.view import View, after, view
from agentcli.core.event import CompactionEnded, Event, Noticed, Recorded, Retrying
from agentcli.core.history import in_force
from agentcli.core.journal import Journal
from agentcli.core.record import Compaction, CompactionStatus, Record, Retry, Settings, Trigger


@dataclass(frozen=True, slots=True)
class Attempt:
    """A compaction of one session, for one reason, by the policy in force; `cwd` is the session's folder."""

    journal: Journal
    brief: Brief
    trigger: Trigger
    cwd: str

    @property
    def policy(self) -> str:
        """The name of the policy."""
        return self.brief.window.settings.policy

    def plan(self) -> Plan:
        """What the policy would do now. It has no trigger where nothing is to be done."""
        made = plan(self.brief.window, forced=self.trigger != "auto")
        return replace(made, trigger="overflow") if self.trigger == "overflow" and made.trigger else made

    def task(self, plan: Plan) -> Task:
        """The plan with all that a summary is made of."""
        return task(plan, self.journal.history, self.brief.window, self.cwd, self._unledgered())

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

    def outcome(self, work: Task, written: asyncio.Task[tuple[Made, str]], secretary: Secretary) -> Iterator[Event]:
        """What comes of the summary now that it is written, or was given up."""
        try:
            made, trouble = written.result()
        except Interrupted:
            yield from self._gave_up(secretary, "Interrupted: the session goes on unchanged.")
            return
        if work.plan.optional and (trouble := trouble or made.summary.note):
            why = f"The summariser failed ({trouble}). Nothing demands a compaction yet: the session goes on unchanged."
            yield from self._gave_up(secretary, why)
            return
        yield from self._apply(work, made, secretary, trouble)

    def ended(self, status: CompactionStatus, before: int, why: str, later: int | None = None) -> CompactionEnded:
        """The attempt is over; `before` and `later` are the tokens of the view, the same where nothing was changed."""
        return CompactionEnded(self.trigger, status, self.policy, before, before if later is None else later, why)

    def _unledgered(self) -> Sequence[Record]:
        """The records before the view, where the compaction that it begins with knows nothing of them (an imported session)."""
        newest = self.journal.history.compaction
        if newest is None or (isinstance(newest.body, Compaction) and newest.body.ledger):
            return ()
        first = min((entry.seq for entry in self.journal.history.entries), default=newest.seq)
        return [record for record in in_force(list(self.journal.records())) if record.seq < first]

    def _apply(self, work: Task, made: Made, secretary: Secretary, trouble: str) -> Iterator[Event]:
        """Record the first form of the result that is small enough; if none is, the session stays as it is."""
        record, shrunk = self._first_that_fits(work, made, bool(trouble))
        spent = self._charged(record, made, secretary)
        if shrunk is None:
            why = "The tokens could not be counted; the session goes on unchanged."
            yield from self._failed(spent, "failed_token_count", why)
            return
        if not self._worth_it(work, shrunk):
            why = f"The result would be {_share(shrunk)}; the session goes on unchanged."
            yield from self._failed(spent, "failed_inflated", why)
            return
        before = work.plan.tokens_before
        later = max(0, round(before * (1 - shrunk)))
        yield Recorded(self.journal.append(replace(spent, tokens_before=before, tokens_after=later)))
        yield self.ended("compressed", before, _told(work, made, record, trouble), later)

    def _charged(self, record: Compaction, made: Made, secretary: Secretary) -> Compaction:
        """The record with what it cost, what was struck, and how tokens were counted."""
        return replace(
            record,
            usage=secretary.usage,
            cost=secretary.cost,
            model=secretary.spec.name if secretary.usage.total else "",
            note="; ".join(filter(None, (record.note, _log(made, self.brief.form)))),
            carry=replace(record.carry, calibration=self.brief.window.counter.calibration.to_json()),
        )

    def _gave_up(self, secretary: Secretary, why: str) -> Iterator[Event]:
        """Nothing came of it: what it cost is recorded, nothing else."""
        spent = Compaction(
            self.trigger, "failed_summary", self.policy, usage=secretary.usage, cost=secretary.cost, note=why
        )
        yield from self._failed(spent, "failed_summary", why)

    def _failed(self, spent: Compaction, status: CompactionStatus, why: str) -> Iterator[Event]:
        before = self.brief.window.counter.prompt(view(self.journal.history))
        failed = Compaction(
            self.trigger, status, self.policy, tokens_before=before, tokens_after=before,
            model=spent.model, usage=spent.usage, cost=spent.cost, note=why,
        )  # fmt: skip
        yield Recorded(self.journal.append(failed))
        yield self.ended(status, before, why)

    def _first_that_fits(self, work: Task, made: Made, fallen_back: bool) -> tuple[Compaction, float | None]:
        """The summary; where that does not fit the window or saves too little, the ledger's; where that does not, the least."""
        record, shrunk = self._measured(work, made.summary)
        if work.policy.form == "regions" or not work.plan.summarised or work.plan.optional:
            return record, shrunk
        others = [] if fallen_back else [without_model(work, self.brief, "the summary was too long")]
        for other in (*others, truncated(work, self.brief)):
            if shrunk is None or (self._worth_it(work, shrunk) and self._fits(record)):
                break
            record, shrunk = self._measured(work, replace(other, replaced=made.summary.replaced))
        return record, shrunk

    def _measured(self, work: Task, summary: Summary) -> tuple[Compaction, float | None]:
        record = body(work, summary, self.trigger)
        return record, shrinkage(work.window, self._later(record))

    def _worth_it(self, work: Task, shrunk: float) -> bool:
        return shrunk >= (self.brief.window.settings.min_shrink if work.policy.stricter else 0.0)

    def _fits(self, record: Compaction) -> bool:
        window = self.brief.window
        return window.counter.head + window.counter.view(self._later(record)) <= window.usable * window.settings.fit

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
