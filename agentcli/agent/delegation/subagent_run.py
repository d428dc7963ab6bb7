"""One run of a subagent: its kind, its session, its progress and its report."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from agentcli.agent.project.prompt_files import AgentKind
from agentcli.agent.report import changes
from agentcli.core.dataclass import dataclass
from agentcli.core.event import (
    Event,
    Noticed,
    PermissionDecided,
    Retrying,
    ToolProgress,
    ToolStarted,
    TurnEnded,
    UsageReported,
    Waiting,
    Warned,
)
from agentcli.core.journal import Journal
from agentcli.core.message import FOR_MODEL, ToolResult, Usage
from agentcli.core.model import ModelSpec
from agentcli.core.subagent_result import CALLS, FILES, spending
from agentcli.core.tasks import start_task
from agentcli.core.tool import ToolOutput
from agentcli.system.process import Ended
from agentcli.tools.jobs import Fresh, Job
from agentcli.tools.task import Delegation


@dataclass(frozen=True, slots=True)
class FormerSubagent:
    """A subagent that has ended: its session and its kind, empty if unknown.

    If a crash interrupted it, it is not `reported`.
    """

    journal: Journal
    kind: str
    reported: bool = True


MOST_CALLS = 1_000
"""Titles of calls kept with the result: the newest."""


class SubagentRun:
    """One run of a subagent. `journal` is its session, None until it begins unless it continues a `former` one.

    `show` shows an event while its call runs; a background job writes into the job's output instead.
    """

    def __init__(
        self,
        call_id: str,
        work: Delegation,
        kind: AgentKind,
        former: FormerSubagent | None,
        show: Callable[[Event], object],
    ) -> None:
        self.call_id, self.work, self.kind, self.former = call_id, work, kind, former
        self.journal = former.journal if former is not None else None
        self.job: Job | None = None
        self.first = 0
        self._show = show
        self._fresh: Fresh | None = None
        self._usage, self._cost = Usage(), 0.0
        self.calls: list[str] = []
        """Titles of its calls."""

    def began(self, journal: Journal) -> None:
        """Count from here on: earlier spending and changes of a resumed subagent were reported already."""
        history = journal.history
        counted = self.former is not None and self.former.reported
        self.journal, self.first = journal, history.last_seq + 1 if counted else 0
        if counted:
            self._usage, self._cost = history.usage, history.cost or 0.0

    @property
    def spent(self) -> tuple[Usage, float | None]:
        """Tokens and USD of this run so far."""
        if self.journal is None:
            return Usage(), None
        history = self.journal.history
        return history.usage - self._usage, None if history.cost is None else history.cost - self._cost

    def continue_as(self, job: Job, output: Fresh) -> None:
        """Report into this background job's output from now on."""
        self.job, self._fresh = job, output

    def report(self, event: Event) -> None:
        """Show the person an event of the subagent."""
        if isinstance(event, ToolStarted):
            self.calls.append(event.title)
            self._progress(f"{event.title}\n")
        for shown in _reported(event):
            self._show(shown)
        if isinstance(event, UsageReported) and self._fresh is None and self.calls:
            self._progress("")

    def _progress(self, text: str) -> None:
        if self._fresh is None:
            self._show(ToolProgress(self.call_id, text, len(self.calls), self.spent[0].total))
        else:
            self._write(text)

    async def ended(self, working: asyncio.Task[ToolOutput]) -> Ended:
        """Wait for a subagent and return its end as the end of a job, with its report as the output."""
        started = time.monotonic()
        try:
            output = await working
        except Exception as error:  # noqa: BLE001 - any failure becomes the report: nothing else awaits this task
            output = ToolOutput(str(error), status="error")
        self._write(f"{output.output}\n")
        if self.job is not None:
            self.job.metadata = output.metadata
        code = 0 if output.status == "success" else 1
        return Ended("interrupted" if output.status == "interrupted" else "exit", code, time.monotonic() - started)

    def _write(self, text: str) -> None:
        if self._fresh is not None:
            self._fresh.add(memoryview(text.encode("utf-8", "replace")), 0)


async def until_ended_or_in_background(working: asyncio.Task[ToolOutput], away: asyncio.Event) -> None:
    """Wait until a subagent ends, or `away` sends it to the background. Cancelling this interrupts it."""
    sent = start_task(away.wait())
    try:
        await asyncio.wait((working, sent), return_when=asyncio.FIRST_COMPLETED)
    except asyncio.CancelledError:
        working.cancel()
        away.clear()
    finally:
        sent.cancel()


def outcome(run: SubagentRun, journal: Journal, model: ModelSpec, ended: TurnEnded) -> ToolOutput:
    """Return the subagent's report as the call's result, with its changes and spending, and how to continue it."""
    usage, cost = run.spent
    metadata = {
        "session": journal.id,
        "agent": run.kind.name,
        "steps": ended.steps,
        CALLS: run.calls[-MOST_CALLS:],
        **_changes(journal, run.first),
        **spending(model.name, usage, cost),
    }
    again = f'\n[task(resume="{journal.id}") goes on with this subagent]'
    metadata = {**metadata, FOR_MODEL: again}
    match ended.ending:
        case "done":
            return ToolOutput((ended.text or "The subagent said nothing.") + again, metadata=metadata)
        case "interrupted":
            text = _stopped("was interrupted", ended.text) + again
            return ToolOutput(text, status="interrupted", metadata=metadata)
        case _:
            why = f"stopped: {ended.error or ended.ending}"
            return ToolOutput(_stopped(why, ended.text) + again, status="error", metadata=metadata)


def _reported(event: Event) -> Iterator[Event]:
    """Yield the subagent's events that are shown in addition to its calls: usage, denials and warnings."""
    match event:
        case UsageReported():
            yield replace(event, context=0, kind="subagent")
        case PermissionDecided(decision="deny") | Retrying() | Waiting() | Warned() | Noticed():
            yield event
        case _:
            pass


def _stopped(why: str, text: str) -> str:
    last = f" The last it said:\n{text}" if text else ""
    return f"The subagent {why}. What it did before has taken effect.{last}"


def _changes(journal: Journal, first: int) -> Mapping[str, Any]:
    """Return the files that the subagent changed from record `first` on, each with its lines, and the diffs."""
    found: dict[str, dict[str, Any]] = {}
    records = [record for record in journal.records() if record.seq >= first]
    for record in records:
        body = record.body
        if not isinstance(body, ToolResult) or body.failed or not isinstance(path := body.metadata.get("path"), str):
            continue
        if "diff" in body.metadata:
            one = found.setdefault(path, {"path": path, "additions": 0, "deletions": 0, "created": False})
            one["created"] = one["created"] or bool(body.metadata.get("created"))
            for name in ("additions", "deletions"):
                one[name] += body.metadata.get(name) or 0
    return {FILES: [*found.values()], "diff": changes(records)} if found else {}
