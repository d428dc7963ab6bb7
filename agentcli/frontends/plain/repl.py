"""Line-based REPL for dumb terminals, screen readers and logs: no colours, no cursor movement."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from agentcli.agent.ports import AGAIN, ApprovalRequest, ApprovalResponse, Interruptible, Prompt
from agentcli.core.errors import HANGUP, INTERRUPTED, AgentError
from agentcli.core.event import Event
from agentcli.core.message import Part, Text
from agentcli.core.tasks import start_task
from agentcli.frontends.commands.base import CommandContext, Queued
from agentcli.frontends.commands.registry import SlashCommands, slash_commands
from agentcli.frontends.plain import narration
from agentcli.frontends.plain.lines import LineTerminal
from agentcli.frontends.plain.questions import PlainAsking
from agentcli.frontends.terminal.dialogs.dialogs import UNFILTERED, Filter
from agentcli.frontends.terminal.idle import PAUSES, Idle
from agentcli.frontends.terminal.input import user_shell
from agentcli.frontends.terminal.input.attachments import with_attachments
from agentcli.frontends.terminal.reading import reports_on
from agentcli.frontends.terminal.render.pieces import each
from agentcli.frontends.terminal.render.state import State, update
from agentcli.frontends.terminal.settings import UiSettings
from agentcli.frontends.terminal.start_questions import settle
from agentcli.frontends.terminal.turns import farewell, typed
from agentcli.program.commands import Choice

if TYPE_CHECKING:
    from agentcli.agent.session import AgentSession
    from agentcli.frontends.terminal.sharing import Sharing
    from agentcli.frontends.terminal.startup import Open
    from agentcli.program.program import Program


TWICE = 1.5
"""Seconds within which a second Ctrl-C leaves."""


DUE_EVERY = 1.0
"""Seconds between two looks for prompts that are due."""


PATIENCE = 0.75
"""Seconds for interrupted work to end after a signal, and again after its cancellation."""


_SIGNALS = (signal.SIGTERM, signal.SIGHUP)


_ALL = (signal.SIGINT, *_SIGNALS)


_HELP = (
    "Enter sends a line. Lines typed while it works wait for their turn.",
    "Ctrl-C interrupts, keeping what has arrived; twice: quit. Ctrl-D quits.",
    "A line that begins with / is a command: /help lists them. @path attaches a file or folder.",
    "!command runs a shell command and shows it to the model, !!command without showing it.",
    "Answer questions with a number, y or n, or e to edit the proposal.",
)


def run(open_: Open, *, prompts: Sequence[str] = ()) -> int:
    """Run the REPL; returns the exit code."""
    _guard()
    terminal = PlainTerminal()
    with reports_on() as report:
        program, sharing, session = open_(terminal.approve, terminal.ask_user, report)
    return asyncio.run(terminal.run(program, sharing, session, prompts))


def _guard() -> None:
    """Install signal handlers that exit at once: for phases without work to stop first."""
    for number in _ALL:
        signal.signal(number, lambda number, _: os._exit(128 + number))


def _take_back(loop: asyncio.AbstractEventLoop) -> None:
    """Move the signal handlers from a closing loop back to the process: it would reset them to the default."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ALL)
    for number in _ALL:
        loop.remove_signal_handler(number)
    _guard()
    signal.pthread_sigmask(signal.SIG_SETMASK, before)


