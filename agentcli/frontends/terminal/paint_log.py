"""Log of paints: detects paints that reached the terminal after its size changed.

A terminal reports a new size only after it has reflowed its lines. tmux takes up to a quarter of a second longer. A
paint or an erasure that is under way meanwhile meets other rows than intended.

So each paint ends with a query of the terminal's width. The answers show what is really on the screen, and what must be
printed again.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Sequence

from agentcli.core.dataclass import dataclass
from agentcli.frontends.terminal.render.frame import Size
from agentcli.frontends.terminal.render.pieces import Piece
from agentcli.system.cells import ESCAPE, chop, width

ASK_WIDTH = "\x1b[999C\x1b[6n"
"""Moves to the last column; the terminal answers `ESC[ROW;COLUMNR`. tmux 3.3 swaps the numbers in its answer to
`ESC[18t`.
"""
PATIENCE = 1.0
"""Seconds after which an answer is no longer waited for."""
UNANSWERED = 200
"""Missing answers after which nothing is queried any more."""
HISTORY = 100
"""Permanently printed lines to remember: more than an erasure made for another width can reach."""


@dataclass(frozen=True, slots=True)
class Paint:
    """One paint: the cursor's row before it, the lines that it left above the cursor, and its intended width.

    The first `kept` of these lines existed before; all others were written completely. `pieces` were printed
    permanently, each with its number of lines: together they are the first of the lines.
    """

    row: int
    kept: int
    above: Sequence[str]
    column: int
    columns: int
    pieces: Sequence[tuple[Piece, int]]
    at: float


class PaintLog:
    """Lines above the cursor as the terminal has them: the last permanent ones, then the live part."""

    def __init__(self) -> None:
        self._unanswered: deque[Paint | None] = deque()
        """None for a paint whose answer is no longer needed."""
        self._above: list[str] = []
        self._column = 0
        self._live = 0
        """Number of the first line that the next paint replaces."""
        self._wrong: int | None = None
        """Number of the first wrong line; None if all are correct."""
        self._pieces: list[tuple[int, Piece | None]] = []
        """Printed pieces, each with the number of its first line.

        None stands for the rest of a piece that was erased to be printed again.
        """

    @property
    def waiting(self) -> bool:
        """True while an answer is to come."""
        now = time.monotonic()
        return any(one is not None and now - one.at < PATIENCE for one in self._unanswered)

    @property
    def outstanding(self) -> bool:
        """True while an answer must still be read, useful or not."""
        return bool(self._unanswered) and self.asks

    @property
    def asks(self) -> bool:
        """False if the terminal does not answer."""
        return len(self._unanswered) < UNANSWERED

    def sent(self, paint: Paint) -> None:
        """Add a paint that ends with ASK_WIDTH. Of a terminal that does not answer, few printed pieces are kept."""
        self._give_up(paint.at - PATIENCE)
        self._unanswered.append(paint)

    def answered(self, columns: int) -> bool:
        """Apply the terminal's next answer; return False if its paint met another screen than intended, and must be
        corrected.
        """
        paint = self._unanswered.popleft() if self._unanswered else None
        if paint is None:
            return True
        before = self._wrong
        self._apply(paint, columns)
        return self._wrong is None or (self._wrong == before and columns >= paint.columns)

    def erased(self, size: Size, below: int) -> tuple[int, tuple[Piece, ...]]:
        """Return the rows from the first to be erased to the cursor, and the pieces to print again.

        The caller replaces these lines. `below` is the number of live rows from the cursor's row on. Paints without an
        answer count as correct. Rows that left the screen cannot be changed.
        """
        self._give_up(math.inf)
        first, again = self._live, tuple[Piece, ...]()
        if self._wrong is not None:
            starts = sorted({self._wrong, self._live, *(start for start, _ in self._pieces if start > self._wrong)})
            reach = size.rows - below
            first = next((n for n in starts if self._rows(size.columns, n) <= reach), max(starts))
            again = tuple(piece for start, piece in self._pieces if start >= first and piece is not None)
            self._pieces = [(start, piece if start < first else None) for start, piece in self._pieces]
        self._live, self._wrong = first, None
        return self._rows(size.columns, first), again

    def _give_up(self, until: float) -> None:
        """Count the paints until this time as correct."""
        for n, paint in enumerate(self._unanswered):
            if paint is not None:
                if paint.at > until:
                    break
                self._apply(paint, paint.columns)
                self._unanswered[n] = None

    def reset(self, above: Sequence[str] = (), column: int = 0) -> None:
        """Assume that these live lines are above the cursor; answers to earlier paints are no longer needed."""
        self._unanswered = deque(None for _ in self._unanswered)
        self._above, self._column = list(above), column
        self._wrong, self._live, self._pieces = None, 0, []

    def _apply(self, paint: Paint, columns: int) -> None:
        """Apply a paint that met a screen of this width."""
        first, left = self._live, self._rows(columns, self._live) - paint.row
        if left == 0 and self._wrong is None and columns >= paint.columns:
            tops: Sequence[int] = range(first, first + paint.kept + 1)
            added = paint.above[paint.kept :]
        else:
            first, left = self._met(first, left, columns)
            below = self._above[first:]
            tops = [first + len(first_rows(below, left + n, columns)) for n in range(paint.kept + 1)]
            self._above[first:] = first_rows(below, left + paint.kept, columns)
            added = [cut(line, columns) for line in paint.above[paint.kept :]]
            if columns < paint.columns:
                self._spoil(tops[0])
        spoiled = self._wrong is not None
        self._pieces = [
            (min(start, tops[0]), piece)
            for start, piece in self._pieces
            if start < tops[0] or (piece is not None and spoiled)
        ]
        line = 0
        for piece, lines in paint.pieces:
            self._pieces.append((_place(tops, line), piece))
            line += lines
        self._above[tops[-1] :] = added
        self._live, self._column = _place(tops, line), min(paint.column, columns - 1)
        self._forget()

    def _met(self, first: int, left: int, columns: int) -> tuple[int, int]:
        """Return the first line with replaced rows, and how many rows of it, and of the following ones, are left.

        `left` is the live part's number: if negative, so many permanently printed rows were replaced with it.
        """
        if left > 0:
            self._spoil(first)
        while left < 0 and first > 0:
            first -= 1
            left += rows(self._above[first], columns)
        if first < self._live:
            self._spoil(max((start for start, _ in self._pieces if start <= first), default=first))
        return first, max(left, 0)

    def _spoil(self, line: int) -> None:
        self._wrong = line if self._wrong is None else min(line, self._wrong)

    def _forget(self) -> None:
        """Forget all but the last lines that were printed."""
        gone = self._live - HISTORY
        if gone > 0 and self._wrong is None:
            self._above, self._live = self._above[gone:], HISTORY
            self._pieces = [(start - gone, piece) for start, piece in self._pieces if start >= gone]

    def _rows(self, columns: int, first: int) -> int:
        return sum(rows(line, columns) for line in self._above[first:]) + self._column // columns


def _place(tops: Sequence[int], line: int) -> int:
    """Return the number of a painted line.

    `tops` are the numbers of the lines that the paint left, and of the next line.
    """
    return tops[line] if line < len(tops) else tops[-1] + line - len(tops) + 1


def rows(line: str, columns: int) -> int:
    """Return the number of rows that a line takes on a screen of this width."""
    if width(line) <= columns:
        return 1
    return len(chop(ESCAPE.sub("", line), columns))


def cut(line: str, columns: int) -> str:
    """Return a line as a terminal without wrapping shows it."""
    return line if width(line) <= columns else chop(ESCAPE.sub("", line), columns)[0]


def first_rows(lines: Sequence[str], count: int, columns: int) -> list[str]:
    """Return the lines that fill the first `count` rows of a screen of this width.

    The last line may be cut.
    """
    found: list[str] = []
    for line in lines:
        if count <= 0:
            break
        high = rows(line, columns)
        found.append(line if high <= count else "".join(chop(ESCAPE.sub("", line), columns)[:count]))
        count -= high
    return found
