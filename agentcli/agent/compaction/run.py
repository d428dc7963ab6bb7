"""One compaction: decided purely, summarised once, applied as one record, or abandoned with the session unchanged."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path

from agentcli.agent.compaction.prose import prose, regions, replaced
from agentcli.agent.compaction.provider_summary import by_provider, can_compact
from agentcli.agent.compaction.snapshot import Brief, SummaryResult, finished, snapshot
from agentcli.agent.compaction.summariser import NO_SUMMARY, Interrupted, Summariser, Unusable
from agentcli.agent.hooks import NOTHING, Hooks, Outcome
from agentcli.context.compaction.carryover import pins_report
from agentcli.context.compaction.record import Summary, SummaryTask, clipped_parts, prepare, shrinkage, to_record
from agentcli.context.compaction_settings import SnapshotSettings
from agentcli.context.policies import plan
from agentcli.context.policies.plans import Plan
from agentcli.context.room import forced
from agentcli.context.snapshot.form import TRUNCATED, Snapshot, render
from agentcli.context.snapshot.reconcile import from_ledger
from agentcli.context.snapshot.verify import Evidence
from agentcli.context.view import after, view
from agentcli.core.errors import ModelError
from agentcli.core.event import (
    CompactionEnded,
    CompactionStarted,
    Emit,
    Event,
    Noticed,
    Recorded,
    Retrying,
    Waiting,
    Warned,
    emit_all,
)
from agentcli.core.history import in_force
from agentcli.core.journal import Journal
from agentcli.core.model import Model
from agentcli.core.record import Compaction, CompactionStatus, Record, Retry, Settings, Trigger
from agentcli.core.tasks import start_task
from agentcli.core.text.passage import LEFT, NOTES, STRUCK
from agentcli.core.text.secrets import redact
from agentcli.core.text.words import plural
from agentcli.system.regular_file import Unusable as Unreadable
from agentcli.system.regular_file import read_text


class CompactionRun:
    """One compaction of a session's view (in `brief`) by the policy in force.

    `trigger` manual and overflow force it; auto leaves it to the policy's threshold.

    `may_call` gives the reason why no model may be called, or an empty text. It is called once, before the first call.

    `cwd` is the session's folder. `planned` is the policy's plan if one exists already. `main` is the session's model,
    for a policy whose summaries the provider writes.
    """

    def __init__(
        self,
        journal: Journal,
        brief: Brief,
        summariser: Summariser,
        *,
        trigger: Trigger,
        hooks: Hooks | None = None,
        may_call: Callable[[], Awaitable[str]] | None = None,
        cwd: str = "",
        planned: Plan | None = None,
        main: Model | None = None,
    ) -> None:
        self._journal, self._brief, self._summariser, self._planned = journal, brief, summariser, planned
        self._main = main
        self.refused = ""
        """The reason, found now, why the provider will not compact in this session; empty if there is none."""
        self._trigger, self._hooks, self._may_call, self._cwd = trigger, hooks, may_call, cwd
        self._given = ""
        """The whole summary, if an extension has written one."""

    async def run(self, emit: Emit) -> CompactionEnded:
        """Run the compaction, and return its end, which the caller emits.

        It has an end even if the model fails or the user interrupts.
        """
        window = self._brief.window
        await emit(CompactionStarted(self._trigger, self._policy))
        plan = self._plan()
        if plan.trigger is None or not plan.does_something:
            return self._ended("noop", plan.tokens_before, " ".join(plan.reasons) or "There is nothing to compact.")
        held = await self._by_hooks(plan)
        if held.verdict.text is not None:
            self._brief = replace(self._brief, focus=held.verdict.text)
        self._given = held.verdict.summary
        await emit_all(held.events, emit)
        if held.verdict.blocks:
            why = f"{held.who} wants no compaction: {held.verdict.reason}"
            if not self._demanded:
                return self._ended("noop", plan.tokens_before, why)
            await emit(Warned(f"{why.rstrip('.')}. The compaction runs anyway: the session does not fit the window."))
        task = prepare(plan, self._journal.history, window, self._cwd, unledgered(self._journal))
        task = replace(task, texts=await asyncio.to_thread(_present, task.changed))
        if heavy := pins_report(task.pins, window.counter, int(window.usable * window.settings.pins_share)):
            await emit(Warned(heavy))
        self._summariser.forbidden = await self._may_call() if self._may_call and plan.summarised else ""
        writing = start_task(self._summary(task))

        async def recorded(event: Event) -> None:
            await emit_all(self._recorded_first(event), emit)

        await self._summariser.tell_until(writing, recorded)
        return await self._outcome(task, writing, emit)

    @property
    def _policy(self) -> str:
        """The name of the policy."""
        return self._brief.window.settings.policy

    def _plan(self) -> Plan:
        """Return the policy's plan; without a trigger if there is nothing to do."""
        if self._planned is not None:
            return self._planned
        window = self._brief.window
        if self._trigger == "overflow":
            result = forced(window)
            return replace(result, trigger="overflow") if result.trigger else result
        return plan(window, forced=self._trigger == "manual")

    @property
    def _demanded(self) -> bool:
        """Return True if the session cannot continue without it, whatever a hook decides."""
        window = self._brief.window
        return self._trigger == "overflow" or (self._trigger == "auto" and window.tokens >= window.limits.hard)

    async def _by_hooks(self, plan: Plan) -> Outcome:
        if self._hooks is None:
            return NOTHING
        facts = {"policy": plan.policy, "tokens_before": plan.tokens_before, "summarised": plan.summarised}
        return await self._hooks.pre_compact(self._trigger, self._brief.focus, self._summariser.interrupt, **facts)

    async def _summary(self, task: SummaryTask) -> tuple[SummaryResult, str]:
        """Summarise with the model, or from the ledger alone with the reason; outputs are cut as planned.

        Raises Interrupted.
        """
        interrupt = self._summariser.interrupt
        if interrupt and interrupt.is_set():
            raise Interrupted
        cut = clipped_parts(task)
        if not task.plan.summarised:
            return SummaryResult(Summary(replaced=cut)), ""
        try:
            result, trouble = await self._summarised(task), ""
        except (ModelError, Unusable) as error:
            trouble = str(error)
            result = SummaryResult(without_model(task, self._brief, f"the summariser failed: {trouble}"))
        whole = replace(result.summary, replaced={**result.summary.replaced, **cut})
        return replace(result, summary=whole), trouble

    async def _summarised(self, task: SummaryTask) -> SummaryResult:
        """Return the given summary, or let one be written."""
        if not self._given:
            return await self._written(task)
        from agentcli.agent.compaction.given import given

        try:
            return given(self._given, task, self._brief)
        except Unusable as error:
            return _noted(await self._written(task), f"the extension's summary was not used: {error}")

    async def _written(self, task: SummaryTask) -> SummaryResult:
        """Summarise with the provider if the policy requires it and it can, else with the summariser."""
        if not task.policy.by_provider or self._main is None or not can_compact(task, self._brief):
            return await summarise(task, self._brief, self._summariser)
        usual = self._summariser.model
        try:
            return await by_provider(task, self._brief, self._summariser, self._main)
        except (ModelError, Unusable) as error:
            self._summariser.model = usual
            lasting = str(error) == NO_SUMMARY or getattr(error, "cause", "") in ("bad_request", "not_found")
            self.refused = str(error) if lasting else ""
            result = await summarise(task, self._brief, self._summariser)
            return _noted(result, f"the provider did not summarise ({error})")

    def _recorded_first(self, event: Event) -> Iterator[Event]:
        """Yield an event of the summarising; record a retry or fallback before showing it."""
        match event:
            case Retrying(attempt, delay, reason):
                yield Recorded(self._journal.append(Retry(attempt, delay, reason)))
            case Waiting(delay, reason):
                yield Recorded(self._journal.append(Retry(0, delay, reason)))
            case Noticed(why):
                yield Recorded(self._journal.append(Settings(why=why)))
            case _:
                pass
        yield event

    async def _outcome(
        self, task: SummaryTask, written: asyncio.Task[tuple[SummaryResult, str]], emit: Emit
    ) -> CompactionEnded:
        """Apply the summary, or give up with the session unchanged."""
        try:
            result, trouble = written.result()
        except Interrupted:
            return await self._gave_up("Interrupted: the session continues unchanged.", emit)
        if task.plan.optional and (trouble := trouble or result.summary.note):
            why = f"The model's summary was unusable ({trouble}). No compaction is needed yet, so the session continues unchanged."
            return await self._gave_up(why, emit)
        return await self._apply(task, result, trouble, emit)

    def _ended(self, status: CompactionStatus, before: int, why: str, later: int | None = None) -> CompactionEnded:
        """Report the end of the attempt; `before` and `later` are the view's tokens, equal if nothing changed."""
        return CompactionEnded(self._trigger, status, self._policy, before, before if later is None else later, why)

    async def _apply(self, task: SummaryTask, result: SummaryResult, trouble: str, emit: Emit) -> CompactionEnded:
        """Record the first form of the result that is small enough; if none is, the session stays unchanged."""
        record, shrunk = self._first_that_fits(task, result, bool(trouble))
        spent = self._charged(record, result)
        if shrunk is None:
            why = "The tokens could not be counted; the session continues unchanged."
            return await self._failed(spent, "failed_token_count", why, emit)
        if not self._worth_it(task, shrunk):
            why = f"The result would be {_share(shrunk)}; the session continues unchanged. {_OFFER}"
            return await self._failed(spent, "failed_inflated", why, emit)
        before = task.plan.tokens_before
        later = max(0, round(before * (1 - shrunk)))
        await emit(Recorded(self._journal.append(replace(spent, tokens_before=before, tokens_after=later))))
        offer = f" {_OFFER}" if self._wants_handoff(shrunk) else ""
        return self._ended("compressed", before, _report(task, result, record, trouble) + offer, later)

    def _wants_handoff(self, shrunk: float) -> bool:
        """Return True if a new session is probably better than another summary.

        That is so if this summary saved little, or if it is one of many.
        """
        most = self._brief.window.settings.handoff.offered_after
        bodies = (record.body for record in self._journal.records_of("compaction"))
        done = (body for body in bodies if isinstance(body, Compaction) and body.status == "compressed")
        # Read no more than needed: each record contains a ledger, and a long session has hundreds.
        return bool(most) and (shrunk < _LITTLE or sum(1 for _ in islice(done, most + 1)) == most)

    def _charged(self, record: Compaction, result: SummaryResult) -> Compaction:
        """Add the cost, the struck sentences and the calibration of token counts to the record."""
        return replace(
            record,
            usage=self._summariser.usage,
            cost=self._summariser.cost,
            model=self._summariser.spec.name if self._summariser.usage.total else "",
            note=NOTES.join(filter(None, (record.note, _log(result, self._brief.form)))),
            carry=replace(self._journal.history.carry, calibration=self._brief.window.counter.calibration.to_json()),
        )

    async def _gave_up(self, why: str, emit: Emit) -> CompactionEnded:
        """Record the cost of a failed compaction and nothing else."""
        spent = Compaction(
            self._trigger,
            "failed_summary",
            self._policy,
            usage=self._summariser.usage,
            cost=self._summariser.cost,
            note=why,
        )
        return await self._failed(spent, "failed_summary", why, emit)

    async def _failed(self, spent: Compaction, status: CompactionStatus, why: str, emit: Emit) -> CompactionEnded:
        before = self._brief.window.counter.prompt(view(self._journal.history))
        failed = Compaction(
            self._trigger, status, self._policy, tokens_before=before, tokens_after=before,
            model=spent.model, usage=spent.usage, cost=spent.cost, note=why,
        )  # fmt: skip
        await emit(Recorded(self._journal.append(failed)))
        return self._ended(status, before, why)

    def _first_that_fits(
        self, task: SummaryTask, result: SummaryResult, fallen_back: bool
    ) -> tuple[Compaction, float | None]:
        """Return the first record that fits the window and saves enough, and the share that it saves.

        Try the summary first, then the ledger's snapshot, then the shortest summary. If none fits, return the last.
        """
        record, shrunk, fits = self._measured(task, result.summary)
        if task.policy.form == "regions" or not task.plan.summarised or task.plan.optional:
            return record, shrunk
        shorter = [] if fallen_back else [partial(without_model, task, self._brief, "the summary was too long")]
        for other in (*shorter, partial(truncated, task, self._brief)):
            if shrunk is None or (self._worth_it(task, shrunk) and fits):
                break
            record, shrunk, fits = self._measured(task, replace(other(), replaced=result.summary.replaced))
        return record, shrunk

    def _measured(self, task: SummaryTask, summary: Summary) -> tuple[Compaction, float | None, bool]:
        """Return the record of a summary, the share of the prompt that it saves, and whether the rest fits."""
        record, window = to_record(task, summary, self._trigger), self._brief.window
        later = window.estimate(after(self._journal.history, record))
        return record, shrinkage(window, later), later <= window.usable * window.settings.fit

    def _worth_it(self, task: SummaryTask, shrunk: float) -> bool:
        return shrunk >= (self._brief.window.settings.min_shrink if task.policy.stricter else 0.0)


