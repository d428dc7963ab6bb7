"""Log of paints: detects paints that reached the terminal after its size changed.

A terminal reports a new size only after it has reflowed its lines; tmux up to a quarter of a second later. A paint sent
meanwhile meets other rows than it was made for. So each paint ends with a query of the terminal's width: the answers
tell what is really on the screen, and what must be printed again.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence

from agentcli.core.dataclass import dataclass
from agentcli.ui.render.cells import ESCAPE, chop, width
from agentcli.ui.render.frame import Size
from agentcli.ui.render.pieces import Piece

ASK_WIDTH = "\x1b[999C\x1b[6n"
"""Moves to the last column; the terminal answers `ESC[ROW;COLUMNR`. The answer to `ESC[18t` is the wrong way round in tmux 3.3."""
PATIENCE = 1.0
"""Seconds after which an answer is no longer waited for."""
UNANSWERED = 200
"""Answers that may be missing before nothing is asked any more."""


@dataclass(frozen=True, slots=True)
class Paint:
    """One paint: the cursor's row before it, the lines that it left above the cursor, and the width that it was made for.

    `pieces` were printed for good, each with its number of lines: together they are the first of the lines.
    """

    row: int
    above: Sequence[str]
    column: int
    columns: int
    pieces: Sequence[tuple[Piece, int]]
    at: float


class PaintLog:
    """Lines above the cursor as the terminal has them: the live part and, after a wrong paint, all lines below its first row."""

    def __init__(self) -> None:
        self._unanswered: deque[Paint | None] = deque()
        """None for a paint that has been erased since."""
        self._above: list[str] = []
        self._column = 0
        self._live = 0
        """Number of the first line of the live part."""
        self._wrong = False
        self._pieces: list[tuple[int, Piece]] = []
        """Pieces to be printed again, each with the number of its first line."""

    @property
    def waiting(self) -> bool:
        """True while an answer is to come."""
        now = time.monotonic()
        return any(one is not None and now - one.at < PATIENCE for one in self._unanswered)

    @property
    def outstanding(self) -> bool:
        """True while any answer is to come that has to be read, be it of use or not."""
        return bool(self._unanswered) and self.asks

    @property
    def asks(self) -> bool:
        """False if the terminal does not answer."""
        return len(self._unanswered) < UNANSWERED

    def sent(self, paint: Paint) -> None:
        """Add a paint that ends with ASK_WIDTH."""
        self._unanswered.append(paint)

    def answered(self, columns: int) -> bool:
        """Apply the terminal's next answer; return False if the paint was made for a wider screen and must be printed again."""
        paint = self._unanswered.popleft() if self._unanswered else None
        if paint is None:
            return True
        stale = self._rows(columns) - paint.row
        narrow = columns < paint.columns
        if self._wrong or narrow:
            self._wrong = True
            self._above = first_rows(self._above, stale, columns)
            first = len(self._above)
            for piece, lines in paint.pieces:
                self._pieces.append((first, piece))
                first += lines
            self._live = first
            self._above += [cut(line, columns) for line in paint.above]
            self._column = min(paint.column, columns - 1)
        else:
            self._above, self._column = list(paint.above[sum(lines for _, lines in paint.pieces) :]), paint.column
        return not narrow

    def erased(self, size: Size, live: Sequence[str], row: int, column: int) -> tuple[int, tuple[Piece, ...]]:
        """Forget all paints. Returns the rows from the first to be erased to the cursor, and the pieces to be printed again.

        If every paint was right, these are the rows of the live lines above the cursor's. Rows that left the screen cannot be
        changed.
        """
        if not self._wrong:
            self._above, self._column, self._live, self._pieces = list(live[:row]), column, 0, []
        starts = [0, *(start for start, _ in self._pieces), self._live]
        reach = size.rows - (len(live) - row)
        first = next((n for n in starts if self._rows(size.columns, n) <= reach), self._live)
        rows, again = self._rows(size.columns, first), tuple(piece for start, piece in self._pieces if start >= first)
        self.reset()
        return rows, again

    def reset(self, above: Sequence[str] = (), column: int = 0) -> None:
        """Take these lines to stand above the cursor; answers to earlier paints are of no more use."""
        self._unanswered = deque(None for _ in self._unanswered)
        self._above, self._column = list(above), column
        self._wrong, self._live, self._pieces = False, 0, []

    def _rows(self, columns: int, first: int = 0) -> int:
        return sum(rows(line, columns) for line in self._above[first:]) + self._column // columns


def rows(line: str, columns: int) -> int:
    """Return the number of rows that a line takes on a screen of this width."""
    if width(line) <= columns:
        return 1
    return len(chop(ESCAPE.sub("", line), columns))


def cut(line: str, columns: int) -> str:
    """Return a line as a terminal without wrapping shows it."""
    return line if width(line) <= columns else chop(ESCAPE.sub("", line), columns)[0]


def first_rows(lines: Sequence[str], count: int, columns: int) -> list[str]:
    """Return the lines that fill the first `count` rows of a screen of this width; the last line may be cut."""
    found: list[str] = []
    for line in lines:
        if count <= 0:
            break
        high = rows(line, columns)
        found.append(line if high <= count else "".join(chop(ESCAPE.sub("", line), columns)[:count]))
        count -= high
    return found
