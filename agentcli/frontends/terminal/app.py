"""Interactive terminal: keys, dialogs and screen, from the first prompt to the resume line."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from agentcli import __version__
from agentcli.core.errors import AgentError
from agentcli.core.sanitise import display_path, safe_line
from agentcli.core.tasks import run_beside
from agentcli.frontends.terminal.console import Console
from agentcli.frontends.terminal.device import Device
from agentcli.frontends.terminal.dialogs.approving import Approving
from agentcli.frontends.terminal.dialogs.asking import Asking
from agentcli.frontends.terminal.dispatch import Repl
from agentcli.frontends.terminal.early import BRACKETED_PASTE, PLAIN_PASTE
from agentcli.frontends.terminal.idle import PAUSES
from agentcli.frontends.terminal.input.actions import DraftActions, KeyActions, way_to_auto
from agentcli.frontends.terminal.input.completion import Menu
from agentcli.frontends.terminal.input.handler import KeyAction
from agentcli.frontends.terminal.input.keyboard import ASK_BACKGROUND
from agentcli.frontends.terminal.input.keys import bind, chosen
from agentcli.frontends.terminal.render.frame import Size
from agentcli.frontends.terminal.render.markdown import warm
from agentcli.frontends.terminal.render.status_line import short_model
from agentcli.frontends.terminal.screen import Screen
from agentcli.frontends.terminal.settings import UiSettings
from agentcli.frontends.terminal.start_questions import settle
from agentcli.frontends.terminal.style import PLAIN, Theme, looks, theme_for_background
from agentcli.frontends.terminal.turns import farewell
from agentcli.frontends.terminal.views.transcript_screen import Viewing
from agentcli.system.branch import branch
from agentcli.system.cells import clip

if TYPE_CHECKING:
    from agentcli.agent.session import AgentSession
    from agentcli.frontends.terminal.sharing import Sharing
    from agentcli.program.program import Program

WATCH_EVERY = 1.0
"""Seconds between two checks of background jobs and due prompts, and saves of the draft."""
ROOM = Size(60, 20)
"""Smallest terminal that has room for the banner."""
_SIGNALS = (signal.SIGTERM, signal.SIGHUP)


class Terminal:
    """Input handler and front end of the REPL. `approve` and `ask_user` are the agent's ports; `open` attaches a session."""

    _key_actions: KeyActions
    _draft_actions: DraftActions

    def __init__(self, device: Device) -> None:
        self._early, self.editor = device.early, device.editor
        self.settings = UiSettings()
        self.screen = Screen(device, looks(self.settings))
        self.console = Console(self.screen, self.editor)
        self.repl = Repl(self.console, self._finished, self.editor.fail)

        def notify(text: str) -> None:
            self.screen.notify(text, self.settings.notify)

        self._asking = Asking(self.screen, self.editor, self.repl.interrupt, notify)
        self.console.asking = self._asking
        self.screen.resized = self._resized
        self.viewing = Viewing(self.screen, self.editor, self.editor.fail)
        approving = Approving(self._asking, self.screen, self.editor, self.console.compose, self.repl.interrupt, notify)
        self.approve, self.ask_user = approving.approve, self._asking.ask_user
        self._tasks: list[asyncio.Task[None]] = []

    def open(
        self,
        program: Program,
        sharing: Sharing,
        session: AgentSession,
        prompts: Sequence[str] = (),
    ) -> None:
        """Replace the startup screen: attach a session and handle its keys."""
        self.settings = settings = program.config[UiSettings]
        state = None if program.options.no_session else program.dirs.state
        self.screen.look = looks(settings)
        self.repl.idle.quiet, self.repl.idle.cold_cost = settings.idle_after, settings.cold_cost
        self.repl.idle.pauses = state / PAUSES if state is not None else None
        self._draft_actions = DraftActions(self.console, state)
        self.editor.edit_like("vi" if settings.vi else "emacs")
        self.console.keys = keys = chosen(settings.keys)
        self._key_actions = KeyActions(self.console, self.repl, self._draft_actions, self.viewing)
        bind(self.editor, keys)
        self.screen.check_paints()
        self.console.attach(program, sharing)
        self.screen.name = self._tab_name
        if lines := banner(session, self.screen.size, self.screen.look.theme):
            self.console.show(*lines)
        self.console.show_session(session, settings.replay, settings.status)
        self.editor.handler = self
        self._draft_actions.restore()
        sharing.front = self.repl
        self.repl.idle.report_cold()
        self._start_tasks()
        for number in _SIGNALS:
            asyncio.get_running_loop().add_signal_handler(number, self.console.leave, 128 + number)
        if settings.theme == "auto" and self.screen.look.theme is not PLAIN:
            self.screen.painter.raw(ASK_BACKGROUND)
        self.repl.beside(self._begin([prompt for prompt in prompts if prompt]))

    async def close(self) -> None:
        """Stop the work, print the resume line, restore the terminal."""
        self.viewing.close()
        for number in (*_SIGNALS, signal.SIGINT):
            # The program is ending: nothing may interrupt the saving.
            asyncio.get_running_loop().add_signal_handler(number, lambda: None)
        self._asking.close()
        await self.repl.stop()
        for task in self._tasks[1:]:
            task.cancel()
        try:
            self._say_goodbye()
        finally:
            await asyncio.wait(self._tasks)
            await self.console.sharing.end()
            await self.console.session.end("prompt_input_exit")
            self._early.guard()

    def _resized(self) -> None:
        self._asking.resized()
        self.console.tabs.resized()

    def _tab_name(self) -> str:
        """Return the session's name or title, or its folder's name; empty if notices are off."""
        session = self.console.session
        history = session.history
        return "" if self.settings.notify == "off" else history.name or history.title or session.cwd.name or "agentcli"

    @property
    def working(self) -> bool:
        """True while work runs."""
        return self.repl.working

    @property
    def asking(self) -> Literal["", "choice", "entry", "view"]:
        """Kind of the open dialog, or `view` for a full-screen view; empty if none."""
        if self.viewing.is_open:
            return "view"
        dialog = self.screen.state.dialog
        return "" if dialog is None else "choice" if dialog.entry is None else "entry"

    def submit(self, text: str) -> None:
        """Run a prompt, or queue it for the end of the turn."""
        self._see_background()
        self._draft_actions.remember(text)
        self.repl.submit(text)
        self._draft_actions.keep()

    def steer(self, text: str) -> None:
        """Send a message to the running turn, with the next result."""
        self._draft_actions.remember(text)
        try:
            self.repl.steer(text)
        except AgentError as error:
            self.console.warn(str(error))
            self.console.draft(text)
        self._draft_actions.keep()

    def recall(self) -> str | None:
        """Remove and return the newest queued message."""
        return self.repl.recall()

    def act(self, action: KeyAction) -> None:
        """Perform a key action."""
        self._key_actions.do(action)

    @property
    def tabbed(self) -> bool:
        """True while reports are open as tabs."""
        return self.console.tabs.open and not self.asking

    def complete(self, before: str) -> Menu:
        """Return the completions for the text before the cursor. What is typed closes open reports."""
        if before:
            self.console.tabs.close()
        return self.console.completion(before)

    def press(self, key: str) -> None:
        """Pass a key to the open view, dialog or reports."""
        (self.viewing if self.viewing.is_open else self.console.tabs if self.tabbed else self._asking).press(key)

    def line_changed(self) -> None:
        """Refine the open dialog after a change of its line."""
        self._asking.line_changed()

    def paint(self) -> None:
        """Repaint after a key."""
        self._see_background()
        if self.viewing.is_open:
            self.viewing.paint()
        else:
            self.screen.paint()

    def resize(self) -> None:
        """Handle a change of the terminal's size."""
        self.screen.resize()

    def erase(self) -> None:
        """Erase the live lines before other output."""
        self.viewing.hide()
        self.screen.erase()

    def go_away(self) -> None:
        """Restore the terminal's modes before a suspend."""
        self.screen.painter.raw(PLAIN_PASTE)

    def come_back(self) -> None:
        """Set the terminal's modes after a suspend."""
        self.screen.painter.raw(BRACKETED_PASTE)
        self.viewing.reveal()

    def _start_tasks(self) -> None:
        # Otherwise importing the lexers would block the keys at the first code block.
        warming = asyncio.to_thread(_warm, self.screen)
        coroutines = (warming, self.screen.run(), self._watch())
        self._tasks = [run_beside(each, self.editor.fail) for each in coroutines]

    def _see_background(self) -> None:
        """Apply the terminal's reported background to the automatic theme."""
        light, self.editor.keyboard.light = self.editor.keyboard.light, None
        look = self.screen.look
        if light is None:
            return
        automatic = self.settings.theme == "auto" and look.theme is not PLAIN
        self.screen.look = replace(look, light=light, theme=theme_for_background(light) if automatic else look.theme)

    async def _begin(self, prompts: Sequence[str]) -> None:
        """Ask about the files and programs that the folder would load and start, then submit the command line's
        prompts.
        """
        console = self.console

        async def choose(title: str, lines: Sequence[str], labels: Sequence[str]) -> int:
            return await self._asking.decide(title, lines, "warn", labels)

        async def confirm(title: str, lines: Sequence[str]) -> bool:
            return await self._asking.confirm(title, lines, "warn")

        select = self._asking.select
        await settle(console.program, console.session, choose, confirm, console.say, console.move_to, select)
        console.session.begin(console.show_events)
        await console.sharing.begin_if(self.settings.remote, console.warn)
        for prompt in (*([f"/resume {wanted}"] if (wanted := console.program.sessions.wanted) else ()), *prompts):
            self.submit(prompt)

    async def _watch(self) -> None:
        """Save the draft and refresh the status of background jobs periodically."""
        writes_statuses = False
        while True:
            if not writes_statuses and any(part.reads_status for part in self.console.session.parts.all):
                from agentcli.frontends.terminal.status_facts import refresh_statuses

                self._tasks.append(run_beside(refresh_statuses(self.console), self.editor.fail))
                writes_statuses = True
            await asyncio.sleep(WATCH_EVERY)
            self._draft_actions.keep()
            self.repl.wake()
            self.viewing.renew()
            if self.screen.state.status.jobs:
                self.screen.refresh()

    def _finished(self, seconds: float) -> None:
        if seconds > self.settings.notify_after:
            self.screen.notify("agentcli is done", self.settings.notify)

    def _say_goodbye(self) -> None:
        self._draft_actions.leave()
        self.console.tabs.close()
        lines = farewell(self.console.program, self.console.session, moves=self.console.sharing.leaving is not None)
        # A closed terminal cannot be written to.
        with contextlib.suppress(OSError):
            if self.editor.failure is not None:
                # The pending output may be the cause of the failure.
                self.screen.close(rest=False)
                self.screen.painter.raw("".join(f"{line}\r\n" for line in lines))
                return
            if lines:
                self.console.show("", *lines)
            self.screen.close()


