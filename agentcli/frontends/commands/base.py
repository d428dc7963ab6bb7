"""Context of a slash command: the open session and the terminal's operations."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from agentcli.agent.ports import Interruptible
from agentcli.core.dataclass import dataclass
from agentcli.core.event import Event
from agentcli.core.message import Part
from agentcli.frontends.terminal.dialogs.dialogs import UNFILTERED, Filter
from agentcli.frontends.terminal.render.state import State
from agentcli.frontends.terminal.start_questions import end_reason
from agentcli.frontends.terminal.style import Look
from agentcli.frontends.terminal.turns import ended_jobs
from agentcli.program.command import Command, Group, help_of
from agentcli.program.commands import Arguments, Choice, Context, OutputCommand, Terminal

if TYPE_CHECKING:
    from pathlib import Path

    from agentcli.agent.session import AgentSession
    from agentcli.frontends.terminal.sharing import Sharing
    from agentcli.program.program import Program


@dataclass(frozen=True, slots=True)
class Queued:
    """A waiting message: for the next result if it `steers`, else for the end of the turn."""

    text: str
    steers: bool = False


class CommandContext(Terminal):
    """Context of slash commands at a terminal: its program and session, its output, dialogs and input.

    The methods with a body do what a terminal of lines can do.
    """

    program: Program
    session: AgentSession
    """The open session."""
    sharing: Sharing
    """Sharing of the open session with other programs of the user."""
    state: State
    look: Look

    @property
    def everywhere(self) -> Context:
        """Context of the commands that work in every front end."""
        return Context(self.session, self.program, self, self.state.acts)

    @property
    def columns(self) -> int:
        """Width of the terminal in cells."""
        return 80

    @property
    def interrupted(self) -> bool:
        """True if Ctrl-C cancelled the last dialog."""
        return False

    @property
    @abstractmethod
    def waiting(self) -> Sequence[Queued]:
        """Unsent messages, in the order in which they will be sent."""

    @abstractmethod
    def requeue(self, waiting: Sequence[Queued]) -> None:
        """Replace the messages that have not been sent yet."""

    def show(self, *lines: str) -> None:
        """Print styled, safe lines as they are."""
        self.say(*lines)

    def warn(self, text: str) -> None:
        """Print an error."""
        self.say(f"Error: {text}")

    @abstractmethod
    def show_events(self, events: Sequence[Event]) -> None:
        """Show events, and apply them to the state."""

    @abstractmethod
    async def play(self, doing: str, work: Interruptible) -> None:
        """Show the events of work as they arrive; interruptible."""

    async def pick(self, title: str, choices: Sequence[Choice], start: int = 0) -> int | None:
        """Let the person pick from a searchable list, and return the index; None if cancelled.

        The list starts on the item `start`.
        """
        chosen = await self.choose(title, choices, start, {})
        return None if chosen is None else chosen[0]

    @abstractmethod
    async def choose(
        self, title: str, choices: Sequence[Choice], start: int, acts: Mapping[str, str], by: Filter = UNFILTERED
    ) -> tuple[int, str] | None:
        """Let the person pick as with `pick`, and return the index and the key used.

        The key is empty for Enter, otherwise one of `acts`, each with its description. `by` also searches the contents
        of the choices.
        """

    async def move_to(self, session: AgentSession) -> None:
        """Switch to another session and end the open one; the same session reopened is not ended."""
        former = self.session
        if session.journal is former.journal:
            self.opened(session, again=True)
            return
        if jobs := ended_jobs(former):
            self.show(*jobs)
        await former.end(end_reason(session))
        self.opened(session)
        await self.sharing.moved()
        session.begin(self.show_events)

    @abstractmethod
    def opened(self, session: AgentSession, *, again: bool = False) -> None:
        """Make a session the open one and show it; `again` if it was reopened."""

    @abstractmethod
    def list_keys(self) -> None:
        """Print the keys."""

    @abstractmethod
    async def compose(self, text: str, ending: str = ".md") -> str:
        """Open the text in the user's editor; return the edited text."""

    async def open_file(self, file: Path, line: int) -> None:
        """Open a file at a line in the user's editor; without an editor, print the place."""
        self.say(f"{file}:{line}")

    @abstractmethod
    def draft(self, text: str) -> None:
        """Put text into the input."""

    @abstractmethod
    def send(self, text: str, *along: Part) -> None:
        """Queue a prompt first; the parts in `along` are sent with it but not shown."""

    async def show_tabs(self, tabs: Sequence[OutputCommand], at: int) -> bool:
        """Show several reports as tabs, the one at `at` first; False if this terminal has no tabs."""
        return False

    def copy(self, text: str) -> None:
        """Copy text to the clipboard; without a clipboard, print it."""
        self.say(text)

    def toggle_vi(self) -> bool:
        """Toggle vi key bindings; True if they are on now. Without them the terminal itself edits lines."""
        return False

    @abstractmethod
    def leave(self, code: int = 0) -> None:
        """End the program with this exit code."""


Run = Callable[[CommandContext, str], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class TerminalCommand(Command):
    """A slash command that works only at a terminal, which it calls directly."""

    run: Run


def terminal_command(
    group: Group,
    *,
    at_once: bool | tuple[str, ...] = False,
    arguments: Arguments | None = None,
    aliases: Sequence[str] = (),
    values: Sequence[str] | None = None,
    former: str = "",
) -> Callable[[Run], TerminalCommand]:
    """Make a terminal command of a function; its docstring is the help."""

    def decorate(function: Run) -> TerminalCommand:
        taken = None if values is None else tuple(values)
        return TerminalCommand(
            help_of(function), group, at_once, arguments, tuple(aliases), taken, former, run=function
        )

    return decorate