def _noted(result: SummaryResult, note: str) -> SummaryResult:
    """Return a result with a note before its own."""
    whole = "; ".join(filter(None, (note, result.summary.note)))
    return replace(result, summary=replace(result.summary, note=whole))


def _present(paths: Iterable[str]) -> dict[str, str]:
    """Return the current texts of files; the text of a missing or unreadable file is empty."""
    texts = dict.fromkeys(paths, "")
    for path in texts:
        with contextlib.suppress(Unreadable):
            texts[path] = read_text(Path(path), _LARGEST_FILE)
    return texts


_LARGEST_FILE = 1_000_000
"""Maximum bytes of a file whose edits are shown."""


def unledgered(journal: Journal) -> Sequence[Record]:
    """Return the records before the view if the compaction at its beginning has no ledger of them.

    That is so in an imported session.
    """
    newest = journal.history.compaction
    if newest is None or (isinstance(newest.body, Compaction) and newest.body.ledger):
        return ()
    first = min((entry.seq for entry in journal.history.entries), default=newest.seq)
    return [record for record in in_force(list(journal.records())) if record.seq < first]


async def summarise(task: SummaryTask, brief: Brief, summariser: Summariser) -> SummaryResult:
    """Summarise in the form of the policy. Raises ModelError, Unusable and Interrupted."""
    match task.policy.form:
        case "snapshot":
            return await snapshot(task, brief, summariser)
        case "prose":
            return await prose(task, brief, summariser)
        case "regions":
            return await regions(task, brief, summariser)


