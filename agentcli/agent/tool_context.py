"""The tool context of a session: its services behind a narrow port, so that tools stay stateless."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path

from agentcli.agent.ports import AskUser
from agentcli.agent.streams import PrintedEvents
from agentcli.core.event import Recorded, ToolProgress
from agentcli.core.journal import Journal
from agentcli.core.model import LineNumbers
from agentcli.core.record import Body, Todo, TodoItem
from agentcli.core.servers import Servers
from agentcli.core.text.passage import Needles, OutOfTime, Passage, passages
from agentcli.core.tool import NO_SANDBOX, AnswerPage, CommandSandbox, LeavePlan, OpenSkill, Question, Spawn, ToolLimits
from agentcli.permissions.paths import Workspace
from agentcli.tools.jobs import Jobs


class SessionToolContext:
    """The tool context of one open session. `printed` gets the output of running tools; `record` appends to the session."""

    def __init__(
        self,
        workspace: Workspace,
        journal: Journal,
        record: Callable[[Body], Recorded],
        printed: PrintedEvents,
        *,
        limits: ToolLimits,
        ask: AskUser,
        jobs: Jobs,
        servers: Servers | None = None,
    ) -> None:
        self.cwd = workspace.cwd
        self.roots = workspace.resolved_roots
        self.env = workspace.command_env
        self.limits = limits
        self.line_numbers: LineNumbers = "ranges"
        self.allowed_path: Path | None = None
        self.buffers: Mapping[Path, bytes] = {}
        self.sandbox = NO_SANDBOX
        self.hidden: tuple[Path, ...] = ()
        self.jobs: object | None = jobs
        self.spawn: Spawn | None = None
        self.leave_plan: LeavePlan | None = None
        self.answer_page: AnswerPage | None = None
        self.open_skill: OpenSkill | None = None
        self.servers = servers
        self.variables: Mapping[str, str] = {}
        self.objection: Callable[[str], str] = lambda _: "it was not judged"
        self.seen: dict[Path, str] = {}
        self.printed = printed
        self._journal = journal
        self._record = record
        self._ask = ask

    def offer(self, spawn: Spawn, leave_plan: LeavePlan, answer_page: AnswerPage, open_skill: OpenSkill) -> None:
        """Add the services that are built on the core of the session: subagents, plans, questions about pages, skills."""
        self.spawn, self.leave_plan = spawn, leave_plan
        self.answer_page, self.open_skill = answer_page, open_skill

    def for_call(self, path: Path | None, sandbox: CommandSandbox = NO_SANDBOX) -> SessionToolContext:
        """Return a copy for one call, whose tool may use only the resolved path that it was allowed for."""
        ctx = copy(self)
        ctx.allowed_path, ctx.sandbox = path, sandbox
        return ctx

    def keep_output(self, call_id: str, output: str | bytes, ending: str = ".txt") -> str:
        """Save a whole output, or a file, and return the path that the model is told."""
        return self._journal.keep_output(call_id, output, ending)

    def progress(self, call_id: str, text: str) -> None:
        """Show the output of a running call."""
        self.printed.add(ToolProgress(call_id, text))

    def todo(self) -> tuple[TodoItem, ...]:
        """Return the current list."""
        return self._journal.history.todo

    def set_todo(self, items: Sequence[TodoItem]) -> None:
        """Replace, record and show the list."""
        self.printed.add(self._record(Todo(tuple(items))))

    def passages(
        self, needles: Needles = (), call_id: str = "", newest: int | None = None, until: float = math.inf
    ) -> Iterator[Passage]:
        """Yield the passages of this session's records up to number `newest` that may contain the needles, and of this call, newest first."""
        return _passages(self._journal, needles, call_id, newest, until)

    def index(self) -> Iterator[float]:
        """Complete this session's index, then the index of its predecessor, which was handed off to it."""
        journal: Journal | None = self._journal
        while journal is not None:
            yield from journal.index()
            journal = journal.predecessor.journal if journal.predecessor else None

    async def ask(self, questions: Sequence[Question]) -> Sequence[str] | None:
        """Ask the user, and return the answers in order; None if no user can answer."""
        return await self._ask(questions)


def _passages(journal: Journal, needles: Needles, call_id: str, newest: int | None, until: float) -> Iterator[Passage]:
    """Yield the passages of a session, then those of its predecessor, which was handed off to it, numbered below 1."""
    if newest is None or newest > 0:
        for entry in journal.candidates(needles, call_id, newest, until):
            found = passages(entry, journal.output)
            yield from (passage for passage in found if call_id in ("", passage.call_id))
    former = journal.predecessor
    if former is None:
        return
    last = former.until if newest is None or newest >= 0 else former.until + 1 + newest
    try:
        for passage in _passages(former.journal, needles, call_id, last, until):
            yield replace(passage, seq=former.number(passage.seq))
    except OutOfTime as left:
        raise OutOfTime(former.number(left.seq)) from None
