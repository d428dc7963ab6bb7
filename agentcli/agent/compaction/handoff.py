"""Handoff: summarise this session, like a compaction, as the start of a new session; this session stays unchanged."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

from agentcli.agent.compaction.run import summarise, unledgered, without_model
from agentcli.agent.compaction.snapshot import Brief, SummaryResult
from agentcli.agent.compaction.summariser import Interrupted, Summariser, Unusable
from agentcli.context.compaction.handoff import Handoff, everything, first_record, handoff_window
from agentcli.context.compaction.record import SummaryTask
from agentcli.core.errors import ModelError
from agentcli.core.event import CompactionEnded, CompactionStarted, Emit, Recorded
from agentcli.core.journal import Journal, Predecessor
from agentcli.core.record import Compaction
from agentcli.core.tasks import start_task


class HandoffRun:
    """Writes the handoff of a session. `brief` contains its window and, as focus, the user's words about the next task."""

    def __init__(
        self,
        journal: Journal,
        brief: Brief,
        summariser: Summariser,
        *,
        may_call: Callable[[], Awaitable[str]],
        cwd: str,
    ) -> None:
        self._journal, self._summariser, self._may_call = journal, summariser, may_call
        self._brief = replace(brief, window=handoff_window(brief.window))
        self._cwd = cwd

    async def run(self, emit: Emit) -> Handoff | None:
        """Return the beginning of the new session; None if the user interrupted it. Its cost is recorded in this session.

        The last event is a CompactionEnded.
        """
        await emit(CompactionStarted("manual", "handoff"))
        window = self._brief.window
        task = everything(self._journal.history, window, self._cwd, unledgered(self._journal))
        self._summariser.forbidden = await self._may_call()
        writing = start_task(self._summary(task))
        await self._summariser.tell_until(writing, emit)
        before = window.tokens
        try:
            result, why = writing.result()
        except Interrupted:
            await emit(
                CompactionEnded("manual", "failed_summary", "handoff", before, before, "Interrupted: no handoff.")
            )
            return None
        await emit(self._spent(why))
        until = self._journal.history.last_seq
        number = Predecessor(self._journal, until).number
        made = Handoff(first_record(task, result.summary.text, self._brief.focus, number), until)
        size = window.counter.text(made.text)
        why = f"The handoff has {size:,} tokens. {why}".strip()
        await emit(CompactionEnded("manual", "compressed", "handoff", before, size, why))
        return made

    async def _summary(self, task: SummaryTask) -> tuple[SummaryResult, str]:
        if not task.gone:
            return SummaryResult(without_model(task, self._brief)), ""
        try:
            return await summarise(task, self._brief, self._summariser), ""
        except (ModelError, Unusable) as error:
            why = f"The summariser failed ({error}); it was built from the session log."
            return SummaryResult(without_model(task, self._brief)), why

    def _spent(self, why: str) -> Recorded:
        """Record the cost of the handoff; the view stays as it is."""
        summariser = self._summariser
        model = summariser.spec.name if summariser.usage.total else ""
        note = " ".join(filter(None, ("A handoff to a new session was written.", why)))
        spent = Compaction(
            "manual", "noop", "handoff", model=model, usage=summariser.usage, cost=summariser.cost, note=note
        )
        return Recorded(self._journal.append(spent))
