"""A person at a terminal: keys, questions, and everything that is shown, from the first prompt to the resume line."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import time
from collections.abc import Coroutine, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from agentcli.agent.ports import Desk, Host
from agentcli.core.errors import AgentError
from agentcli.core.sanitise import safe, safe_line
from agentcli.ui.approving import Approving
from agentcli.ui.asking import Asking
from agentcli.ui.cells import wrap
from agentcli.ui.commands.offers import Backgrounds, Trusts
from agentcli.ui.complete import Menu
from agentcli.ui.console import Console
from agentcli.ui.drafting import Drafting
from agentcli.ui.early import BRACKETED_PASTE, PLAIN_PASTE, EarlyTerminal, start
from agentcli.ui.keyboard import ASK_BACKGROUND
from agentcli.ui.keys import KEYS, chosen, help_rows
from agentcli.ui.lobby import HANGUP, Lobby
from agentcli.ui.prompt import Act
from agentcli.ui.repl import Repl
from agentcli.ui.screen import Screen
from agentcli.ui.scroll import called
from agentcli.ui.settings import Settings
from agentcli.ui.status import SCRIPT_EVERY, run_script
from agentcli.ui.theme import PLAIN, background

if TYPE_CHECKING:
    from agentcli.core.record import Mode

CYCLE: tuple[Mode, ...] = ("ask", "auto-edit", "plan")
"""The modes that Shift-Tab goes through; the others are only set by name."""
TWICE = 1.5
"""Seconds within which a second Ctrl-C leaves, and a second Esc goes back."""
INTERRUPTED = 130
WATCH_EVERY = 1.0
"""Seconds between two looks at the background jobs, while there are any, and at what is being typed."""
_SIGNALS = (signal.SIGTERM, signal.SIGHUP)


class Terminal:
    """`approve` and `ask_user` are the ports that the agent asks through; `run` lasts until the person leaves."""

    def __init__(self, settings: Settings, early: EarlyTerminal | None = None, *, lobby: Lobby | None = None) -> None:
        self._lobby = lobby or Lobby(early or start())
        self.editor = self._lobby.editor
        self.screen = Screen(self._lobby.painter, self._lobby.descriptor, settings.look)
        self.screen.edit = lambda: self.editor.edit
        self.console = Console(self.screen, self.editor)
        self.repl = Repl(self.console, self._finished, self._failed)
        self._asking = Asking(self.screen, self.editor, self.repl.interrupt, self._notify)
        self.console.asking = self._asking
        self.screen.resized = self._asking.resized
        approving = Approving(
            self._asking, self.screen, self.editor, self.console.compose, self.repl.interrupt, self._notify
        )
        self.approve, self.ask_user = approving.approve, self._asking.ask_user
        self.settings = settings
        self._drafting = Drafting(self.console, None, settings.history)
        self._keys = KEYS
        self._tasks: list[asyncio.Task[None]] = []
        self._broken_at, self._broke_off = 0.0, False
        self._escaped_at = 0.0
        self._opened = 0

    async def run(self, host: Host, desk: Desk, prompts: Sequence[str] = ()) -> int:
        """Read, work and show until the person leaves; returns the exit code. `prompts` are said first, one after another."""
        self._lobby.arrive()
        self.open(host, desk, self.settings, prompts)
        try:
            return await self.editor.run()
        except EOFError:
            return HANGUP
        finally:
            await self.close()
            self._lobby.early.restore()

    def open(self, host: Host, desk: Desk, settings: Settings, prompts: Sequence[str] = ()) -> None:
        """Take the place of the lobby: show a session, and do what the keys say from now on."""
        self.settings = settings
        self.screen.look = settings.look
        self.repl.idle.quiet = settings.idle_after
        self._drafting = Drafting(self.console, settings.state, settings.history)
        self.editor.edit_like("vi" if settings.vi else "emacs")
        self._keys = chosen(settings.keys)
        self.editor.bind(self._keys)
        self.editor.pastes.lines, self.editor.pastes.characters = settings.paste_lines, settings.paste_characters
        self.console.host = host
        self.console.sit_down(desk, settings.replay, settings.status)
        self.editor.deeds = self
        self._drafting.bring_back()
        # The lexers would otherwise stop the keys when the first code block comes.
        warming = asyncio.to_thread(_warm, self.screen)
        self._tasks = [
            asyncio.create_task(work) for work in (warming, self.screen.run(), self._run_script(), self._watch())
        ]
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            loop.add_signal_handler(number, self.console.leave, 128 + number)
        if settings.theme == "auto" and settings.look.theme is not PLAIN:
            self.screen.painter.raw(ASK_BACKGROUND)
        self._meanwhile(self._begin([prompt for prompt in prompts if prompt]))

    async def close(self) -> None:
        """End what goes on, give the terminal back, and say how to come again."""
        for number in (*_SIGNALS, signal.SIGINT):
            # We are leaving already, and soon: nothing is to break into the saving.
            asyncio.get_running_loop().add_signal_handler(number, lambda: None)
        self._asking.close()
        await self.repl.stop()
        for task in self._tasks[1:]:
            task.cancel()
        self._say_goodbye()
        await asyncio.wait(self._tasks)
        self.console.desk.close()
        self._lobby.early.guard()

    @property
    def working(self) -> bool:
        """Whether something goes on."""
        return self.repl.working

    @property
    def asking(self) -> Literal["", "choice", "entry"]:
        """Which kind of dialog is open."""
        dialog = self.screen.state.dialog
        return "" if dialog is None else "choice" if dialog.entry is None else "entry"

    def submit(self, text: str) -> None:
        """Enter."""
        self._see_background()
        self._drafting.memory.remember(text)
        self.repl.submit(text)

    def steer(self, text: str) -> None:
        """Alt-Enter while something goes on."""
        self._drafting.memory.remember(text)
        try:
            self.repl.steer(text)
        except AgentError as error:
            self.console.warn(str(error))
            self.console.draft(text)

    def recall(self) -> str | None:
        """Take back the message that was queued last."""
        return self.repl.recall()

    def act(self, act: Act) -> None:
        """A key that is no edit."""
        try:
            self._act(act)
        except AgentError as error:
            self.console.warn(str(error))

    def _act(self, act: Act) -> None:
        match act:
            case "interrupt":
                self._interrupt()
            case "break":
                self._break()
            case "signal":
                self._break(leaving=INTERRUPTED)
            case "leave":
                self.console.leave()
            case "mode":
                self._next_mode()
            case "output":
                self._whole_output()
            case "thinking":
                self._fold_thinking()
            case "keys":
                console = self.console
                console.show("", *help_rows(self._keys, console.columns - 1, console.look.theme))
            case "search":
                self._meanwhile(self._drafting.search())
            case "editor":
                self._meanwhile(self._drafting.edit())
            case "picture":
                self._meanwhile(self._drafting.attach())
            case "background":
                self._send_to_background()
            case "redraw":
                self.screen.erase()

    def complete(self, before: str) -> Menu:
        """What may stand where the cursor is."""
        return self.console.complete(before)

    def press(self, key: str) -> None:
        """A key for the open dialog."""
        self._asking.press(key)

    def typed(self) -> None:
        """The line of the open dialog changed."""
        self._asking.typed()

    def paint(self) -> None:
        """Show what changed."""
        self._see_background()
        self.screen.paint()

    def resize(self) -> None:
        """The terminal has another size."""
        self.screen.resize()

    def erase(self) -> None:
        """Somebody else writes now."""
        self.screen.erase()

    def go_away(self) -> None:
        """The shell gets the terminal."""
        self.screen.painter.raw(PLAIN_PASTE)

    def come_back(self) -> None:
        """The terminal is ours again."""
        self.screen.painter.raw(BRACKETED_PASTE)

    def _see_background(self) -> None:
        """Once the terminal has told its background, the automatic theme follows, and does so whenever it is chosen again."""
        light, self.editor.keyboard.light = self.editor.keyboard.light, None
        look = self.screen.look
        if light is None:
            return
        automatic = self.settings.theme == "auto" and look.theme is not PLAIN
        self.screen.look = replace(look, light=light, theme=background(light) if automatic else look.theme)

    async def _begin(self, prompts: Sequence[str]) -> None:
        """Ask whether what this folder would load is wanted; then say what was given on the way in."""
        console = self.console
        if isinstance(console.host, Trusts) and (found := console.host.unloaded(console.desk)):
            theme = console.look.theme
            body = [theme.paint("warn", row) for line in found for row in wrap("  " + safe(line), console.columns - 2)]
            if await console.confirm("Do you trust this folder? Until you do, these are not loaded:", body):
                console.move_to(console.host.trust(console.desk))
            else:
                console.say(
                    "None of it is loaded. `agentcli --trust` loads it for one run; you are asked again next time."
                )
        for prompt in prompts:
            self.submit(prompt)

    def _interrupt(self) -> None:
        """Esc: interrupt; twice where nothing goes on and nothing is typed, go back to an earlier prompt."""
        now = time.monotonic()
        twice, self._escaped_at = now - self._escaped_at < TWICE, now
        if self.working:
            self.repl.interrupt()
            self._escaped_at = 0.0
        elif self.editor.draft.text or not self.console.desk.history.turn:
            return
        elif twice:
            self.repl.submit("/rewind")
        else:
            self.console.notice("Esc again goes back to one of your prompts.")

    def _break(self, leaving: int = 0) -> None:
        """Ctrl-C: interrupt, else clear, else leave when it comes twice; `leaving` is the exit code where nothing was broken off."""
        now = time.monotonic()
        twice, self._broken_at = now - self._broken_at < TWICE, now
        self._broke_off = self.working or (twice and self._broke_off)
        if twice and not self.editor.draft.text:
            self.console.leave(INTERRUPTED if self._broke_off else leaving)
        elif self.working:
            self.repl.interrupt()
        elif self.editor.draft.text:
            self._drafting.memory.remember(self.editor.take())
        else:
            self.console.notice("Ctrl-C again leaves.")

    def _next_mode(self) -> None:
        now = self.console.desk.mode
        after = CYCLE[(CYCLE.index(now) + 1) % len(CYCLE)] if now in CYCLE else CYCLE[0]
        self.console.tell(self.console.desk.switch(mode=after))

    def _fold_thinking(self) -> None:
        look = self.console.look
        self.console.look = replace(look, thinking=not look.thinking)
        if (last := self.screen.state.considered) and not look.thinking:
            self.screen.print(last)
        self.console.notice(f"Thinking is {'folded' if look.thinking else 'shown'} from now on.")

    def _send_to_background(self) -> None:
        desk = self.console.desk
        if not (isinstance(desk, Backgrounds) and desk.background()):
            self.console.notice("No command runs that could go to the background.")

    def _whole_output(self) -> None:
        """Print the newest call's whole output; with each further Ctrl-O that of the call before."""
        outputs, console = self.screen.state.outputs, self.console
        if not outputs:
            console.notice("No tool has run yet.")
            return
        self._opened = self._opened % len(outputs) + 1
        one = outputs[-self._opened]
        result = one.result
        if result.output_file:
            result = replace(result, output=console.desk.journal.output(result.output_file) or result.output)
        console.show("", *called(replace(one, result=result), console.columns, console.look, whole=True))

    async def _run_script(self) -> None:
        """Have the person's own script fill the status line's extra place, as long as there is one."""
        while self.settings.status_command:
            status, folder = self.screen.state.status, self.console.desk.cwd
            self.console.telling.extra = await run_script(self.settings.status_command, status, folder)
            self.screen.refresh()
            await asyncio.sleep(SCRIPT_EVERY)

    async def _watch(self) -> None:
        """A background job may end while nothing else happens; what is being typed is kept."""
        while True:
            await asyncio.sleep(WATCH_EVERY)
            self._drafting.keep()
            if self.screen.state.status.jobs:
                self.screen.refresh()

    def _finished(self, seconds: float) -> None:
        self._opened = 0
        if seconds > self.settings.notify_after:
            self._notify("agentcli is done")

    def _failed(self, error: BaseException) -> None:
        """What nobody foresaw ends the program with its traceback; the draft is kept in the history."""
        if self.editor.application.is_running and not self.editor.application.is_done:
            self.editor.application.exit(exception=error)

    def _notify(self, text: str) -> None:
        """Tell a person who looks elsewhere, by OSC 9, the bell, or both."""
        words, bell = f"\x1b]9;{safe_line(text)[:200]}\a", "\a"
        self.screen.painter.raw({"auto": words + bell, "osc9": words, "bell": bell}.get(self.settings.notify, ""))

    def _meanwhile(self, work: Coroutine[Any, Any, None]) -> None:
        self.editor.application.create_background_task(work)

    def _say_goodbye(self) -> None:
        self._drafting.leave()
        journal = self.console.desk.journal
        # A terminal that is gone takes no farewell.
        with contextlib.suppress(OSError):
            if journal.folder is not None:
                self.console.show("", f"agentcli resume {journal.id}")
            self.screen.close()


def _warm(screen: Screen) -> None:
    from agentcli.ui.markdown import warm

    warm(screen.look)
