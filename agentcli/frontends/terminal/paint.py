"""Painter, the only writer to the terminal: updates the screen with the fewest bytes."""

from __future__ import annotations

import errno
import os
import select
import time
from collections.abc import Callable, Mapping, Sequence

from agentcli.frontends.terminal.early import PAINTED, PAINTING
from agentcli.frontends.terminal.paint_log import ASK_WIDTH, Paint, PaintLog
from agentcli.frontends.terminal.render.frame import Size
from agentcli.frontends.terminal.render.pieces import Piece
from agentcli.system.cells import ESCAPE, RESET, before, certain, width

Write = Callable[[str], None]
Place = tuple[int, int]
"""Row and column, from 0."""

ALIKE = 12
"""Common first characters from which two lines count as one changed line."""
_CONTINUES = "\u200d\ufe0e\ufe0f"
_FOLDING_PROGRAMS = frozenset(
    {"iTerm.app", "Apple_Terminal", "WezTerm", "vscode", "ghostty", "Hyper", "Tabby", "WarpTerminal", "rio"}
)
_FOLDING_TERMINALS = ("tmux", "xterm-kitty", "xterm-ghostty", "alacritty", "foot", "wezterm", "contour", "rio")


def to_terminal(descriptor: int) -> Write:
    """Return a blocking writer to the terminal's descriptor.

    Writes to a closed terminal are dropped: the end of its input ends the program.
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
        self.log: PaintLog | None = None
        """None if the terminal's width is not queried."""

    def assume(self, live: Sequence[str], cursor: Place) -> None:
        """Assume these lines on the screen, and the cursor there."""
        self._live, self._cursor = list(live), cursor
        if self.log is not None:
            self.log.reset(live[: cursor[0]], cursor[1])

    def check(self) -> PaintLog:
        """Query the terminal's width with each paint from now on; the answers go to the log."""
        self.log = PaintLog()
        self.log.reset(self._live[: self._cursor[0]], self._cursor[1])
        return self.log

    def paint(
        self,
        commit: Sequence[str],
        live: Sequence[str],
        cursor: Place,
        size: Size | None = None,
        valid: Callable[[], bool] = lambda: True,
        pieces: Sequence[tuple[Piece, int]] = (),
    ) -> bool:
        """Print `commit` permanently above `live`, and put the cursor at `cursor`, counted from the first live line.

        `size` is the terminal's, if known; `pieces` are the pieces laid out as `commit`, with their lines. If `valid`,
        called last, returns False, nothing is written, and False is returned.
        """
        old, new = self._live, [*commit, *live]
        if not commit and new == old and cursor == self._cursor:
            return True
        log = self.log if self.log is not None and self.log.asks and size is not None else None
        at, room = len(commit) + cursor[0], max(size.rows - 1 if size else 0, len(live))
        kept = min(_alike(old, new), at) if log is not None else 0
        # A completely written line is no longer reflowed together with a previous one.
        whole, shifted = (range(kept, at), 0) if log is not None else (range(0), _shiftable(old, new, room))
        parts = _rewritten(old, new, whole, shifted, self._cursor[0], at)
        if not valid():
            return False
        if log is not None and size is not None:
            log.sent(Paint(self._cursor[0], kept, new[:at], cursor[1], size.columns, pieces, time.monotonic()))
            parts.append(ASK_WIDTH)
        elif self.log is not None:
            self.log.reset(live[: cursor[0]], cursor[1])
        self._write(PAINTING + "".join(parts) + "\r" + _forward(live[cursor[0]] if live else "", cursor[1]) + PAINTED)
        self._live, self._cursor = list(live), cursor
        return True

    def erase(self) -> None:
        """Erase the live lines; leave the cursor at the first of them."""
        self._write(self._erasure())
        if self.log is not None:
            self.log.reset()

    def refold(
        self, size: Size, folds: bool, valid: Callable[[], bool] = lambda: True, asks: bool = False
    ) -> tuple[Piece, ...] | None:
        """Erase the live lines from a screen resized to `size`, whose reflow has given long lines more rows.

        Returns the pieces that are erased with them, to be printed again. If `valid`, called last, returns False, nothing is
        erased, and None is returned. With `asks`, the width is queried as after a paint.
        """
        row, column = self._cursor
        if not valid():
            return None
        if not folds:
            self.erase()
            return ()
        log = self.log
        if log is None:
            log = PaintLog()
            log.reset(self._live[:row], column)
        row, again = log.erased(size, len(self._live) - row)
        self._cursor = (row, column % size.columns)
        erasure = self._erasure()
        if asks and log is self.log and log.asks:
            log.sent(Paint(row, 0, (), 0, size.columns, (), time.monotonic()))
            erasure += f"{ASK_WIDTH}\r"
        else:
            log.reset()  # the caller or another program writes next, from here on
        self._write(erasure)
        return again

    def _erasure(self) -> str:
        up = f"\x1b[{self._cursor[0]}A" if self._cursor[0] else ""
        # Some terminals push an erase from the first cell on into the scrollback.
        below = "\r\n\x1b[J\x1b[A" if len(self._live) > 1 else "\x1b[J"
        self._live, self._cursor = [], (0, 0)
        return f"\r{up}\x1b[2K{below}"

    def raw(self, sequence: str) -> None:
        """Send a sequence that moves nothing: a bell, a title, a mode."""
        self._write(sequence)


