"""Startup screen: the full editor while the program loads; prompts sent meanwhile wait."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

from agentcli.core.errors import HANGUP, INTERRUPTED, AgentError
from agentcli.core.sanitise import safe, safe_line
from agentcli.core.tasks import log_failure, start_task
from agentcli.frontends.terminal.device import Device
from agentcli.frontends.terminal.early import BRACKETED_PASTE, PLAIN_PASTE, EarlyTerminal, start
from agentcli.frontends.terminal.input.completion import Menu
from agentcli.frontends.terminal.input.handler import KeyAction
from agentcli.frontends.terminal.render.input_box import input_lines
from agentcli.frontends.terminal.style import choose_theme
from agentcli.system import probe
from agentcli.system.cells import clip

if TYPE_CHECKING:
    from agentcli.agent.ports import Approve, AskUser
    from agentcli.agent.session import AgentSession
    from agentcli.frontends.terminal.app import Terminal
    from agentcli.frontends.terminal.sharing import Sharing
    from agentcli.program.program import Program


Opened = tuple["Program", "Sharing", "AgentSession"]
Open = Callable[["Approve", "AskUser", Callable[[str], object]], Opened]
"""Constructs the program, and reports slow steps in a line.

Called in a thread while the user types: all heavy imports belong in it.
"""

MakeTerminal = Callable[[Device], "Terminal"]


def run(
    open_: Open,
    load_terminal: Callable[[], MakeTerminal],
    *,
    prompts: Sequence[str] = (),
    early: EarlyTerminal | None = None,
) -> int:
    """Run the REPL; return the exit code. Errors of `open_` are raised here, with the terminal as it was before.

    `load_terminal` imports the constructor of the terminal that takes over; it is called in a thread, too.
    """
    terminal = early if early is not None else start()
    try:
        return asyncio.run(Startup(terminal).run(open_, load_terminal, prompts))
    except AgentError:
        raise
    except Exception as error:
        _tell(error)
        raise
    finally:
        terminal.guard()
        terminal.restore()


class Startup:
    """Input handler while the program loads; prompts sent meanwhile wait in `waiting`."""

    def __init__(self, early: EarlyTerminal) -> None:
        self.waiting: list[str] = []
        self.device = Device(early, self)
        self.editor, self.painter = self.device.editor, self.device.painter
        self._early = early
        self._loading = True
        self._colours = choose_theme("auto", os.environ)

    async def run(self, open_: Open, load_terminal: Callable[[], MakeTerminal], prompts: Sequence[str]) -> int:
        """Read keys until the user leaves; returns the exit code."""
        self.device.arrive()
        reading = start_task(self.editor.run())
        loading = start_task(self._load(open_, load_terminal, prompts))
        await asyncio.wait({reading, loading}, return_when=asyncio.FIRST_COMPLETED)
        self._loading = False
        if not loading.done():
            # The thread cannot be stopped, but its result will be ignored.
            loading.cancel()
        if loading.cancelling() or loading.exception() is not None:
            self.editor.leave(1)
            code = await _code(reading)
            self._early.guard()
            self._clear()
            unsent = [*self.waiting, self.editor.draft.text]
            # If the program does not start, the typed text can at least be copied.
            self.painter.raw("".join(f"> {safe(text)}\r\n" for text in unsent if text))
            return code if loading.cancelling() else _raise(loading)
        try:
            return await _code(reading)
        finally:
            await loading.result().close()

    async def _load(self, open_: Open, load_terminal: Callable[[], MakeTerminal], prompts: Sequence[str]) -> Terminal:
        make_terminal = await asyncio.to_thread(load_terminal)
        terminal = make_terminal(self.device)
        program, sharing, session = await asyncio.to_thread(
            open_, terminal.approve, terminal.ask_user, self._report_from(asyncio.get_running_loop())
        )
        terminal.open(program, sharing, session, [*prompts, *self.waiting])
        return terminal

    def _report_from(self, loop: asyncio.AbstractEventLoop) -> Callable[[str], None]:
        """Return a function with which other threads show a line as the status."""

        def show(line: str) -> None:
            if self._loading:
                self._early.status = line
                self.paint()

        def report(line: str) -> None:
            with contextlib.suppress(RuntimeError):  # the loop has ended: the person has quit
                loop.call_soon_threadsafe(show, line)

        return report

    @property
    def working(self) -> bool:
        """False: prompts wait while the program loads."""
        return False

    @property
    def asking(self) -> Literal["", "choice", "entry", "view"]:
        """Empty: no dialog can be open."""
        return ""

    @property
    def tabbed(self) -> bool:
        """False: no report can be open."""
        return False

    def submit(self, text: str) -> None:
        """Queue a prompt."""
        self.waiting.append(text)

    def steer(self, text: str) -> None:
        """Queue a prompt."""
        self.waiting.append(text)

    def recall(self) -> str | None:
        """Remove and return the newest queued prompt."""
        return self.waiting.pop() if self.waiting else None

    def act(self, action: KeyAction) -> None:
        """Leave, on its keys; other actions need the loaded program."""
        if action in ("leave", "break", "signal"):
            self.editor.leave(0 if action == "leave" else INTERRUPTED)

    def press(self, key: str) -> None:
        """Do nothing: no dialog can be open."""

    def line_changed(self) -> None:
        """Do nothing: no dialog can be open."""

    def complete(self, before: str) -> Menu:
        """Return no completions: the session is still loading."""
        return Menu()

    def paint(self) -> None:
        """Paint the input under the queued prompts and the status."""
        size = self.device.size
        status = self._colours.paint("dim", clip(self._early.status, size.columns - 1))
        lines, (row, column) = input_lines(self.editor.edit, size, self._colours, status)
        queued = [f"  Waiting: {safe_line(text)}" for text in self.waiting]
        waiting = [self._colours.paint("dim", clip(text, size.columns - 1)) for text in queued[-size.rows // 2 :]]
        self.painter.paint([], [*waiting, *lines], (len(waiting) + row, column))

    def resize(self) -> None:
        """Handle a change of the terminal's size."""
        self.painter.erase()

    def erase(self) -> None:
        """Erase the live lines before other output."""
        self.painter.erase()

    def go_away(self) -> None:
        """Restore the terminal's modes before a suspend."""
        self.painter.raw(PLAIN_PASTE)

    def come_back(self) -> None:
        """Set the terminal's modes after a suspend."""
        self.painter.raw(BRACKETED_PASTE)

    def _clear(self) -> None:
        self.painter.erase()
        self.painter.raw(PLAIN_PASTE)


def _tell(error: Exception) -> None:
    """Log an unexpected error, with an explanation below its traceback."""
    from agentcli.system.logs import LOG
    from agentcli.system.paths import app_dirs

    log_failure(error)
    error.add_note("agentcli has ended because of this error, which is a bug.")
    if probe.is_file(log := app_dirs().state / LOG):
        error.add_note(f"{log} has the error, too.")


async def _code(reading: asyncio.Task[int]) -> int:
    try:
        return await reading
    except EOFError:
        return HANGUP


def _raise(loading: asyncio.Task[Terminal]) -> int:
    error = loading.exception()
    assert error is not None
    raise error
