"""`agentcli agents`: all sessions of this machine on one screen, live, with keys that answer, open, merge and resume."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence

from prompt_toolkit.input.vt100 import raw_mode
from prompt_toolkit.key_binding import KeyPress
from prompt_toolkit.keys import Keys

from agentcli.core.dataclass import replace
from agentcli.core.errors import AgentError
from agentcli.core.tasks import start_task
from agentcli.frontends.agents.doing import Doing
from agentcli.frontends.agents.drawing import draw, question_lines
from agentcli.frontends.agents.view import Act, View, press
from agentcli.frontends.serve.listing import Listing
from agentcli.frontends.terminal.early import BRACKETED_PASTE, ENTER_ALTERNATE, LEAVE_ALTERNATE, PLAIN_PASTE
from agentcli.frontends.terminal.input.keyboard import ASK_BACKGROUND, Keyboard
from agentcli.frontends.terminal.paint import to_terminal
from agentcli.frontends.terminal.render import diff
from agentcli.frontends.terminal.render.frame import Size, terminal_size
from agentcli.frontends.terminal.settings import UiSettings
from agentcli.frontends.terminal.style import PLAIN, choose_theme, theme_for_background
from agentcli.frontends.terminal.views import pager
from agentcli.program.project import Project

EVERY = 0.5
"""Seconds between two looks at the sessions, and at least the time that a look takes."""
READING = 0.4
"""Seconds after which a question that came can be answered: an earlier key was meant for something else."""
FLUSH = 0.05
"""Seconds after which a lone Esc is the key."""
_ENTER, _LEAVE = f"{ENTER_ALTERNATE}\x1b[?25l{BRACKETED_PASTE}", f"{PLAIN_PASTE}\x1b[?25h{LEAVE_ALTERNATE}"
_BEGIN, _END = "\x1b[?2026h\x1b[?7l", "\x1b[?7h\x1b[?2026l"
_NAMES: Mapping[Keys | str, str] = {Keys.ControlM: "enter", Keys.ControlJ: "enter", Keys.ControlH: "backspace"}


def _name(key: Keys | str) -> str:
    """Return the name of a key, or its character."""
    return _NAMES.get(key) or (key.value if isinstance(key, Keys) else key)


class Agents:
    """The screen."""

    def __init__(self, project: Project, listing: Listing) -> None:
        self._listing, self._doing = listing, Doing(project, listing)
        self._view = View()
        self._pager: pager.Pager | None = None
        self._title = ""
        self._asked: dict[str, float] = {}
        """When each question was first shown."""
        self._write = to_terminal(sys.stdout.fileno())
        self._keyboard = Keyboard(sys.stdin)
        self._left = asyncio.Event()
        self._look = asyncio.Event()
        self._away = False
        self._code = 0
        self._theme = choose_theme(project.config[UiSettings].theme, os.environ)
        self._automatic = project.config[UiSettings].theme == "auto" and self._theme is not PLAIN
        self._acting: asyncio.Task[None] | None = None

    async def run(self) -> int:
        """Show the sessions until the person leaves; return the exit code."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self._end, 128 + number)
        loop.add_signal_handler(signal.SIGINT, lambda: None)
        loop.add_signal_handler(signal.SIGWINCH, self._paint)
        with self._terminal():
            looking = start_task(self._look_on())
            await asyncio.wait({looking, start_task(self._left.wait())}, return_when=asyncio.FIRST_COMPLETED)
            looking.cancel()
            if self._acting is not None:
                await asyncio.wait({self._acting})
            with contextlib.suppress(asyncio.CancelledError):
                await looking
        return self._code

    def _end(self, code: int) -> None:
        self._code = code
        self._left.set()

    @contextlib.contextmanager
    def _terminal(self) -> Iterator[None]:
        """Have the whole terminal: its other screen, and every key."""
        with raw_mode(self._keyboard.fileno()), self._keyboard.attach(self._read):
            self._write(_ENTER + (ASK_BACKGROUND if self._automatic else ""))
            self._paint()
            try:
                yield
            finally:
                self._write(_LEAVE)

    async def _look_on(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            began = loop.time()
            self._look.clear()
            rows = await self._listing.rows()
            self._view = self._view.listed(rows)
            self._paint()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(max(EVERY, 2 * (loop.time() - began))):
                    await self._look.wait()

    def _read(self) -> None:
        self._take(self._keyboard.read_keys())
        asyncio.get_running_loop().call_later(FLUSH, lambda: self._take(self._keyboard.flush_keys()))
        if self._keyboard.closed:
            self._end(0)

    def _take(self, keys: Sequence[KeyPress]) -> None:
        for each in keys:
            if each.key is not Keys.BracketedPaste:
                self._press(_name(each.key))
            elif self._view.entry is not None:  # what is pasted elsewhere was meant for something else
                for char in each.data:
                    self._press(char)
        if self._keyboard.light is not None and self._automatic:
            self._theme, self._keyboard.light = theme_for_background(self._keyboard.light), None
            self._paint()
        elif keys:
            self._paint()

    def _press(self, key: str) -> None:
        if self._pager is not None:
            self._pager = pager.press(self._pager, key)
            return
        if self._acting is not None:
            return
        question = self._view.question
        if key.isdecimal() and self._view.entry is None and question is not None and self._is_new(question["hash"]):
            self._view = replace(self._view, notice="This question has just come. Press the key again.")
            return
        self._view, act = press(self._view, key)
        match act:
            case None:
                pass
            case Act("quit"):
                self._end(0)
            case Act("whole"):
                self._show_question()
            case _:
                self._acting = start_task(self._act(act))

    def _is_new(self, question: str) -> bool:
        now = asyncio.get_running_loop().time()
        return now - self._asked.get(question, now) < READING

    def _show_question(self) -> None:
        if (question := self._view.question) is not None:
            lines = question_lines(question, len(self._view.answers), self._size.columns - 1, self._theme)
            self._open("Question", lines)

    def _open(self, title: str, lines: Sequence[str]) -> None:
        self._title, self._pager = title, pager.Pager(lines, max(self._size.rows - pager.AROUND, 1))

    async def _act(self, act: Act) -> None:
        row = next((row for row in self._view.rows if row.session == act.session), None)
        try:
            if row is None:
                return
            if act.kind == "open":
                await self._run_in_terminal(self._doing.opening(row))
                return
            said = await self._doing.do(act, row)
            if act.kind == "diff":
                lines = diff.lines(said, self._size.columns - 1, self._theme) if said else ["No changes."]
                self._open(f"Changes in {row.folder}", lines)
                said = ""
            self._view = replace(self._view, notice=said)
            if act.kind == "answer":
                self._view = self._view.next_waiting()
        except AgentError as error:
            self._view = replace(self._view, notice=str(error))
        finally:
            self._acting = None
            self._look.set()
            self._paint()

    async def _run_in_terminal(self, command: Sequence[str]) -> None:
        """Give the terminal to another command until it ends."""
        self._away = True
        self._write(_LEAVE)
        try:
            with self._keyboard.detach(), self._keyboard.cooked_mode():
                await asyncio.to_thread(subprocess.run, command, check=False)
        finally:
            self._away = False
            self._write(_ENTER)

    @property
    def _size(self) -> Size:
        return terminal_size(sys.stdout.fileno())

    def _paint(self) -> None:
        if self._away:
            return
        size = self._size
        if self._pager is not None:
            self._pager = self._pager.resized(max(size.rows - pager.AROUND, 1))
            rows, _ = pager.draw(self._pager, size, self._theme, self._title)
        else:
            rows = draw(self._view, size, self._theme)
            if (question := self._view.question) is not None:
                self._asked.setdefault(question["hash"], asyncio.get_running_loop().time())
        lines = "".join(f"\x1b[{n + 1};1H{row}\x1b[K" for n, row in enumerate(rows[: size.rows]))
        self._write(_BEGIN + lines + _END)


def show_agents(project: Project, listing: Listing) -> int:
    """Show the sessions of this machine until the person leaves; return the exit code."""

    async def run() -> int:
        return await Agents(project, listing).run()

    return asyncio.run(run())
