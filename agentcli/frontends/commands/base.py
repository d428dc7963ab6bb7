"""Context of a slash command: the open session and the terminal's operations."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from agentcli.agent.ports import Interruptible
from agentcli.core.dataclass import dataclass
from agentcli.core.event import Event
from agentcli.core.message import Part
from agentcli.frontends.terminal.dialogs.dialogs import UNFILTERED, Filter
from agentcli.frontends.terminal.render.state import State
from agentcli.frontends.terminal.style import Look
from agentcli.program.command import Command, Group, help_of
from agentcli.program.commands import Arguments, Choice, Terminal

if TYPE_CHECKING:
    from pathlib import Path

    from agentcli.frontends.terminal.sharing import Sharing


@dataclass(frozen=True, slots=True)
class Queued:
    """A waiting message: for the next result if it `steers`, else for the end of the turn."""

    text: str
    steers: bool = False


class CommandContext(Terminal, Protocol):
    """Port to the terminal for its own slash commands: in addition the state, output, dialogs, input."""

    @property
    def sharing(self) -> Sharing:
        """Sharing of the open session with other programs of the user."""
        ...

    @property
    def state(self) -> State: ...
    @property
    def columns(self) -> int: ...
    @property
    def interrupted(self) -> bool:
        """True if Ctrl-C cancelled the last dialog."""
        ...

    @property
    def waiting(self) -> Sequence[Queued]:
        """Unsent messages, in the order in which they will be sent."""
        ...

    look: Look

    def requeue(self, waiting: Sequence[Queued]) -> None:
        """Replace the messages that have not been sent yet."""
        ...

    def show(self, *lines: str) -> None:
        """Print styled, safe lines as they are."""
        ...

    def warn(self, text: str) -> None:
        """Print an error."""
        ...

    def show_events(self, events: Sequence[Event]) -> None:
        """Apply events to the screen state."""
        ...

    async def play(self, doing: str, work: Interruptible) -> None:
        """Show the events of work as they arrive; interruptible."""
        ...

    async def choose(
        self, title: str, choices: Sequence[Choice], start: int, acts: Mapping[str, str], by: Filter = UNFILTERED
    ) -> tuple[int, str] | None:
        """Let the person pick as with `pick`, and return the index and the key used.

        The key is empty for Enter, otherwise one of `acts`, each with its description. `by` also searches the contents
        of the choices.
        """
        ...

    def list_keys(self) -> None:
        """Print the keys."""
        ...

    async def compose(self, text: str, ending: str = ".md") -> str:
        """Open the text in the user's editor; return the edited text."""
        ...

    async def open_file(self, file: Path, line: int) -> None:
        """Open a file at a line in the user's editor."""
        ...

    def draft(self, text: str) -> None:
        """Put text into the input."""
        ...

    def send(self, text: str, *along: Part) -> None:
        """Send a prompt to the model; the parts in `along` are sent with it but not shown."""
        ...

    def copy(self, text: str) -> None:
        """Copy text to the clipboard, if the terminal supports it."""
        ...

    def toggle_vi(self) -> bool:
        """Toggle vi key bindings; True if they are on now."""
        ...

    def leave(self, code: int = 0) -> None:
        """End the program with this exit code."""
        ...


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
) -> Callable[[Run], TerminalCommand]:
    """Make a terminal command of a function; its docstring is the help."""

    def decorate(function: Run) -> TerminalCommand:
        taken = None if values is None else tuple(values)
        return TerminalCommand(help_of(function), group, at_once, arguments, tuple(aliases), taken, run=function)

    return decorate
