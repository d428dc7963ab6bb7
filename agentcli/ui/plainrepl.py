"""The REPL a line at a time: for dumb terminals, screen readers and logs. Nothing moves, nothing is coloured or drawn."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import termios
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING, assert_never

from agentcli.agent.ports import Answer, Ask, Desk, Host
from agentcli.core.errors import AgentError
from agentcli.core.event import Event, ToolStarted
from agentcli.core.message import Part
from agentcli.core.sanitise import safe
from agentcli.core.tool import Question
from agentcli.ui import attach, commands, shell
from agentcli.ui.commands.offers import Trusts
from agentcli.ui.idle import Idle
from agentcli.ui.look import Look, duration
from agentcli.ui.scroll import brief
from agentcli.ui.settings import Settings
from agentcli.ui.theme import MUTE
from agentcli.ui.view import Called, Choice, Note, Piece, Printed, Reply, Said, State, Thought, call_title, update

if TYPE_CHECKING:
    from agentcli.ui.lobby import Open

TWICE = 1.5
"""Seconds within which a second Ctrl-C leaves."""
PATIENCE = 0.75
"""Seconds that what goes on has to end when a signal ends the program, and once more when it is cancelled."""
INTERRUPTED, HANGUP = 130, 129
_SIGNALS = (signal.SIGTERM, signal.SIGHUP)
OUTPUT_LINES = 20
"""Lines that are printed of what a command printed."""
_ANSWERS = {"1": "once", "y": "once", "yes": "once", "2": "session", "3": "always"}


def run(open_: Open, *, prompts: Sequence[str] = ()) -> int:
    """Run the REPL; returns the exit code."""
    _guard()
    terminal = PlainTerminal()
    host, desk, settings = open_(terminal.approve, terminal.ask_user)
    return asyncio.run(terminal.run(host, desk, settings, prompts))


def _guard() -> None:
    """Have signals end the program at once: for as long as there is no work to be ended first."""
    for number in _SIGNALS:
        signal.signal(number, lambda number, _: os._exit(128 + number))


class PlainTerminal:
    """A person who reads and answers whole lines; also the stage for slash commands."""

    host: Host
    desk: Desk

    def __init__(self) -> None:
        self.look = Look(MUTE)
        self.state = State()
        self.columns = 80
        self._lines = Lines(sys.stdin.fileno())
        self._interrupt = asyncio.Event()
        self._working = self._left = False
        self._code = 0
        self._ended = asyncio.Event()
        self._broken_at = 0.0
        self._next: list[str] = []
        self._ahead: list[Part] = []
        self._idle = Idle(lambda: self._working, lambda: self.desk, self.tell)

    async def run(self, host: Host, desk: Desk, settings: Settings, prompts: Sequence[str] = ()) -> int:
        """Read, work and print until the person leaves; returns the exit code."""
        self.host, self.desk, self._next = host, desk, list(filter(None, prompts))
        self.look = replace(self.look, thinking=settings.thinking)
        self._idle.quiet = settings.idle_after
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, self._break)
        for number in _SIGNALS:
            loop.add_signal_handler(number, self._end, 128 + number)
        with self._lines.open():
            await self._until_ended(asyncio.create_task(self._talk()))
        for number in (signal.SIGINT, *_SIGNALS):
            # We are leaving already, and soon: nothing is to break into the saving.
            loop.add_signal_handler(number, lambda: None)
        await self._idle.stop()
        if self.desk.journal.folder is not None:
            self.say(f"agentcli resume {self.desk.journal.id}")
        self.desk.close()
        _guard()
        return self._code

    async def _talk(self) -> None:
        desk = self.desk
        self.say(f"agentcli, {desk.model.name}, mode {desk.mode}. /help lists the commands, /quit leaves.", *desk.notes)
        await self._ask_for_trust()
        while not self._left:
            text = self._next.pop(0) if self._next else await self._ask("> ")
            if text is None:
                break
            await self._do(text)
            self._idle.begin()

    async def _until_ended(self, talk: asyncio.Task[None]) -> None:
        """Until the person leaves, or a signal ends the program: then what goes on is interrupted, and cancelled if that does not help."""
        ended = asyncio.create_task(self._ended.wait())
        await asyncio.wait({talk, ended}, return_when=asyncio.FIRST_COMPLETED)
        ended.cancel()
        if not talk.done():
            await asyncio.wait({talk}, timeout=PATIENCE)
        if not talk.done():
            talk.cancel()
            await asyncio.wait({talk}, timeout=PATIENCE)
        if talk.done() and not talk.cancelled():
            talk.result()

    async def _ask_for_trust(self) -> None:
        """Whether what this folder would load is wanted."""
        found = self.host.unloaded(self.desk) if isinstance(self.host, Trusts) else ()
        wanted = found and await self.confirm("Do you trust this folder? Until you do, these are not loaded:", found)
        if wanted and isinstance(self.host, Trusts):
            self.move_to(self.host.trust(self.desk))

    async def approve(self, ask: Ask) -> Answer | None:
        """Ask whether a call may run; the whole command or diff is printed first."""
        self.say("", f"Permission needed: {ask.title}", *ask.preview.rstrip("\n").split("\n"), ask.why)
        always = f"3 always ({ask.always}), " if ask.always else ""
        if ask.unsaved:
            self.say(f"No rule can be saved for it: {ask.unsaved}.")
        self._lines.drop()
        several = f", 5 all {len(ask.others) + 1} of this reply" if ask.others else ""
        while True:
            answer = await self._ask(f"1 yes once, 2 yes for this session, {always}4 no{several}? ")
            word = (answer if answer is not None else "n").strip().lower()
            match _ANSWERS.get(word):
                case "once":
                    return Answer("once")
                case "session":
                    return Answer("session")
                case "always" if ask.always:
                    return Answer("always")
                case _ if word in ("5", "all") and ask.others:
                    if await self._all(ask):
                        return Answer("all")
                case _ if word in ("", "4", "n", "no"):
                    words = await self._ask("What should it do instead? ") if answer else ""
                    return Answer("no", words or "")
                case _:
                    self.say("Please answer with one of the numbers.")

    async def _all(self, ask: Ask) -> bool:
        """Whether the other calls of the reply are allowed too; they are printed first."""
        for other in ask.others:
            self.say("", other.title, *other.preview.rstrip("\n").split("\n"))
        return await self.confirm(f"Allow all {len(ask.others) + 1}?")

    async def ask_user(self, questions: Sequence[Question]) -> Sequence[str] | None:
        """Put the model's questions; None at the end of input."""
        answers = []
        for question in questions:
            self.say("", question.question)
            self.say(*(f"{n}. {one.label}  {one.description}" for n, one in enumerate(question.choices, 1)))
            answer = await self._ask("Answer: ")
            if answer is None:
                return None
            number = int(answer) if answer.strip().isdigit() else 0
            known = 0 < number <= len(question.choices)
            answers.append(question.choices[number - 1].label if known else answer)
        return answers

    def say(self, *lines: str) -> None:
        """Print lines of text."""
        self._write("".join(f"{safe(line)}\n" for line in lines))

    def show(self, *lines: str) -> None:
        """Print lines; nothing here has colours."""
        self.say(*lines)

    def warn(self, text: str) -> None:
        """Tell of something that did not work."""
        self.say(f"Error: {text}")

    def tell(self, events: Sequence[Event]) -> None:
        """Print what happened."""
        for event in events:
            self._hear(event)

    async def play(self, doing: str, work: Callable[[asyncio.Event], AsyncIterator[Event]]) -> None:
        """Print a stream of events as it happens; Ctrl-C interrupts it."""
        if self._left:
            return
        self._interrupt.clear()
        self._working = True
        try:
            async with aclosing(work(self._interrupt)) as events:  # type: ignore[type-var]
                async for event in events:
                    self._hear(event)
        finally:
            self._working = False
            self._print(self.state.end())

    async def pick(self, title: str, choices: Sequence[Choice]) -> int | None:
        """Let the person choose by number."""
        self.say(title, *(f"{n}. {one.label}  {one.detail}" for n, one in enumerate(choices, 1)))
        answer = await self._ask("Number, or nothing to leave it: ") or ""
        return int(answer) - 1 if answer.strip().isdigit() and 0 < int(answer) <= len(choices) else None

    async def confirm(self, title: str, body: Sequence[str] = ()) -> bool:
        """A yes-or-no question; no is the default."""
        self.say(title, *body)
        return (await self._ask("y or n? ") or "").strip().lower() in ("y", "yes")

    async def compose(self, text: str, ending: str = ".md") -> str:
        """There is no editor that reads a line at a time: a new text is typed."""
        return await self._ask("Text: ") or text

    def move_to(self, desk: Desk) -> None:
        """Go on with another session."""
        if desk.journal is self.desk.journal:
            self.desk = desk
            return
        self.desk.close()
        self.desk = desk
        self.say(f"This is session {desk.journal.id}.", *desk.notes)

    def draft(self, text: str) -> None:
        """Show a text that the person may want to type again."""
        self.say(f"The prompt was: {text}")

    def send(self, text: str) -> None:
        """Say something to the model next."""
        self._next.insert(0, text)

    def copy(self, text: str) -> None:
        """A plain terminal has no clipboard: the text is printed."""
        self.say(text)

    def toggle_vi(self) -> bool:
        """Lines are edited by the terminal itself."""
        return False

    def leave(self) -> None:
        """End the program."""
        self._left = True

    async def _do(self, text: str) -> None:
        try:
            if commands.is_command(text):
                await commands.run(self, text)
            elif text.startswith("!"):
                await self._shell(text.lstrip("!").strip(), shared=not text.startswith("!!"))
            elif text.strip():
                ahead, self._ahead = tuple(self._ahead), []
                prompt = await asyncio.to_thread(attach.prompt, text, self.desk.cwd, ahead)
                await self.play("Working", lambda interrupt: self.desk.turn(prompt, interrupt))
        except AgentError as error:
            self.warn(str(error))

    async def _shell(self, command: str, shared: bool) -> None:
        self._interrupt.clear()
        self._working = True
        ran = await shell.run(command, self.desk.cwd, lambda _: None, self._interrupt)
        self._working = False
        self.say(ran.output.rstrip("\n"), *([f"exit code {ran.code}"] if ran.code else []))
        if shared:
            self._ahead.append(shell.as_text(ran))

    async def _ask(self, question: str) -> str | None:
        self._write(question)
        line = await self._lines.next()
        if self._lines.gone:
            self._end(HANGUP)
        return line

    def _write(self, text: str) -> None:
        try:
            print(text, end="", flush=True)
        except OSError:
            # The terminal is gone. What is written from now on must not fail once more when the program ends.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            self._end(HANGUP)

    def _hear(self, event: Event) -> None:
        if isinstance(event, ToolStarted):
            self.say(f"Running: {event.title or call_title(event.call)}")
        self._print(update(self.state, event, time.monotonic()))

    def _print(self, state: State) -> None:
        for piece in state.finished:
            self.say(*_plain(piece, self.look))
        self.state = replace(state, finished=())

    def _break(self) -> None:
        now = time.monotonic()
        twice, self._broken_at = now - self._broken_at < TWICE, now
        if self._working and not twice:
            self._interrupt.set()
        elif twice:
            self._end(INTERRUPTED)
        else:
            self.say("", "Ctrl-C again leaves.")

    def _end(self, code: int) -> None:
        """Leave with this exit code, whatever goes on."""
        self._code = self._code or code
        self._left = True
        self._interrupt.set()
        self._lines.close()
        self._ended.set()


