"""The port between editor and program: who receives input."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from agentcli.frontends.terminal.input.completion import Menu

KeyAction = Literal[
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
    "queue",
]
"""Actions of keys other than editing and submitting.

`signal` is an external SIGINT. `queue` sends the messages that a crash left in the queue.
"""


class InputHandler(Protocol):
    """Receives input events: `Startup` while the program loads, then `Terminal`."""

    def submit(self, text: str) -> None:
        """Run a prompt, or queue it while a turn runs."""
        ...

    def steer(self, text: str) -> None:
        """Send a message to the running turn, with the next result."""
        ...

    def act(self, action: KeyAction) -> None:
        """Perform a key action."""
        ...

    def press(self, key: str) -> None:
        """Pass a key to the open dialog: a character, or the name of a key."""
        ...

    def line_changed(self) -> None:
        """Refine the open dialog after a change of its line."""
        ...

    def recall(self) -> str | None:
        """Remove and return the newest queued message."""
        ...

    def complete(self, before: str) -> Menu:
        """Return the completions for the text before the cursor."""
        ...

    @property
    def working(self) -> bool:
        """True while a turn runs."""
        ...

    @property
    def asking(self) -> Literal["", "choice", "entry", "view"]:
        """Kind of the open dialog, or `view` for a full-screen view; empty if none."""
        ...

    @property
    def tabbed(self) -> bool:
        """True while reports are open as tabs."""
        ...

    def paint(self) -> None:
        """Repaint after a key."""
        ...

    def resize(self) -> None:
        """Handle a change of the terminal's size."""
        ...

    def erase(self) -> None:
        """Erase the live lines before other output."""
        ...

    def go_away(self) -> None:
        """Restore the terminal's modes before a suspend."""
        ...

    def come_back(self) -> None:
        """Set the terminal's modes after a suspend, whatever state another program left."""
        ...