def folds(environment: Mapping[str, str]) -> bool:
    """Return True if the terminal is known to reflow lines when it becomes narrower, rather than cut them.

    If that is unknown, a row may be left behind; counting rows that do not exist would erase printed lines.
    """
    if environment.get("TMUX"):
        return True
    if environment.get("STY"):
        return False
    term, version = environment.get("TERM", ""), environment.get("VTE_VERSION", "")
    named = environment.get("TERM_PROGRAM", "") in _FOLDING_PROGRAMS or term.startswith(_FOLDING_TERMINALS)
    return named or version.isdigit() or any(environment.get(name) for name in ("WT_SESSION", "KITTY_WINDOW_ID"))


def _move(row: int, to: int) -> str:
    """Move from one row to another; create rows that do not exist yet, or no longer."""
    return f"\x1b[{row - to}A" if to < row else "\r\n" * (to - row)


def _shiftable(old: Sequence[str], new: Sequence[str], room: int) -> int:
    """Return how many of the lowest lines to shift instead of rewriting them.

    They must fit into `room` rows or the old lines' rows.
    """
    same, more = _stays(old, new), len(new) - len(old)
    return same if more and more + same <= max(room, len(old)) else 0


def _rewritten(old: Sequence[str], new: Sequence[str], whole: range, shifted: int, row: int, to: int) -> list[str]:
    """Replace lines, and move the cursor from row `row` to row `to`.

    Rewrite the lines in `whole`, and shift the `shifted` lowest lines.
    """
    more, parts = len(new) - len(old), list[str]()
    top = min(len(old), len(new)) - shifted
    for n, line in enumerate(new):
        if shifted and n == top:
            parts.append(_move(row, top) + _shift(more, shifted))
            old = [*old[:top], *[""] * more, *old[len(old) - shifted :]]
            row = top
        before = old[n] if n < len(old) else None
        if before == line and n not in whole:
            continue
        parts.append(_move(row, n) + (f"\r\x1b[2K{line}" if n in whole else _change(before, line)))
        row = n
    if len(old) > len(new):
        parts.append(_move(row, len(new)) + "\r\x1b[J")
        row = len(new)
    return [*parts, _move(row, to)]


def _alike(old: Sequence[str], new: Sequence[str]) -> int:
    """Return the number of equal first lines."""
    pairs = zip(old, new, strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(old), len(new)))


def _stays(old: Sequence[str], new: Sequence[str]) -> int:
    """Return the number of lowest lines that are equal, or begin alike."""
    pairs = zip(reversed(old), reversed(new), strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b and _same(a, b) < ALIKE), min(len(old), len(new)))


def _forward(line: str, column: int) -> str:
    """Move from the beginning of a row to a column.

    Characters whose width differs between terminals are rewritten, so that the cursor ends where this terminal puts it.
    """  # fmt: skip
    begun, more = ("", column) if certain(line) else before(line, column)
    if certain(begun):
        begun, more = "", column
    return (begun and begun + RESET) + f"\x1b[{more}C" * bool(more)


def _shift(more: int, count: int) -> str:
    """Shift the `count` lowest lines down, or up, by `more` rows; the cursor is at the first of them."""
    if more < 0:
        return f"\x1b[{-more}M"
    return "\r\n" * (more + count - 1) + f"\x1b[{more + count - 1}A\x1b[{more}L"


def _change(old: str | None, new: str) -> str:
    """Rewrite a line, the cursor anywhere in its row; keep the common prefix if the line does not become shorter."""
    if not old:
        return "\r" + new
    common = _same(old, new)
    begun = new[:common]
    # A carriage return first: terminals differ in where a full row leaves the cursor. Erase before writing: after a
    # line that fills the row, an erase would remove its last cell. Erase the whole row: tmux counts separately erased
    # cells when it reflows a line.
    if not (certain(new[common:]) and certain(old[common:]) and width(new) >= width(old)):
        return "\r\x1b[2K" + new
    column = width(begun)
    return "\r" + (f"\x1b[{column}C" if column else "") + _in_force(begun) + new[common:]


def _same(old: str, new: str) -> int:
    """Return the length of the common prefix that need not be rewritten: whole clusters and sequences of certain width."""
    common = next((n for n, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    if not certain(new[:common]):
        return 0
    while common and any(line[common : common + 1] and _joins(line[common]) for line in (old, new)):
        common -= 1
    last = new.rfind("\x1b", 0, common)
    if last >= 0 and not ((whole := ESCAPE.match(new, last)) and whole.end() <= common):
        common = last
    return 0 if "\x1b]" in _in_force(new[:common]) else common


def _in_force(begun: str) -> str:
    """Return the sequences in force at the end of a line's prefix."""
    return "".join(ESCAPE.findall(begun, begun.rfind(RESET) + 1))


def _joins(char: str) -> bool:
    return not char.isascii() and (char in _CONTINUES or width(char) == 0)