class Lines:
    """Lines from a descriptor as they come; None once it has ended. `gone` says that its terminal was closed."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._waiting: asyncio.Queue[str | None] = asyncio.Queue()
        self._rest = b""
        self.gone = False

    @contextlib.contextmanager
    def open(self) -> Iterator[None]:
        """Read in the background."""
        loop = asyncio.get_running_loop()
        loop.add_reader(self._descriptor, self._read)
        try:
            yield
        finally:
            loop.remove_reader(self._descriptor)

    async def next(self) -> str | None:
        """The next line without its end."""
        line = await self._waiting.get()
        if line is None:
            self.close()  # whoever asks next gets no answer either
        return line

    def drop(self) -> None:
        """Throw away what was typed ahead."""
        with contextlib.suppress(termios.error):
            termios.tcflush(self._descriptor, termios.TCIFLUSH)
        self._rest = b""
        ended = False
        while not self._waiting.empty():
            ended = self._waiting.get_nowait() is None or ended
        if ended:
            self.close()

    def close(self) -> None:
        """Have `next` return None."""
        self._waiting.put_nowait(None)

    def _read(self) -> None:
        try:
            data = os.read(self._descriptor, 65536)
        except OSError:
            data, self.gone = b"", True
        if not data:
            asyncio.get_running_loop().remove_reader(self._descriptor)
            self._waiting.put_nowait(None)
            return
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._waiting.put_nowait(line.decode(errors="replace"))


def _plain(piece: Piece, look: Look) -> list[str]:
    """A finished piece in words; what the person typed stands there already."""
    match piece:
        case Reply(block):
            return [*([""] if block.gap else []), *block.source.split("\n")]
        case Said():
            return []
        case Thought(text, seconds):
            return [f"Thought for {duration(seconds)}.", *(text.strip().split("\n") if look.thinking else [])]
        case Called():
            return _called(piece)
        case Note(kind, text):
            return [{"act": "Note: ", "warn": "Warning: ", "error": "Error: "}[kind] + text]
        case Printed(lines):
            return list(lines)
        case _:
            assert_never(piece)


def _called(piece: Called) -> list[str]:
    result = piece.result
    status = "Done" if result.status == "success" else result.status.capitalize()
    lines = [f"{status}: {piece.title}" + (f", {brief(result)}" if brief(result) else "")]
    change = result.metadata.get("diff")
    if isinstance(change, str) and change:
        return [*lines, *change.rstrip("\n").split("\n")]
    if result.failed or "exit_code" in result.metadata:
        output = result.output.rstrip("\n").split("\n")
        cut = [f"({len(output) - OUTPUT_LINES} earlier lines left out)"] if len(output) > OUTPUT_LINES else []
        lines += [*cut, *output[-OUTPUT_LINES:]]
    return lines
