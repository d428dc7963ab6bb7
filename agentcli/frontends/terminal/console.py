"""Console of the open session: output, dialogs, input and session switching at a terminal."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from agentcli.agent.ports import Interruptible
from agentcli.core.event import Event, Noticed, Recorded, Warned
from agentcli.core.message import Part
from agentcli.core.sanitise import safe, safe_line
from agentcli.features.mcp.commands import resources
from agentcli.frontends.commands import prompt_files
from agentcli.frontends.commands.base import CommandContext, Queued
from agentcli.frontends.commands.registry import SlashCommands, by_use, slash_commands
from agentcli.frontends.terminal.dialogs.asking import Asking
from agentcli.frontends.terminal.dialogs.dialogs import UNFILTERED, Filter
from agentcli.frontends.terminal.input.completion import CommandCompletion, Completion, Files
from agentcli.frontends.terminal.input.editing import ExternalEditor
from agentcli.frontends.terminal.input.editor import Editor
from agentcli.frontends.terminal.input.handler import KeyAction
from agentcli.frontends.terminal.input.keys import KEYS, help_rows
from agentcli.frontends.terminal.render.past_messages import newest
from agentcli.frontends.terminal.render.pieces import Note, Printed, UserMessage
from agentcli.frontends.terminal.render.state import State
from agentcli.frontends.terminal.render.status_line import StatusLine
from agentcli.frontends.terminal.screen import Screen
from agentcli.frontends.terminal.style import Look
from agentcli.frontends.terminal.views.tabs import Tabs
from agentcli.program.command import Command, Item
from agentcli.program.commands import Choice, OutputCommand
from agentcli.system.cells import hanging

if TYPE_CHECKING:
    from pathlib import Path

    from agentcli.agent.session import AgentSession
    from agentcli.frontends.terminal.sharing import Sharing
    from agentcli.program.program import Program


LIST_AFTER = 1.0
"""Seconds after which a project's files are listed for completion."""