def banner(session: AgentSession, size: Size, theme: Theme) -> list[str]:
    """Return three lines for a new user: program, model and folder, keys, and loaded files; none on a small terminal."""
    if size.columns < ROOM.columns or size.rows < ROOM.rows:
        return []
    git_branch = safe_line(branch(session.cwd))
    place = f"{display_path(session.cwd)}{f' ({git_branch})' if git_branch else ''}"
    names = ", ".join(dict.fromkeys(path.name for path, _ in session.parts.instructions.now.files))
    sandboxed = session.report.status().sandboxed
    facts = (
        f"sandbox on{way_to_auto(session.core.approval.mode)}" if sandboxed else "sandbox off",
        f"{names} loaded" if names else "no AGENTS.md: /init writes one",
    )
    lines = [
        f" · {short_model(safe_line(session.core.model.name))} · {place}",
        f"? keys · / commands · @ files · Shift-Tab mode: {session.core.approval.mode}",
        " · ".join(facts),
    ]
    name = f"agentcli {__version__}"
    first, *rest = [
        theme.paint("dim", clip(line, size.columns - 1 - (len(name) if n == 0 else 0))) for n, line in enumerate(lines)
    ]
    return [theme.paint("strong", name) + first, *rest]


def _warm(screen: Screen) -> None:
    warm(screen.look)
