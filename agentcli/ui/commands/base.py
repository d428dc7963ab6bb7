"""Context of a slash command: the open session and the terminal's operations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from agentcli.agent.ports import Interruptible
from agentcli.core.dataclass import dataclass
from agentcli.core.event import Event
from agentcli.core.message import Part
from agentcli.ui.dialogs.dialogs import UNFILTERED, Choice, Filter
from agentcli.ui.render.state import State
from agentcli.ui.style import Look

if TYPE_CHECKING:
    from pathlib import Path

    from agentcli.agent.session import AgentSession
    from agentcli.ui.host import Host


@dataclass(frozen=True, slots=True)
class Queued:
    """A message that waits: to go with the next result if it `steers`, else for the end of the turn."""

    text: str
    steers: bool = False


class CommandContext(Protocol):
    """Port to the terminal for slash commands: session, state, output, dialogs, input."""

    @property
    def host(self) -> Host: ...
    @property
    def session(self) -> AgentSession: ...
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
        """Messages that have not been sent yet, in the order in which they will be."""
        ...

    look: Look

    def requeue(self, waiting: Sequence[Queued]) -> None:
        """Replace the messages that have not been sent yet."""
        ...

    def say(self, *lines: str) -> None:
        """Print lines of text, sanitised and wrapped."""
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

    async def pick(self, title: str, choices: Sequence[Choice], start: int = 0) -> int | None:
        """Let the person pick from a searchable list that starts on the item `start`, and return the index; None if cancelled."""
        ...

    async def choose(
        self, title: str, choices: Sequence[Choice], start: int, acts: Mapping[str, str], by: Filter = UNFILTERED
    ) -> tuple[int, str] | None:
        """Do the same, and return the index with the key that chose: empty for Enter, or one of `acts`, which say what each does. `by`
        looks into the contents of the choices as well.
        """
        ...

    async def confirm(self, title: str, body: Sequence[str] = ()) -> bool:
        """Ask a yes-or-no question; no is the default."""
        ...

    async def enter(self, title: str, text: str = "", hint: str = "") -> str | None:
        """Ask for one line, `text` to begin with; None if cancelled."""
        ...

    def list_keys(self) -> None:
        """Print the keys."""
        ...

    async def compose(self, text: str, ending: str = ".md") -> str:
        """Open the text in the user's editor; returns the edited text."""
        ...

    async def open_file(self, file: Path, line: int) -> None:
        """Open a file at a line in the user's editor."""
        ...

    async def move_to(self, session: AgentSession) -> None:
        """Switch to another session and end the open one."""
        ...

    def draft(self, text: str) -> None:
        """Put text into the input."""
        ...

    def send(self, text: str, *along: Part) -> None:
        """Send a prompt to the model; the parts in `along` go with it and are not shown."""
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
