"""The only writer to the terminal: turns finished and live lines into the fewest bytes that make the screen show them."""

from __future__ import annotations

import errno
import os
import select
from collections.abc import Callable, Mapping, Sequence

from agentcli.ui.cells import ESCAPE, RESET, certain, chop, width
from agentcli.ui.early import PAINTED

Write = Callable[[str], None]
Place = tuple[int, int]
"""Row and column, from 0."""

_BEGIN, _END = "\x1b[?2026h\x1b[?25l\x1b[?7l", PAINTED
_CONTINUES = "\u200d\ufe0e\ufe0f"
_FOLDING_PROGRAMS = frozenset(
    {"iTerm.app", "Apple_Terminal", "WezTerm", "vscode", "ghostty", "Hyper", "Tabby", "WarpTerminal", "rio"}
)
_FOLDING_TERMINALS = ("tmux", "xterm-kitty", "xterm-ghostty", "alacritty", "foot", "wezterm", "contour", "rio")


def to_terminal(descriptor: int) -> Write:
    """A writer that gives every byte to the terminal, however slowly it takes them.

    A terminal that is gone is written to in vain: the end of its input is what ends the program.
    """

    def write(text: str) -> None:
        data = text.encode(errors="replace")
        while data:
            try:
                data = data[os.write(descriptor, data) :]
            except BlockingIOError:
                select.select([], [descriptor], [])
            except OSError as error:
                if error.errno != errno.EIO:
                    raise
                return

    return write


class Painter:
    """Keeps the live lines at the bottom of the scrollback.

    No line may be wider than the terminal, and the live lines must be fewer than its rows.
    """

    def __init__(self, write: Write) -> None:
        self._write = write
        self._live: list[str] = []
        self._cursor: Place = (0, 0)

    def assume(self, live: Sequence[str], cursor: Place) -> None:
        """These lines stand on the screen already, and the cursor there."""
        self._live, self._cursor = list(live), cursor

    @property
    def live(self) -> Sequence[str]:
        """The lines that can still change."""
        return self._live

    def paint(self, commit: Sequence[str], live: Sequence[str], cursor: Place) -> None:
        """Print `commit` for good above `live`, and put the cursor at `cursor`, counted from the first live line."""
        new = [*commit, *live]
        if not commit and new == self._live and cursor == self._cursor:
            return
        row, parts = self._cursor[0], []
        for n, line in enumerate(new):
            old = self._live[n] if n < len(self._live) else None
            if old == line:
                continue
            parts.append(_move(row, n, len(self._live)))
            parts.append(_change(old, line))
            row = n
        if len(self._live) > len(new):
            parts.append(_move(row, len(new), len(self._live)) + "\r\x1b[J")
            row = len(new)
        at = len(commit) + cursor[0]
        parts.append(_move(row, at, max(len(self._live), len(new))) + f"\r\x1b[{cursor[1]}C" * bool(cursor[1]))
        self._write(_BEGIN + "".join(parts) + ("" if cursor[1] else "\r") + _END)
        self._live, self._cursor = list(live), cursor

    def erase(self) -> None:
        """Take the live lines off the screen; the cursor stands where the first of them was."""
        up = f"\x1b[{self._cursor[0]}A" if self._cursor[0] else ""
        self._write(f"\r{up}\x1b[J")
        self._live, self._cursor = [], (0, 0)

    def refold(self, columns: int, folds: bool) -> None:
        """Take the live lines off a screen that has become `columns` wide. One that folds has given long lines more rows."""
        row, column = self._cursor
        if folds:
            above = sum(rows(line, columns) for line in self._live[:row])
            self._cursor = (above + column // columns, column % columns)
        self.erase()

    def raw(self, sequence: str) -> None:
        """Send a sequence that moves nothing: a bell, a title, a mode."""
        self._write(sequence)


def folds(environment: Mapping[str, str]) -> bool:
    """Whether the terminal is known to fold lines anew when it becomes narrower, and not to cut them off.

    Where that is not known a row may be left behind; to count rows that are not there would take printed lines away.
    """
    if environment.get("TMUX"):
        return True
    if environment.get("STY"):
        return False
    term, version = environment.get("TERM", ""), environment.get("VTE_VERSION", "")
    named = environment.get("TERM_PROGRAM", "") in _FOLDING_PROGRAMS or term.startswith(_FOLDING_TERMINALS)
    return named or version.isdigit() or any(environment.get(name) for name in ("WT_SESSION", "KITTY_WINDOW_ID"))


def rows(line: str, columns: int) -> int:
    """Rows that a line takes on a screen of this width."""
    if width(line) <= columns:
        return 1
    return len(chop(ESCAPE.sub("", line), columns))


def _move(row: int, to: int, height: int) -> str:
    """From one row to another; rows from `height` on do not exist yet and are made."""
    if to < row:
        return f"\x1b[{row - to}A"
    if to < max(height, 1):
        return f"\x1b[{to - row}B" if to > row else ""
    return "\r\n" * (to - row)


def _change(old: str | None, new: str) -> str:
    if not old:
        return "\r" + new
    if _grew(old, new):
        # A carriage return first: where a full row left the cursor is not the same in all terminals.
        return f"\r\x1b[{width(old)}C{new[len(old) :]}"
    erase = "\x1b[K" if width(new) < width(old) or not certain(new) or not certain(old) else ""
    # Erased first: after a line that fills the row, an erase would take its last cell.
    return f"\r{erase}{new}"


def _grew(old: str, new: str) -> bool:
    if not new.startswith(old) or not certain(old) or new[len(old)] in _CONTINUES:
        return False
    # Whatever began in the old line has ended there: its last sequence is a reset.
    last = old.rfind("\x1b")
    return (last < 0 or old.startswith(RESET, last)) and certain(new[len(old)])
