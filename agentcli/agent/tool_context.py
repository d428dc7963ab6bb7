"""The tool context of a session: its services behind a narrow port, so that a tool owns no state of its own."""

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
    """The tool context of one open session. `printed` fills with the output of running tools; `record` appends to the session."""

    def __init__(
        self,
        workspace: Workspace,
        journal: Journal,
        record: Callable[[Body], Recorded],
        *,
        limits: ToolLimits,
        ask: AskUser,
        jobs: Jobs,
        spawn: Spawn,
        leave_plan: LeavePlan,
        answer_page: AnswerPage,
        open_skill: OpenSkill,
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
        self.jobs: object | None = jobs
        self.spawn: Spawn | None = spawn
        self.leave_plan: LeavePlan | None = leave_plan
        self.answer_page: AnswerPage | None = answer_page
        self.open_skill: OpenSkill | None = open_skill
        self.servers = servers
        self.variables: Mapping[str, str] = {}
        self.seen: dict[Path, str] = {}
        self.printed = PrintedEvents()
        self._journal = journal
        self._record = record
        self._ask = ask

    def for_call(self, path: Path | None, sandbox: CommandSandbox = NO_SANDBOX) -> SessionToolContext:
        """The same for one call, whose tool may use the resolved path that it was allowed for and no other."""
        ctx = copy(self)
        ctx.allowed_path, ctx.sandbox = path, sandbox
        return ctx

    def keep_output(self, call_id: str, output: str | bytes, ending: str = ".txt") -> str:
        """Save a whole output, or a file, and return the path that the model is told."""
        return self._journal.keep_output(call_id, output, ending)

    def progress(self, call_id: str, text: str) -> None:
        """Show what a running call prints."""
        self.printed.add(ToolProgress(call_id, text))

    def todo(self) -> tuple[TodoItem, ...]:
        """The list as it stands."""
        return self._journal.history.todo

    def set_todo(self, items: Sequence[TodoItem]) -> None:
        """Replace, record and show the list."""
        self.printed.add(self._record(Todo(tuple(items))))

    def passages(
        self, needles: Needles = (), call_id: str = "", newest: int | None = None, until: float = math.inf
    ) -> Iterator[Passage]:
        """The passages of this session's records up to number `newest` that may hold the needles, and of this call, newest first."""
        return _passages(self._journal, needles, call_id, newest, until)

    def index(self) -> Iterator[float]:
        """Make what is missing of this session's index, then of that of the session that was handed off to it."""
        journal: Journal | None = self._journal
        while journal is not None:
            yield from journal.index()
            journal = journal.predecessor.journal if journal.predecessor else None

    async def ask(self, questions: Sequence[Question]) -> Sequence[str] | None:
        """The user's answers in order, or None when nobody is there to answer."""
        return await self._ask(questions)


def _passages(journal: Journal, needles: Needles, call_id: str, newest: int | None, until: float) -> Iterator[Passage]:
    """The passages of a session, then those of the one that was handed off to it, numbered below 1."""
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
