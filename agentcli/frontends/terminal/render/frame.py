"""Values of one frame: the terminal's size, the edited text with its completions, and the lines to paint."""

from __future__ import annotations

import os

from agentcli.core.dataclass import dataclass
from agentcli.program.command import Item


@dataclass(frozen=True, slots=True)
class Edit:
    """Text being edited: the draft, or a dialog's line.

    `chosen` is -1 while no menu item is chosen; a `cut` menu has only the first matches.
    """

    text: str = ""
    cursor: int = 0
    menu: tuple[Item, ...] = ()
    chosen: int = -1
    mark: str = ""
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Size:
    """The terminal, in cells."""

    columns: int
    rows: int

    @property
    def panel(self) -> int:
        """Rows of a report above the input."""
        return max(3, self.rows - 8)


def terminal_size(descriptor: int) -> Size:
    """Return the size of the terminal with this descriptor; 80 by 24 if unknown."""
    try:
        found = os.get_terminal_size(descriptor)
    except OSError:
        return Size(80, 24)
    return Size(found.columns or 80, found.lines or 24)


@dataclass(frozen=True, slots=True)
class Panel:
    """Reports as tabs: the styled rows of the one at `at`, from `top` on."""

    title: str
    labels: tuple[str, ...]
    at: int
    rows: tuple[str, ...] = ()
    top: int = 0


@dataclass(frozen=True, slots=True)
class Live:
    """Live lines, fewer than the terminal's rows, and the cursor's position in them."""

    lines: tuple[str, ...]
    cursor: tuple[int, int]
