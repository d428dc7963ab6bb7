"""What a slash command may use of the terminal it was typed in."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from agentcli.core.event import Event
from agentcli.core.message import Part
from agentcli.ui.dialogs.dialogs import Choice
from agentcli.ui.render.state import State
from agentcli.ui.style import Look

if TYPE_CHECKING:
    from agentcli.agent.session import AgentSession
    from agentcli.ui.host import Host


class CommandContext(Protocol):
    """The open session, and ways to show, ask and do."""

    @property
    def host(self) -> Host: ...
    @property
    def session(self) -> AgentSession: ...
    @property
    def state(self) -> State: ...
    @property
    def columns(self) -> int: ...

    look: Look

    def say(self, *lines: str) -> None:
        """Print lines of text; whatever they hold is made safe and wrapped."""
        ...

    def show(self, *lines: str) -> None:
        """Print lines that are coloured already and hold nothing unsafe."""
        ...

    def warn(self, text: str) -> None:
        """Tell of something that did not work."""
        ...

    def tell(self, events: Sequence[Event]) -> None:
        """Show what happened."""
        ...

    async def play(self, doing: str, work: Callable[[asyncio.Event], AsyncIterator[Event]]) -> None:
        """Show a stream of events as it happens; it can be interrupted."""
        ...

    async def pick(self, title: str, choices: Sequence[Choice]) -> int | None:
        """Let the person choose from a list, searching; None when they leave it."""
        ...

    async def confirm(self, title: str, body: Sequence[str] = ()) -> bool:
        """A yes-or-no question; no is the default."""
        ...

    async def compose(self, text: str, ending: str = ".md") -> str:
        """The text after the person changed it in their own editor."""
        ...

    def move_to(self, session: AgentSession) -> None:
        """Go on with another session; the one that was open is closed."""
        ...

    def draft(self, text: str) -> None:
        """Put a text into the input."""
        ...

    def send(self, text: str, *along: Part) -> None:
        """Say something to the model, as if it had been typed; what goes along with it is not shown."""
        ...

    def copy(self, text: str) -> None:
        """Put a text on the person's clipboard, where the terminal does that."""
        ...

    def toggle_vi(self) -> bool:
        """Switch between vi's keys and the usual ones; whether it is vi's now."""
        ...

    def leave(self) -> None:
        """End the program."""
        ...