class Console(CommandContext):
    """The terminal's screen and input for the open session. `interrupt` is set to interrupt the running work."""

    commands: SlashCommands
    asking: Asking
    keys: Mapping[KeyAction, str] = KEYS
    status_line: StatusLine
    completion: Completion

    def __init__(self, screen: Screen, editor: Editor) -> None:
        self.screen, self.editor = screen, editor
        self.interrupt = asyncio.Event()
        self.before_prompt: list[Part] = []
        """Parts that precede the next prompt."""
        self._replay = 0
        self._command: UserMessage | None = None
        """The line of the running slash command, until it is printed."""
        self._cancelled = False
        self.beside = Beside(screen, self.notice, self.withdraw)
        self.tabs = Tabs(screen)
        self._external = ExternalEditor(screen.elsewhere, self.warn)

    def attach(self, program: Program, sharing: Sharing) -> None:
        """Use the program whose sessions are shown, with its slash commands."""
        self.program, self.sharing = program, sharing
        self.commands = slash_commands(program)

    @property
    def look(self) -> Look:
        """Appearance of the output."""
        return self.screen.look

    @look.setter
    def look(self, look: Look) -> None:
        self.screen.look = look
        self.screen.refresh()

    @property
    def state(self) -> State:
        """State of the screen."""
        return self.screen.state

    @state.setter
    def state(self, state: State) -> None:
        self.screen.change(state)

    @property
    def columns(self) -> int:
        """Width of the terminal in cells."""
        return self.screen.size.columns

    @property
    def interrupted(self) -> bool:
        """True if Ctrl-C cancelled the last dialog."""
        return self.asking.interrupted

    @property
    def waiting(self) -> Sequence[Queued]:
        """Unsent messages, in the order in which they will be sent."""
        return [*(Queued(text, steers=True) for text in self.state.steering), *map(Queued, self.state.queue)]

    def requeue(self, waiting: Sequence[Queued]) -> None:
        """Replace the unsent messages; steering messages are among those that the session still has."""
        known = {prompt.text: prompt for prompt in self.session.conversation.withdraw()}
        steering = [one.text for one in waiting if one.steers and one.text in known]
        for text in steering:
            self.session.steer(known[text])
        queue = tuple(one.text for one in waiting if not one.steers)
        self.state = replace(self.state, steering=tuple(steering), queue=queue)

    def queue_late(self) -> None:
        """Put messages that came too late for the turn first in the queue."""
        late = [prompt.text for prompt in self.session.conversation.withdraw()]
        self.state = replace(self.state, steering=(), queue=(*late, *self.state.queue))

    def say(self, *lines: str) -> None:
        """Print lines of text, sanitised and wrapped."""
        self.show(*(row for line in lines for row in hanging(safe(line).expandtabs(4), self.columns - 1)))

    def show(self, *lines: str) -> None:
        """Print styled, safe lines as they are."""
        self._print_command()
        self.screen.print(Printed(lines))

    def warn(self, text: str) -> None:
        """Print an error."""
        self._print_command()
        self.screen.print(Note("error", safe(text)))

    async def run_command(self, line: str) -> None:
        """Run a slash command. Its line is printed above its first output.

        It is not printed if its dialog is cancelled or its text stays unchanged in the user's editor. When
        `agentcli resume` asks for a session, it is not printed either, because the user did not type that line.
        """  # fmt: skip
        self._command = None if self.program.sessions.choosing else UserMessage(safe(line))
        self._cancelled = False
        try:
            await self.commands.run(self, line)
        finally:
            if not self._cancelled:
                self._print_command()
            self._command = None

    def _print_command(self) -> None:
        line, self._command = self._command, None
        if line is not None:
            self.screen.print(line)

    def notice(self, text: str, seconds: float | None = None) -> None:
        """Show a transient notice above the input, removed after `seconds` if given."""
        self.state = replace(self.state, notice=text)
        if seconds is not None:
            asyncio.get_running_loop().call_later(seconds, self.withdraw, text)

    def withdraw(self, notice: str) -> None:
        """Remove a notice if it is still the one shown."""
        if self.state.notice == notice:
            self.state = replace(self.state, notice="")

    def show_events(self, events: Sequence[Event]) -> None:
        """Show events that the user requested; `/why` lists only automatic actions."""
        self._print_command()
        automatic = self.state.acts
        for event in events:
            self.screen.apply(event)
        self.sharing.show(events)
        self.state = replace(self.state, acts=automatic)
        self.screen.refresh()

    async def play(self, doing: str, work: Interruptible) -> None:
        """Show the events of work as they arrive; Esc interrupts it. Beside other work only its notices are shown, and Esc stops it first."""
        self._print_command()
        if self.state.work is not None:
            await self.beside.play(doing, work)
            return
        sharing = self.sharing

        async def show(event: Event) -> None:
            self.screen.apply(event)
            sharing.share.show(event)

        with self.screen.working(doing):
            self.interrupt.clear()
            sharing.turned()
            try:
                await work(self.interrupt, show)
            finally:
                sharing.turned()

    async def choose(
        self, title: str, choices: Sequence[Choice], start: int, acts: Mapping[str, str], by: Filter = UNFILTERED
    ) -> tuple[int, str] | None:
        """Let the person pick from a searchable list."""
        chosen = await self.asking.choose(title, choices, start, acts, by)
        self._cancelled = chosen is None
        return chosen

    async def confirm(self, title: str, body: Sequence[str] = ()) -> bool:
        """Ask a yes-or-no question; no is the default."""
        return await self.asking.confirm(title, body)

    async def enter(self, title: str, text: str = "", hint: str = "") -> str | None:
        """Ask for one line; None if cancelled."""
        entered = await self.asking.enter(title, text, hint)
        self._cancelled = entered is None
        return entered

    async def compose(self, text: str, ending: str = ".md") -> str:
        """Open the text in the user's editor; return the edited text."""
        edited = await self._external.compose(text, ending)
        self._cancelled = edited == text
        return edited

    async def open_file(self, file: Path, line: int) -> None:
        """Open a file at a line in the user's editor."""
        await self._external.open_file(file, line)

    async def show_tabs(self, tabs: Sequence[OutputCommand], at: int) -> bool:
        """Show several reports as tabs above the input."""
        self._print_command()
        await self.tabs.show(self, tabs, at)
        return True

    def list_keys(self) -> None:
        """Print the keys."""
        self.show("", *help_rows(self.keys, self.columns - 1, self.look.theme))

    async def move_to(self, session: AgentSession) -> None:
        """Switch to another session and end the open one; the same session reopened is not ended."""
        await self.beside.ended()
        await super().move_to(session)

    def opened(self, session: AgentSession, *, again: bool = False) -> None:
        """Attach to a session and show its last messages, as many as at the start."""
        if not again:
            self.show("", self.look.theme.paint("dim", f"── session {safe_line(session.journal.id)} ──"))
        shown = self.session.notes if again else ()
        self.show_session(session, self._replay, self.status_line.facts, shown=shown)

    def show_session(self, session: AgentSession, replay: int, facts: str, shown: Sequence[str] = ()) -> None:
        """Attach to a session and show its last `replay` messages and results, and its notes except those already
        `shown`.

        `facts`: names of the facts in the status line, separated by blanks; empty for the default.
        """
        self.session, self._replay = session, replay
        self.completion = _completion(self)
        # List the files before the first @, in the background, so that no key waits for it.
        asyncio.get_running_loop().call_later(LIST_AFTER, self.completion.files.refresh)
        self.status_line = StatusLine(session, facts)
        self.screen.look = replace(self.screen.look, folder=str(session.cwd), for_people=session.for_people)
        self.screen.status = self.status_line
        for record in newest(session.journal, replay):
            self.screen.apply(Recorded(record))
        self.state = replace(self.state.settle(), todo=session.history.todo, todo_changed=False, acts=(), steering=())
        self.show_events([Warned(note) for note in session.notes if note not in shown])
        self.screen.refresh()

    def draft(self, text: str) -> None:
        """Put text into the input."""
        self.editor.put(text)
        self.editor.repaint()

    def send(self, text: str, *along: Part) -> None:
        """Queue a prompt first; the parts in `along` are sent with it but not shown."""
        self.before_prompt += along
        self.state = replace(self.state, queue=(text, *self.state.queue))

    def copy(self, text: str) -> None:
        """Copy text to the clipboard by OSC 52, which most terminals support, also over ssh."""
        self.screen.painter.raw(f"\x1b]52;c;{base64.b64encode(text.encode()).decode()}\a")

    def toggle_vi(self) -> bool:
        """Toggle vi key bindings; True if they are on now."""
        self.editor.edit_like("emacs" if self.editor.vi else "vi")
        return self.editor.vi

    def leave(self, code: int = 0) -> None:
        """End the program; queued prompts and commands no longer run."""
        self.requeue(())
        self.editor.leave(code)


