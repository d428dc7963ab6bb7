"""A person at a terminal: keys, questions, and everything that is shown, from the first prompt to the resume line."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
import time
from collections.abc import Coroutine, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from agentcli.agent.ports import Desk, Host
from agentcli.core.sanitise import safe
from agentcli.ui import history
from agentcli.ui.asking import Asking
from agentcli.ui.console import Console
from agentcli.ui.early import BRACKETED_PASTE, EarlyTerminal
from agentcli.ui.keys import HELP
from agentcli.ui.paint import Painter, to_terminal
from agentcli.ui.prompt import Act, Editor
from agentcli.ui.repl import Repl
from agentcli.ui.screen import Screen
from agentcli.ui.scroll import called
from agentcli.ui.settings import Settings
from agentcli.ui.view import Choice

if TYPE_CHECKING:
    from agentcli.core.record import Mode

CYCLE: tuple[Mode, ...] = ("ask", "auto-edit", "plan")
"""The modes that Shift-Tab goes through; the others are only set by name."""
TWICE = 1.5
"""Seconds within which a second Ctrl-C leaves."""
HANGUP = 129


async def run(
    host: Host,
    desk: Desk,
    *,
    prompts: Sequence[str] = (),
    settings: Settings | None = None,
    early: EarlyTerminal | None = None,
) -> int:
    """Run the REPL on a desk whose approvals go elsewhere; returns the exit code."""
    return await Terminal(settings or Settings(), early).run(host, desk, prompts)


class Terminal:
    """`approve` and `ask_user` are the ports that the agent asks through; `run` lasts until the person leaves."""

    def __init__(self, settings: Settings, early: EarlyTerminal | None = None) -> None:
        self.settings, self._early = settings, early
        descriptor = sys.stdout.fileno()
        standing = (early.lines, (1, len(early.lines[1]))) if early is not None else ((), (0, 0))
        self.screen = Screen(Painter(to_terminal(descriptor), *standing), descriptor, settings.look)
        self._past = history.load(self._history, settings.history) if self._history else []
        self.console = Console(self.screen, settings.replay)
        self.repl = Repl(self.console, self._finished, self._failed)
        past = [one.text for one in self._past]
        self.editor = Editor(self, self.console.complete, past, vi=settings.vi)
        self.editor.pastes.lines, self.editor.pastes.characters = settings.paste_lines, settings.paste_characters
        self._asking = Asking(self.screen, self.editor, self.console.compose, self.repl.interrupt, self._notify)
        self.console.editor, self.console.asking = self.editor, self._asking
        self.screen.edit = lambda: self.editor.edit
        self.approve, self.ask_user = self._asking.approve, self._asking.ask_user
        self._broken_at = 0.0
        self._opened = 0

    @property
    def working(self) -> bool:
        """Whether something goes on."""
        return self.repl.working

    @property
    def asking(self) -> Literal["", "choice", "entry"]:
        """Which kind of dialog is open."""
        dialog = self.screen.state.dialog
        return "" if dialog is None else "choice" if dialog.entry is None else "entry"

    async def run(self, host: Host, desk: Desk, prompts: Sequence[str] = ()) -> int:
        """Read, work and show until the person leaves; returns the exit code."""
        self.console.host = host
        self.console.sit_down(desk)
        if self._early is not None:
            self.editor.type_ahead(self._early.typed)
        self.screen.painter.raw(BRACKETED_PASTE)
        ticking = asyncio.create_task(self.screen.run())
        # The lexers would otherwise stop the keys when the first code block comes.
        warming = asyncio.create_task(asyncio.to_thread(_warm, self.screen))
        for prompt in filter(None, prompts):
            self.submit(prompt)
        try:
            with self._signals():
                return await self.editor.run()
        except EOFError:
            return HANGUP
        finally:
            await self.repl.stop()
            ticking.cancel()
            self._say_goodbye()
            await asyncio.wait({ticking, warming})

    def submit(self, text: str) -> None:
        """Enter."""
        self._remember(text)
        self.repl.submit(text)

    def steer(self, text: str) -> None:
        """Alt-Enter while something goes on."""
        self._remember(text)
        self.repl.steer(text)

    def recall(self) -> str | None:
        """Take back the message that was queued last."""
        return self.repl.recall()

    def act(self, act: Act) -> None:
        """A key that is no edit."""
        match act:
            case "interrupt":
                self.repl.interrupt()
            case "break":
                self._break()
            case "leave":
                self.console.leave()
            case "mode":
                self._next_mode()
            case "output":
                self._whole_output()
            case "thinking":
                self._fold_thinking()
            case "keys":
                wide = max(len(key) for key, _ in HELP) + 2
                self.console.say("", *(key.ljust(wide) + does for key, does in HELP))
            case "search":
                self._meanwhile(self._search())
            case "editor":
                self._meanwhile(self._edit_draft())
            case "background":
                self.console.notice("Nothing that runs can be sent to the background.")
            case "redraw":
                self.screen.erase()

    def press(self, key: str) -> None:
        """A key for the open dialog."""
        self._asking.press(key)

    def typed(self) -> None:
        """The line of the open dialog changed."""
        self._asking.typed()

    def paint(self) -> None:
        """Show what changed."""
        self.screen.paint()

    def erase(self) -> None:
        """Somebody else writes now."""
        self.screen.erase()

    def _break(self) -> None:
        """Ctrl-C: interrupt, else clear, else leave when it comes twice."""
        now = time.monotonic()
        twice, self._broken_at = now - self._broken_at < TWICE, now
        if twice and not self.editor.draft.text:
            self.console.leave(130 if self.working else 0)
        elif self.working:
            self.repl.interrupt()
        elif self.editor.draft.text:
            self._remember(self.editor.take())
        else:
            self.console.notice("Ctrl-C again leaves.")

    def _next_mode(self) -> None:
        now = self.console.desk.mode
        after = CYCLE[(CYCLE.index(now) + 1) % len(CYCLE)] if now in CYCLE else CYCLE[0]
        self.console.tell(self.console.desk.switch(mode=after))

    def _fold_thinking(self) -> None:
        look = self.console.look
        self.console.look = replace(look, thinking=not look.thinking)
        self.console.notice(f"Thinking is {'folded' if look.thinking else 'shown'} from now on.")

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

    async def _search(self) -> None:
        """Earlier prompts of all sessions and projects, newest first."""
        folders = {one.text: one.folder for one in self._past}
        seen = list(dict.fromkeys(one.text for one in reversed(self._past)))
        choices = [Choice(safe(text).replace("\n", " ⏎ "), safe(folders[text])) for text in seen]
        chosen = await self._asking.pick("Earlier prompts", choices)
        if chosen is not None:
            self.console.draft(seen[chosen])

    async def _edit_draft(self) -> None:
        self.console.draft(await self.console.compose(self.editor.pastes.unfold(self.editor.draft.text)))

    def _finished(self, seconds: float) -> None:
        self._opened = 0
        if seconds > self.settings.notify_after:
            self._notify("agentcli is done")

    def _failed(self, error: BaseException) -> None:
        """What nobody foresaw ends the program with its traceback; the draft is kept in the history."""
        if self.editor.application.is_running and not self.editor.application.is_done:
            self.editor.application.exit(exception=error)

    def _notify(self, text: str) -> None:
        """Tell a person who looks elsewhere, by OSC 9 and the bell."""
        if self.settings.notify != "off":
            self.screen.painter.raw(f"\x1b]9;{safe(text)[:200]}\a\a")

    @property
    def _history(self) -> Path | None:
        return self.settings.state / "history.jsonl" if self.settings.state else None

    def _remember(self, text: str) -> None:
        typed = history.Typed(text, str(Path.cwd()))
        self._past.append(typed)
        if self._history is not None:
            history.append(self._history, typed, self.settings.history)

    def _meanwhile(self, work: Coroutine[Any, Any, None]) -> None:
        self.editor.application.create_background_task(work)

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self.console.leave, 128 + number)
        try:
            yield
        finally:
            for number in (signal.SIGTERM, signal.SIGHUP):
                loop.remove_signal_handler(number)

    def _say_goodbye(self) -> None:
        if self.editor.draft.text.strip():
            self._remember(self.editor.take())
        journal = self.console.desk.journal
        # A terminal that is gone takes no farewell.
        with contextlib.suppress(OSError):
            if journal.folder is not None:
                self.console.show("", f"agentcli resume {journal.id}")
            self.screen.close()
            if self._early is not None:
                self._early.restore()


def _warm(screen: Screen) -> None:
    from agentcli.ui.markdown import warm

    warm(screen.look.theme)
