"""The tool context of a session: its services behind a narrow port, so that a tool owns no state of its own."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from pathlib import Path

from agentcli.agent.ports import AskUser
from agentcli.core.errors import ToolError
from agentcli.core.event import Event, ToolProgress
from agentcli.core.journal import Journal
from agentcli.core.message import ToolResult
from agentcli.core.record import Body, Todo, TodoItem
from agentcli.core.tool import NO_SANDBOX, AnswerPage, CommandSandbox, LeavePlan, Question, Spawn, ToolLimits
from agentcli.sessions.storage.outputs import output_name
from agentcli.tools.jobs import Jobs


class SessionToolContext:
    """The tool context of one open session. `printed` fills with the output of running tools; `record` appends to the session."""

    def __init__(
        self,
        cwd: Path,
        roots: Sequence[Path],
        journal: Journal,
        record: Callable[[Body], object],
        *,
        limits: ToolLimits,
        ask: AskUser,
        jobs: Jobs,
        spawn: Spawn,
        leave_plan: LeavePlan,
        answer_page: AnswerPage,
    ) -> None:
        self.cwd = cwd
        self.roots = tuple(roots)
        self.limits = limits
        self.line_numbers = True
        self.allowed_path: Path | None = None
        self.sandbox = NO_SANDBOX
        self.jobs: object | None = jobs
        self.spawn: Spawn | None = spawn
        self.leave_plan: LeavePlan | None = leave_plan
        self.answer_page: AnswerPage | None = answer_page
        self.seen: dict[Path, str] = {}
        self.printed: asyncio.Queue[Event] = asyncio.Queue()
        self._journal = journal
        self._record = record
        self._ask = ask

    def for_call(self, path: Path | None, sandbox: CommandSandbox = NO_SANDBOX) -> SessionToolContext:
        """The same for one call, whose tool may use the resolved path that it was allowed for and no other."""
        ctx = copy(self)
        ctx.allowed_path, ctx.sandbox = path, sandbox
        return ctx

    def keep_output(self, call_id: str, text: str) -> str:
        """Save a whole output and return the path that the cut notice names."""
        return self._journal.keep_output(call_id, text)

    def progress(self, call_id: str, text: str) -> None:
        """Show what a running call prints."""
        self.printed.put_nowait(ToolProgress(call_id, text))

    def todo(self) -> tuple[TodoItem, ...]:
        """The list as it stands."""
        return self._journal.history.todo

    def set_todo(self, items: Sequence[TodoItem]) -> None:
        """Replace and record the list."""
        self._record(Todo(tuple(items)))

    def find_result(self, call_id: str) -> tuple[ToolResult, str] | None:
        """A former result of this session with its whole output, also from before a compaction; or large input that was kept."""
        found = next((found for found in self._results() if found[0].call_id == call_id), None)
        if found is None and (text := self._journal.output(output_name(call_id))):
            return ToolResult(call_id, "input", "success", text, title="large input"), text
        return found

    def search_results(self, pattern: str) -> Sequence[tuple[ToolResult, str]]:
        """Former results, newest first, whose whole output has a line that matches the regular expression."""
        try:
            wanted = re.compile(pattern, re.MULTILINE)
        except re.error as error:
            raise ToolError(f"{pattern!r} is not a regular expression: {error}.") from error
        return [(result, text) for result, text in self._results() if wanted.search(text)]

    async def ask(self, questions: Sequence[Question]) -> Sequence[str] | None:
        """The user's answers in order, or None when nobody is there to answer."""
        return await self._ask(questions)

    def _results(self) -> Iterator[tuple[ToolResult, str]]:
        for record in self._journal.records(newest_first=True):
            if isinstance(record.body, ToolResult):
                result = record.body
                whole = self._journal.output(result.output_file) if result.output_file else ""
                yield result, whole or result.output