class Beside:
    """Works that run beside a turn, the newest last. `notice` shows a line until `withdraw` removes it."""

    def __init__(self, screen: Screen, notice: Callable[[str], object], withdraw: Callable[[str], object]) -> None:
        self._screen, self._notice, self._withdraw = screen, notice, withdraw
        self._running: dict[asyncio.Event, asyncio.Event] = {}
        """The interrupt of each, and an event that is set at its end."""

    async def play(self, doing: str, work: Interruptible) -> None:
        """Carry out work, showing its notices and warnings."""
        interrupt, done = asyncio.Event(), asyncio.Event()
        self._running[interrupt] = done
        said = f"{doing}. Esc stops it."
        self._notice(said)

        async def show(event: Event) -> None:
            if isinstance(event, Noticed | Warned):
                self._screen.apply(event)

        try:
            await work(interrupt, show)
        finally:
            del self._running[interrupt]
            done.set()
            self._withdraw(said)

    def stop(self) -> bool:
        """Interrupt the newest work that is still running; return False if there is none."""
        for interrupt in reversed(self._running):
            if not interrupt.is_set():
                interrupt.set()
                return True
        return False

    async def ended(self) -> None:
        """Interrupt all, and wait for their end."""
        for interrupt, done in [*self._running.items()]:
            interrupt.set()
            await done.wait()


def _completion(console: Console) -> Completion:
    """Return the completion for a console's open session: its commands with their arguments, and its files."""
    registry = console.commands
    ordered = by_use(registry.all.values())
    known = [
        CommandCompletion(
            one.name, one.summary, _arguments(console, one), one.usage, one.aliases, one.now if one.former else ""
        )
        for one in ordered
    ]
    session = console.session
    return Completion(
        known,
        Files(session.cwd),
        lambda: registry.from_files(session),
        lambda: resources(session),
        lambda: prompt_files.agent_items(session),
        lambda: prompt_files.skill_items(session),
    )


def _arguments(console: Console, command: Command) -> Callable[[], Sequence[Item]]:
    found, parts = command.arguments, [Item(word, summary) for word, summary in console.commands.parts(command.name)]
    if found is None:
        return (lambda: parts) if parts else tuple
    return lambda: [*parts, *found(console.everywhere)]
