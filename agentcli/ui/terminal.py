"""The REPL: what is typed becomes turns and commands, what happens becomes lines."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from agentcli.agent.ports import Desk, Host
from agentcli.core.errors import AgentError
from agentcli.core.event import Event, Recorded
from agentcli.core.message import Part, Text
from agentcli.core.sanitise import safe
from agentcli.ui import attach, commands, history, shell
from agentcli.ui.asking import Asking
from agentcli.ui.cells import wrap
from agentcli.ui.complete import Completion, Files, Menu, Words
from agentcli.ui.draw import Item
from agentcli.ui.early import BRACKETED_PASTE, EarlyTerminal
from agentcli.ui.paint import Painter, to_terminal
from agentcli.ui.prompt import Act, Editor
from agentcli.ui.screen import Screen
from agentcli.ui.scroll import Look, called
from agentcli.ui.settings import Settings
from agentcli.ui.status import Telling
from agentcli.ui.view import Choice, Note, Printed, State

if TYPE_CHECKING:
    from agentcli.core.record import Mode

CYCLE: tuple[Mode, ...] = ("ask", "auto-edit", "plan")
"""The modes that Shift-Tab goes through; the others are only set by name."""
TWICE = 1.5
"""Seconds within which a second Ctrl-C leaves."""
PATIENCE = 2.0
"""Seconds that a turn has to end when the program is left."""


async def run(
    host: Host,
    desk: Desk,
    *,
    first_prompt: str = "",
    settings: Settings | None = None,
    early: EarlyTerminal | None = None,
) -> int:
    """Run the REPL on a desk whose approvals go elsewhere; returns the exit code."""
    return await Terminal(settings or Settings(), early).run(host, desk, first_prompt)


class Terminal:
    """A person at a terminal. `approve` and `ask_user` are the ports that the agent asks through; `run` is the program's life."""

    def __init__(self, settings: Settings, early: EarlyTerminal | None = None) -> None:
        self.settings = settings
        self._early = early
        descriptor = sys.stdout.fileno()
        standing = (early.lines, (1, len(early.lines[1]))) if early is not None else ((), (0, 0))
        self.screen = Screen(Painter(to_terminal(descriptor), *standing), descriptor, settings.look)
        self.asking_ = Asking(self.screen, self.compose, self.interrupt, self._notify)
        past = history.load(self._history, settings.history) if self._history else []
        self._past = past
        self._completion = Completion((), Files(Path.cwd()))
        self.editor = Editor(self, self._complete, [one.text for one in past], vi=settings.vi)
        self.editor.pastes.lines, self.editor.pastes.characters = settings.paste_lines, settings.paste_characters
        self.asking_.editor = self.editor
        self.screen.edit = lambda: self.editor.edit
        self.approve, self.ask_user = self.asking_.approve, self.asking_.ask_user
        self._interrupt = asyncio.Event()
        self._work: asyncio.Task[None] | None = None
        self._ahead: list[Part] = []
        self._broken_at = 0.0
        self._opened = 0

    @property
    def look(self) -> Look:
        """How things are shown."""
        return self.screen.look

    @look.setter
    def look(self, look: Look) -> None:
        self.screen.look = look
        self.screen.refresh()

    @property
    def state(self) -> State:
        """What is shown."""
        return self.screen.state

    @property
    def columns(self) -> int:
        """The terminal's width."""
        return self.screen.size.columns

    @property
    def working(self) -> bool:
        """Whether something goes on."""
        return self._work is not None and not self._work.done()

    @property
    def asking(self) -> Literal["", "choice", "entry"]:
        """Which kind of dialog is open."""
        dialog = self.screen.state.dialog
        return "" if dialog is None else "choice" if dialog.entry is None else "entry"

    @property
    def _history(self) -> Path | None:
        return self.settings.state / "history.jsonl" if self.settings.state else None

    async def run(self, host: Host, desk: Desk, first_prompt: str = "") -> int:
        """Read, work and show until the person leaves; returns the exit code."""
        self.host = host
        self._sit_down(desk)
        if self._early is not None:
            self.editor.type_ahead(self._early.typed)
        self.screen.painter.raw(BRACKETED_PASTE)
        ticking = asyncio.create_task(self.screen.run())
        warming = asyncio.create_task(asyncio.to_thread(self._warm))
        if first_prompt:
            self.submit(first_prompt)
        with self._signals():
            try:
                return await self.editor.run()
            except EOFError:
                return 129
            finally:
                await self._stop_work()
                ticking.cancel()
                self._say_goodbye()
                warming.cancel()

    # What the keys do

    def submit(self, text: str) -> None:
        """Enter: begin, or queue for after what goes on."""
        self._remember(text)
        if self.working:
            self.screen.change(replace(self.state, queue=(*self.state.queue, text)))
            return
        self._work = asyncio.get_running_loop().create_task(self._work_through(text))
        self._work.add_done_callback(self._worked)

    def steer(self, text: str) -> None:
        """Alt-Enter while a turn runs: the model hears it at its next safe point."""
        self._remember(text)
        self.desk.steer(attach.prompt(text, self.desk.cwd))
        self.screen.change(replace(self.state, steering=(*self.state.steering, text)))

    def recall(self) -> str | None:
        """Take back the message that was queued last."""
        if not self.state.queue:
            return None
        *rest, last = self.state.queue
        self.screen.change(replace(self.state, queue=tuple(rest)))
        return last

    def act(self, act: Act) -> None:
        """A key that is no edit."""
        match act:
            case "interrupt":
                self.interrupt()
            case "break":
                self._break()
            case "leave":
                self.leave()
            case "mode":
                self._next_mode()
            case "output":
                self._whole_output()
            case "thinking":
                self.look = replace(self.look, thinking=not self.look.thinking)
                self._notice(f"Thinking is {'shown' if self.look.thinking else 'folded'} from now on.")
            case "keys":
                self._list_keys()
            case "search":
                self._background(self._search())
            case "editor":
                self._background(self._edit_draft())
            case "background":
                self._notice("Nothing that runs can be sent to the background.")
            case "redraw":
                self.screen.erase()

    def press(self, key: str) -> None:
        """A key for the open dialog."""
        self.asking_.press(key)
        self.screen.paint()

    def typed(self) -> None:
        """The line of the open dialog changed."""
        self.asking_.typed()

    def paint(self) -> None:
        """Show what changed."""
        self.screen.paint()

    def erase(self) -> None:
        """Somebody else writes now."""
        self.screen.erase()

    def interrupt(self) -> None:
        """Ask what goes on to end."""
        if self.working:
            self._interrupt.set()

    # What commands use

    def say(self, *lines: str) -> None:
        """Print lines of text; whatever they hold is made safe and wrapped."""
        rows = [row for line in lines for row in wrap(safe(line).expandtabs(4), self.columns - 1)]
        self.show(*rows)

    def show(self, *lines: str) -> None:
        """Print lines that are coloured already and hold nothing unsafe."""
        self.screen.print(Printed(lines))

    def warn(self, text: str) -> None:
        """Tell of something that did not work."""
        self.screen.print(Note("error", safe(text)))

    def tell(self, events: Sequence[Event]) -> None:
        """Show what happened."""
        for event in events:
            self.screen.hear(event)
        self.screen.refresh()

    async def play(self, doing: str, work: Callable[[asyncio.Event], AsyncIterator[Event]]) -> None:
        """Show a stream of events as it happens; Esc interrupts it."""
        self._interrupt.clear()
        self.screen.change(self.state.begin(doing, time.monotonic()))
        try:
            async with aclosing(work(self._interrupt)) as events:  # type: ignore[type-var]
                async for event in events:
                    self.screen.hear(event)
        finally:
            self.screen.print()
            self.screen.change(self.state.end())

    async def pick(self, title: str, choices: Sequence[Choice]) -> int | None:
        """Let the person choose from a list."""
        return await self.asking_.pick(title, choices)

    async def confirm(self, title: str, body: Sequence[str] = ()) -> bool:
        """A yes-or-no question; no is the default."""
        return await self.asking_.confirm(title, body)

    async def compose(self, text: str, ending: str = ".md") -> str:
        """The text after the person changed it in $VISUAL or $EDITOR."""
        from prompt_toolkit.application import in_terminal

        command = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
        with tempfile.TemporaryDirectory(prefix="agentcli-") as folder:
            file = Path(folder, "text" + ending)
            file.write_text(text, encoding="utf-8")
            async with in_terminal():
                self.screen.away(True)
                process = await asyncio.create_subprocess_exec("sh", "-c", f'{command} "$1"', "sh", str(file))
                code = await process.wait()
                self.screen.away(False)
            return file.read_text(encoding="utf-8").rstrip("\n") if code == 0 else text

    def move_to(self, desk: Desk) -> None:
        """Go on with another session."""
        self.desk.close()
        self._sit_down(desk)

    def draft(self, text: str) -> None:
        """Put a text into the input."""
        self.editor.put(text)
        self.editor.repaint()

    def send(self, text: str) -> None:
        """Say something to the model next."""
        self.screen.change(replace(self.state, queue=(text, *self.state.queue)))

    def copy(self, text: str) -> None:
        """Put a text on the clipboard by OSC 52, which most terminals understand, also over ssh."""
        import base64

        self.screen.painter.raw(f"\x1b]52;c;{base64.b64encode(text.encode()).decode()}\a")

    def leave(self, code: int = 0) -> None:
        """End the program."""
        self.editor.leave(code)

    # What goes on

    async def _work_through(self, text: str) -> None:
        """Do what was typed, then what was queued meanwhile."""
        while True:
            began = time.monotonic()
            try:
                await self._perform(text)
            except AgentError as error:
                self.screen.change(self.state.end())
                self.warn(str(error))
            self.screen.refresh()
            if time.monotonic() - began > self.settings.notify_after:
                self._notify("agentcli is done")
            if not self.state.queue:
                return
            text, *rest = self.state.queue
            self.screen.change(replace(self.state, queue=tuple(rest)))

    async def _perform(self, text: str) -> None:
        if text.startswith("/") and "/" not in text.split()[0][1:]:
            self.show("", self.look.theme.paint("said", "> " + safe(text).replace("\n", " ")))
            await commands.run(self, text)
        elif text.startswith("!"):
            await self._shell(text.lstrip("!").strip(), shared=not text.startswith("!!"))
        else:
            ahead, self._ahead = tuple(self._ahead), []
            prompt = await asyncio.to_thread(attach.prompt, text, self.desk.cwd, ahead)
            await self.play("Working", lambda interrupt: self.desk.turn(prompt, interrupt))

    async def _shell(self, command: str, shared: bool) -> None:
        if not command:
            return
        self._interrupt.clear()
        self.show("", self.look.theme.paint("said", "! " + safe(command)))
        self.screen.change(self.state.begin("Running", time.monotonic()))
        ran = await shell.run(command, self.desk.cwd, lambda _: None, self._interrupt)
        self.screen.change(self.state.end())
        self.say(*(ran.output.rstrip("\n").split("\n") if ran.output.strip() else ()))
        if ran.code or ran.interrupted:
            self.screen.print(Note("warn", "interrupted" if ran.interrupted else f"exit code {ran.code}"))
        if shared:
            self._ahead.append(
                Text(f"$ {command}\n{ran.output}\n(exit code {ran.code})", synthetic=True, source="shell")
            )

    def _worked(self, work: asyncio.Task[None]) -> None:
        """A failure that nobody foresaw ends the program with its traceback; the draft is kept in the history."""
        if not work.cancelled() and (error := work.exception()) is not None and self.editor.application.is_running:
            self.editor.application.exit(exception=error)

    async def _stop_work(self) -> None:
        if self._work is None or self._work.done():
            return
        self._interrupt.set()
        await asyncio.wait({self._work}, timeout=PATIENCE)
        if not self._work.done():
            self._work.cancel()
            await asyncio.wait({self._work}, timeout=PATIENCE)

    def _break(self) -> None:
        """Ctrl-C: interrupt, else clear, else leave when it comes twice."""
        now = time.monotonic()
        twice, self._broken_at = now - self._broken_at < TWICE, now
        if twice and not self.editor.draft.text:
            self.leave(130 if self.working else 0)
        elif self.working:
            self.interrupt()
        elif self.editor.draft.text:
            self._remember(self.editor.take())
        else:
            self._notice("Ctrl-C again leaves.")

    def _next_mode(self) -> None:
        now = self.desk.mode
        after = CYCLE[(CYCLE.index(now) + 1) % len(CYCLE)] if now in CYCLE else CYCLE[0]
        self.tell(self.desk.switch(mode=after))

    def _whole_output(self) -> None:
        """Print the newest call's whole output; each further Ctrl-O the one before."""
        outputs = self.state.outputs
        if not outputs:
            self._notice("No tool has run yet.")
            return
        self._opened = self._opened % len(outputs) + 1
        one = outputs[-self._opened]
        result = one.result
        if result.output_file:
            result = replace(result, output=self.desk.journal.output(result.output_file) or result.output)
        self.show("", *called(replace(one, result=result), self.columns, self.look, whole=True))

    def _list_keys(self) -> None:
        from agentcli.ui.keys import HELP

        wide = max(len(key) for key, _ in HELP) + 2
        self.say("", *(key.ljust(wide) + does for key, does in HELP))

    async def _search(self) -> None:
        """Ctrl-R: earlier prompts of all sessions and projects, newest first."""
        seen = list(dict.fromkeys(one.text for one in reversed(self._past)))
        folders = {one.text: one.folder for one in self._past}
        choices = [Choice(safe(text).replace("\n", " ⏎ "), safe(folders[text])) for text in seen]
        chosen = await self.asking_.pick("Earlier prompts", choices)
        if chosen is not None:
            self.draft(seen[chosen])

    async def _edit_draft(self) -> None:
        self.draft(await self.compose(self.editor.pastes.unfold(self.editor.draft.text)))

    # Small services

    def _sit_down(self, desk: Desk) -> None:
        self.desk = desk
        known = [Words(name, commands.summary(name), self._arguments(name)) for name in commands.COMMANDS]
        self._completion = Completion(known, Files(desk.cwd))
        self.screen.status = Telling(desk)
        self.screen.change(replace(self.state, todo=desk.history.todo))
        for record in desk.history.entries[-self.settings.replay :]:
            self.screen.hear(Recorded(record))
        self.screen.refresh()

    def _arguments(self, name: str) -> Callable[[], Sequence[Item]]:
        found = commands.ARGUMENTS.get(name)
        return (lambda: found(self)) if found is not None else tuple

    def _complete(self, before: str) -> Menu:
        return self._completion(before) if len(before) < 5_000 else Menu()

    def _remember(self, text: str) -> None:
        typed = history.Typed(text, str(Path.cwd()))
        self._past.append(typed)
        if self._history is not None:
            history.append(self._history, typed, self.settings.history)

    def _notice(self, text: str) -> None:
        self.screen.change(replace(self.state, notice=text))

    def _notify(self, text: str) -> None:
        """Tell a person who looks elsewhere, by OSC 9 and the bell."""
        if self.settings.notify != "off":
            self.screen.painter.raw(f"\x1b]9;{safe(text)[:200]}\a\a")

    def _background(self, work: object) -> None:
        self.editor.application.create_background_task(work)  # type: ignore[arg-type]

    def _warm(self) -> None:
        from agentcli.ui.markdown import warm

        warm(self.look.theme)

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self.leave, 128 + number)
        try:
            yield
        finally:
            for number in (signal.SIGTERM, signal.SIGHUP):
                loop.remove_signal_handler(number)

    def _say_goodbye(self) -> None:
        if self.editor.draft.text.strip():
            self._remember(self.editor.take())
        with contextlib.suppress(OSError):
            if self.desk.journal.folder is not None:
                self.show("", f"agentcli resume {self.desk.journal.id}")
            self.screen.close()
            self.screen.painter.raw("\x1b[?2004l")
        if self._early is not None:
            self._early.restore()