class PlainTerminal(LineTerminal, CommandContext):
    """Line-based terminal; also the context of slash commands."""

    commands: SlashCommands

    def __init__(self) -> None:
        super().__init__()
        self.state = State()
        self._interrupt = asyncio.Event()
        self.working = self._left = False
        self._code = 0
        self._ended = asyncio.Event()
        self._pressed_at = 0.0
        self._next: list[str] = []
        self._ahead: list[Part] = []
        self._asking = PlainAsking(self)
        self._elsewhere: list[str] = []
        """Messages from elsewhere that begin a turn."""
        self.ask_user = self._asking.ask_user
        self._idle = Idle(self)

    async def run(self, program: Program, sharing: Sharing, session: AgentSession, prompts: Sequence[str] = ()) -> int:
        """Run the REPL until the user leaves; return the exit code."""
        self.program, self.sharing, self.session = program, sharing, session
        self.commands = slash_commands(program)
        settings, wanted = program.config[UiSettings], program.sessions.wanted
        self._next = [*([f"/resume {wanted}"] if wanted else ()), *filter(None, prompts)]
        sharing.front = self
        self._shared = settings.remote
        self.look = replace(
            self.look, thinking=settings.thinking, folder=str(session.cwd), for_people=session.for_people
        )
        self._idle.quiet, self._idle.cold_cost = settings.idle_after, settings.cold_cost
        self._idle.pauses = None if program.options.no_session else program.dirs.state / PAUSES
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, self._break)
        for number in _SIGNALS:
            loop.add_signal_handler(number, self._end, 128 + number)
        try:
            with self._lines.open():
                await self._until_ended(start_task(self._loop()))
        finally:
            for number in _ALL:
                # The program is ending: nothing may interrupt the saving.
                loop.add_signal_handler(number, lambda: None)
            await self._idle.stop()
            self.say(*farewell(self.program, self.session, moves=self.sharing.leaving is not None))
            await self.sharing.end()
            await self.session.end("prompt_input_exit")
            _take_back(loop)
        return self._code

    async def _loop(self) -> None:
        session = self.session
        self.say(
            f"agentcli, {session.core.model.name}, mode {session.core.approval.mode}. /help lists the commands, /quit exits.",
            *session.notes,
        )
        await settle(self.program, session, self._asking.decide, self.confirm, self.say, self.move_to)
        await self.sharing.begin_if(self._shared, self.warn)
        self.session.begin(self.show_events)
        self._idle.report_cold()
        while not self._left:
            text = self._next.pop(0) if self._next else self.typed_early() or await self._next_input()
            if text is None:
                break
            self._idle.pause()
            await self._do(text)
            self._idle.begin()

    async def _next_input(self) -> str | Prompt | None:
        """Wait for a line, or for a prompt that is due by itself; None at the end of input."""
        while True:
            asked = start_task(self.ask("> "))
            while not asked.done() and not self._elsewhere and not self.session.is_due():
                await asyncio.wait({asked}, timeout=DUE_EVERY)
            # The wait for a line would take the answer to a question of the turn.
            asked.cancel()
            await asyncio.wait({asked})
            if not asked.cancelled():
                return asked.result()
            if self._elsewhere:
                text = self._elsewhere.pop(0)
                self.say(text)
                return text
            self._interrupt.clear()
            prompt = await self.session.due(self._interrupt, self.show_events)
            self.say("")
            if prompt is not None:
                return prompt

    async def _until_ended(self, repl: asyncio.Task[None]) -> None:
        """Wait for the loop or an exit signal.

        A signal interrupts the loop; if it does not end in time, cancel it.
        """
        ended = start_task(self._ended.wait())
        await asyncio.wait({repl, ended}, return_when=asyncio.FIRST_COMPLETED)
        ended.cancel()
        if not repl.done():
            await asyncio.wait({repl}, timeout=PATIENCE)
        if not repl.done():
            repl.cancel()
            await asyncio.wait({repl}, timeout=PATIENCE)
        if repl.done() and not repl.cancelled():
            repl.result()

    async def approve(self, ask: ApprovalRequest) -> ApprovalResponse | None:
        """Request approval of a call."""
        answer = await self._asking.approve(ask)
        self.state = replace(self.state, displayed=self.state.displayed | {ask.call.call_id})
        return answer

    @property
    def waiting(self) -> Sequence[Queued]:
        """Prompts that have not been sent yet."""
        return [*map(Queued, self._next)]

    def requeue(self, waiting: Sequence[Queued]) -> None:
        """Replace the prompts that have not been sent yet."""
        self._next = [one.text for one in waiting]

    async def choose(
        self, title: str, choices: Sequence[Choice], start: int, acts: Mapping[str, str], by: Filter = UNFILTERED
    ) -> tuple[int, str] | None:
        """Let the person pick by number."""
        return await self._asking.choose(title, choices, by)

    async def confirm(self, title: str, body: Sequence[str] = ()) -> bool:
        """Ask a yes-or-no question; no is the default."""
        return await self._asking.confirm(title, body)

    async def enter(self, title: str, text: str = "", hint: str = "") -> str | None:
        """Ask for one line; nothing cancels."""
        return await self._asking.enter(title, text, hint)

    def show_events(self, events: Sequence[Event]) -> None:
        """Print events."""
        for event in events:
            self._hear(event)

    async def play(self, doing: str, work: Interruptible) -> None:
        """Print the events of work as they arrive; Ctrl-C interrupts it."""
        if self._left:
            return
        self._interrupt.clear()
        self.working = True
        self.state = self.state.begin(doing, time.monotonic())
        self.say(f"{doing}.")
        took = self.state.work
        self.sharing.turned()

        async def hear(event: Event) -> None:
            nonlocal took
            took = self.state.work or took
            self._hear(event)

        try:
            await work(self._interrupt, hear)
        finally:
            self.working = False
            self.sharing.turned()
            self._print(self.state.end())
            if took is not None:
                self.say("", narration.ended(took, time.monotonic()))

    def list_keys(self) -> None:
        """Print what lines and keys do."""
        self.say(*_HELP)

    async def compose(self, text: str, ending: str = ".md") -> str:
        """Ask for a new text: a line-based terminal has no editor."""
        return await self.ask("Text: ") or text

    def opened(self, session: AgentSession, *, again: bool = False) -> None:
        """Make a session the open one."""
        self.session = session
        if not again:
            self.say(f"This is session {session.journal.id}.", *session.notes)

    def take(self, text: str) -> str:
        """Send an external message to the running turn, or begin one with it."""
        if self.working:
            self.session.steer(Prompt(text, (Text(text),)))
            return "steered"
        self._elsewhere.append(text)
        return "begun"

    def interrupt(self) -> None:
        """Interrupt the running work."""
        if self.working:
            self._interrupt.set()

    def tell(self, text: str) -> None:
        """Print a line."""
        self.say(text)

    def draft(self, text: str) -> None:
        """Print a prompt for the user to type again."""
        self.say(f"The prompt was: {text}")

    def send(self, text: str, *along: Part) -> None:
        """Queue a prompt first; the parts in `along` are sent with it but not shown."""
        self._ahead += along
        self._next.insert(0, text)

    def leave(self, code: int = 0) -> None:
        """End the program with this exit code."""
        self._code = self._code or code
        self._left = True

    async def _do(self, text: str | Prompt) -> None:
        try:
            if isinstance(text, Prompt):
                await self.play("Working", partial(self.session.run, text))
            elif text.strip() == "?":
                self.list_keys()
            elif self.commands.is_command(text, self.session):
                await self.commands.run(self, text)
            elif text.startswith("!"):
                await self._shell(text.lstrip("!").strip(), shared=not text.startswith("!!"))
            elif text.strip():
                ahead, self._ahead = tuple(self._ahead), []
                prompt = await asyncio.to_thread(with_attachments, text, self.session.cwd, ahead)
                await self.play("Working", typed(self.session, prompt, text, partial(self.draft, text)))
            elif self.state.failed:
                await self.play("Working", partial(self.session.run, AGAIN))
        except AgentError as error:
            self.warn(str(error))

    async def _shell(self, command: str, shared: bool) -> None:
        self._interrupt.clear()
        self.working = True
        box = self.session.shared_command if shared else None
        try:
            ran = await user_shell.run(command, self.session.cwd, lambda _: None, self._interrupt, box)
        finally:
            self.working = False
        self.say(ran.output.rstrip("\n"), *([f"exit code {ran.code}"] if ran.code else []))
        if shared:
            self._ahead.append(user_shell.as_text(ran))

    def _hear(self, event: Event) -> None:
        self.sharing.show([event])
        before = self.state
        after = update(before, event, time.monotonic()).settle()
        self._print(after)
        self.say(*narration.began(before, after, self.look))

    def _print(self, state: State) -> None:
        for piece in each(state.finished):
            self.say(*narration.narrate(piece, self.look))
        self.state = replace(state, finished=())

    def _break(self) -> None:
        now = time.monotonic()
        twice, self._pressed_at = now - self._pressed_at < TWICE, now
        if self.working and not twice:
            self._interrupt.set()
        elif twice:
            self._end(INTERRUPTED)
        else:
            self.say("", "Press Ctrl-C again to exit.")

    def hung_up(self) -> None:
        """Leave: the terminal is gone."""
        self._end(HANGUP)

    def _end(self, code: int) -> None:
        """Leave with this exit code, interrupting the work."""
        self._code = self._code or code
        self._left = True
        self._interrupt.set()
        self._lines.close()
        self._ended.set()