def without_model(task: SummaryTask, brief: Brief, why: str = "") -> Summary:
    """Make the summary from the ledger alone, marked as such."""
    if task.policy.form == "regions":
        return Summary(replaced=replaced(task, {}, Evidence(()), brief, []), note=TRUNCATED)
    result = replace(from_ledger(task.ledger, task.former_snapshot, task.goal, task.form), covers=task.covers)
    return Summary(finished(task.priced(result), brief, task), note="; ".join(filter(None, (result.note, why))))


def truncated(task: SummaryTask, brief: Brief) -> Summary:
    """Make the shortest summary: goal, rules, and a note that the rest is gone.

    It is used if even the ledger's snapshot does not fit.
    """
    bare = Snapshot(redact(task.goal), brief.rules(task.ledger.rules), note="", actions=(TRUNCATED,))
    return Summary(render(bare), note=TRUNCATED)


_LITTLE = 0.1
_OFFER = "/handoff continues in a new session that starts with a summary of this one."


def _share(shrunk: float) -> str:
    return f"only {shrunk:.0%} smaller" if shrunk > 0 else f"{-shrunk:.0%} larger" if shrunk < 0 else "no smaller"


def _log(result: SummaryResult, form: SnapshotSettings) -> str:
    """Return the log for the record's note, which `recall` searches.

    It lists the sentences struck from the summary with their reasons, then the omitted sentences.
    """
    longest = form.struck_characters
    struck = [
        f"{STRUCK}{item.sentence[:longest]!r}: {item.why[:longest]}" for item in result.struck[: form.struck_items]
    ]
    more = len(result.struck) - len(struck)
    left = [f"{LEFT}{item[:longest]!r}" for item in result.left_out[: form.struck_items]]
    return NOTES.join((*struck, *((f"{STRUCK}{more} more",) if more else ()), *left))


def _report(task: SummaryTask, result: SummaryResult, record: Compaction, trouble: str) -> str:
    """Describe the result of the compaction for people."""
    count, cut = len(task.gone), len(task.plan.clipped)
    lines = [
        f"Summarised {plural(count, 'message')}." if count else f"Cut {plural(cut, 'large part')} to the two ends."
    ]
    if trouble:
        lines.append(f"Summary built from the session log (the model's was unusable: {trouble}).")
    elif record.note:
        lines.append(f"Note: {record.note}.")
    if result.struck:
        lines.append(f"Removed {plural(len(result.struck), 'sentence')} that no record shows; `recall` finds them.")
    return " ".join(lines)
