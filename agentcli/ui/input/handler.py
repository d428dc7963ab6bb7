"""The ports between keys, editor and program: who receives input, and the editor operations that key bindings use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from prompt_toolkit.buffer import Buffer

    from agentcli.ui.input.attachments import Pastes
    from agentcli.ui.input.completion import Menu

Act = Literal[
    "interrupt",
    "break",
    "signal",
    "leave",
    "mode",
    "output",
    "thinking",
    "search",
    "keys",
    "editor",
    "picture",
    "background",
    "redraw",
]
"""What a key can ask for besides editing and sending; `signal` is SIGINT from outside."""


class InputHandler(Protocol):
    """Receives what the keys do beyond the buffer: the lobby while the program loads, then the terminal."""

    def submit(self, text: str) -> None:
        """Enter."""
        ...

    def steer(self, text: str) -> None:
        """Alt-Enter while something goes on."""
        ...

    def act(self, act: Act) -> None:
        """A key that is no edit."""
        ...

    def press(self, key: str) -> None:
        """A key for the open dialog: a character, or the name of a key."""
        ...

    def typed(self) -> None:
        """The line of the open dialog changed."""
        ...

    def recall(self) -> str | None:
        """Take back the message that was queued last."""
        ...

    def complete(self, before: str) -> Menu:
        """What may stand where the cursor is."""
        ...

    @property
    def working(self) -> bool:
        """Whether a turn runs."""
        ...

    @property
    def asking(self) -> Literal["", "choice", "entry"]:
        """Which kind of dialog is open."""
        ...

    def paint(self) -> None:
        """Show what changed."""
        ...

    def resize(self) -> None:
        """The terminal has another size."""
        ...

    def erase(self) -> None:
        """Take the live part off the screen: somebody else writes now."""
        ...

    def go_away(self) -> None:
        """The shell gets the terminal until we come back."""
        ...

    def come_back(self) -> None:
        """The terminal is ours again, in whatever state another program left it."""
        ...


class EditorOps(Protocol):
    """The part of the editor that key bindings use."""

    handler: InputHandler
    draft: Buffer
    menu: Menu
    chosen: int
    pastes: Pastes

    def take(self) -> str:
        """The draft, which is empty then."""
        ...

    def put(self, text: str) -> None:
        """Replace the draft."""
        ...

    def move(self, step: int) -> None:
        """Choose another menu item."""
        ...

    def accept(self) -> None:
        """Insert the chosen menu item, or the first."""
        ...

    def close_menu(self) -> None:
        """No completion until more is typed."""
        ...

    def suspend(self) -> None:
        """Stop until the shell has us go on."""
        ...
