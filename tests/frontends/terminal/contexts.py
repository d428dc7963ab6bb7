"""Command context without a terminal: records the output, questions and effects of slash commands."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from agentcli.agent.ports import Interruptible
from agentcli.core.event import Event
from agentcli.frontends.commands.base import CommandContext, Queued
from agentcli.frontends.terminal.dialogs.dialogs import UNFILTERED, Filter
from agentcli.frontends.terminal.input.keys import KEYS, help_lines
from agentcli.frontends.terminal.render.state import State, update
from agentcli.frontends.terminal.sharing import Sharing
from agentcli.frontends.terminal.style import PLAIN, Look
from agentcli.program.commands import Choice
from tests.frontends.terminal.preview import ScriptedSession, scripted_program


async def nobody(_: object) -> Any:
    """Approval and question port of a session that asks nothing."""


class ScriptedContext(CommandContext):
    """Command context with scripted picks. `answers`: indices to pick, in order; then pickers are cancelled.

    `session` is a scripted one by default.
    """

    columns = 80

    def __init__(self, *answers: int, session: Any = None) -> None:
        self.session: Any = session or ScriptedSession("one", nobody, nobody)
        self.state, self.look, self.sharing = State(), Look(PLAIN), Sharing()
        self.output: list[str] = []
        self.asked: list[str] = []
        self.drafted = self.copied = self.started_on = ""
        self.answers = list(answers)
        self.entered: str | None = None
        self.queued: list[Queued] = []
        self.listed: list[Choice] = []
        self.by = UNFILTERED

    @cached_property
    def program(self) -> Any:
        """A real program with scripted sessions, in a folder of its own."""
        folder = TemporaryDirectory(ignore_cleanup_errors=True)
        weakref.finalize(self, folder.cleanup)
        return scripted_program(folder.name, nobody, nobody)

    @property
    def waiting(self) -> Sequence[Queued]:
        return self.queued

    def requeue(self, waiting: Sequence[Queued]) -> None:
        self.queued = list(waiting)

    def say(self, *lines: str) -> None:
        self.output += lines

    def warn(self, text: str) -> None:
        self.output.append(text)

    def show_events(self, events: Sequence[Event]) -> None:
        for event in events:
            self.state = update(self.state, event, 0.0)

    async def play(self, doing: str, work: Interruptible) -> None:
        async def show(event: Event) -> None:
            self.show_events([event])

        await work(asyncio.Event(), show)

    async def pick(self, title: str, choices: Sequence[Choice], start: int = 0) -> int | None:
        self.asked += [title, *(choice.label for choice in choices)]
        self.started_on = choices[start].label if choices else ""
        return self.answers.pop(0) if self.answers else None

    async def choose(
        self, title: str, choices: Sequence[Choice], start: int, acts: Mapping[str, str], by: Filter = UNFILTERED
    ) -> tuple[int, str] | None:
        self.asked += [title, *(choice.label for choice in choices)]
        self.listed, self.by, self.started_on = [*choices], by, choices[start].label if choices else ""
        answer = self.answers.pop(0) if self.answers else None
        while by.turns is not None and isinstance(answer, tuple) and answer[1]:
            self.asked.append(by.turns(answer[1]))
            answer = self.answers.pop(0)
        return answer if answer is None or isinstance(answer, tuple) else (answer, "")

    async def confirm(self, title: str, body: Sequence[str] = ()) -> bool:
        self.asked.append(title)
        return bool(self.answers and self.answers.pop(0))

    async def enter(self, title: str, text: str = "", hint: str = "") -> str | None:
        self.asked += [title, text, hint]
        return self.entered

    def list_keys(self) -> None:
        self.output += (f"{key}  {does}" for key, does in help_lines(KEYS))

    async def compose(self, text: str, ending: str = ".md") -> str:
        return text + " as edited"

    async def open_file(self, file: Path, line: int) -> None:
        self.output.append(f"opened {file.name}:{line}")

    async def move_to(self, session: Any) -> None:
        self.opened(session)

    def opened(self, session: Any, *, again: bool = False) -> None:
        self.session = session
        self.output.append(f"moved to {session.journal.id}")

    def draft(self, text: str) -> None:
        self.drafted = text

    def send(self, text: str, *along: Any) -> None:
        self.output.append(f"to the model: {text}")

    def copy(self, text: str) -> None:
        self.copied = text

    def toggle_vi(self) -> bool:
        return True

    def leave(self, code: int = 0) -> None:
        self.output.append("left")
