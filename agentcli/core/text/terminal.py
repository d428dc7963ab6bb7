"""Output as a terminal shows it at the end.

It has the last frame of a progress bar, and no colours or other control sequences.
"""

from __future__ import annotations

import re

from agentcli.core.text.encodings import is_wide, readable

_REACHED = 100
"""Rows above the cursor that a later sequence may still change: more than any screen has."""
_LONGEST = 200_000
"""Characters of a row after which its beginning counts as final."""
_FARTHEST = 5_000
"""Maximum columns and rows by which a sequence may move the cursor."""
_CONTROL = re.compile(
    r"\x1b\[(?P<given>[0-?]*)[ -/]*(?P<final>[@-~])"  # CSI
    r"|\x1b[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)"  # OSC, DCS and their kind
    r"|\x1b[ -/]*(?P<escape>[0-~])"
    r"|(?P<single>[\x01-\x08\x0b-\x1f\x7f])"
)
_HELD = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|[\]PX^_][^\x07\x1b\n]{0,100000}\x1b?|[ -/]*)\Z|\r\Z")
"""The beginning of a sequence that the next piece continues."""
_PLAIN = re.compile(r"[^\x01-\x08\x0b-\x1f\x7f]*\Z")


def console_text(data: bytes) -> str:
    """Return the whole output of a program, in any encoding, as a terminal shows it at the end."""
    if is_wide(data):
        return readable(data)
    screen = Screen()
    text = screen.feed(data.decode("utf-8", "surrogateescape")) + screen.end()
    return readable(text.encode("utf-8", "surrogateescape"))


def shown(text: str) -> str:
    """Return an output as a terminal shows it at the end."""
    if _PLAIN.match(text):
        return text
    screen = Screen()
    return screen.feed(text) + screen.end()


class Screen:
    """A screen of any width. Rows leave it at the top once nothing can change them; text without control sequences
    stays unchanged.
    """

    def __init__(self) -> None:
        self.overwritten = False
        """True once something other than blanks was overwritten or erased."""
        self._rows = [""]
        self._row = self._column = 0
        self._top: int | None = None
        """First row of a full-screen program; None while there is none."""
        self._saved = 0, 0
        self._held = ""
        self._behind: tuple[list[str], int, int] | None = None
        """Rows and cursor before a program switched to the alternate screen."""

    def feed(self, piece: str) -> str:
        """Take the next piece of an output, and return the rows that are final now."""
        piece = self._held + piece
        held = _HELD.search(piece)
        self._held = held[0] if held else ""
        piece = (piece[: held.start()] if held else piece).replace("\r\n", "\n")
        if _PLAIN.match(piece):
            return self._printed(piece)
        end = 0
        for control in _CONTROL.finditer(piece):
            self._write(piece[end : control.start()])
            self._obey(control)
            end = control.end()
        self._write(piece[end:])
        return self._final()

    def end(self) -> str:
        """Return the rest, and restart with an empty screen."""
        if self._behind is not None:
            self._leave_alternate()
        text = self.rest
        self._rows, self._row, self._column, self._top, self._held = [""], 0, 0, None, ""
        return text

    @property
    def rest(self) -> str:
        """The rows that are not final."""
        return "\n".join(self._rows)

    def _printed(self, piece: str) -> str:
        """Write a piece without control sequences; return the rows that are final now."""
        at_end = self._row == len(self._rows) - 1 and self._column == len(self._rows[-1])
        if not at_end or self._behind is not None or piece.count("\n") < _REACHED:
            self._write(piece)
            return self._final()
        # Most of a large output takes this path: only its last rows are examined.
        gone, *self._rows = (self.rest + piece).rsplit("\n", _REACHED)
        self._top = None
        self._row, self._column = len(self._rows) - 1, len(self._rows[-1])
        return gone + "\n"

    def _final(self) -> str:
        count = min(self._row, len(self._rows) - _REACHED) if len(self._rows) > 2 * _REACHED else 0
        if self._behind is not None:
            count = 0
        gone = "".join(f"{row}\n" for row in self._rows[:count])
        if count:
            del self._rows[:count]
            self._row -= count
            self._top = None if self._top is None else max(0, self._top - count)
        if len(self._rows) == self._row + 1 and len(self._rows[-1]) > _LONGEST and self._behind is None:
            gone += self.rest
            self._rows, self._row, self._column = [""], 0, 0
        return gone

    def _write(self, text: str) -> None:
        if not text:
            return
        first, *others = text.split("\n")
        self._put(first)
        for line in others:
            self._row, self._column = self._row + 1, 0
            self._reach()
            if line:
                self._put(line)

    def _put(self, text: str) -> None:
        row, column = self._rows[self._row], self._column
        self._column += len(text)
        if column >= len(row):
            self._rows[self._row] = row + " " * (column - len(row)) + text
            return
        under = row[column : column + len(text)]
        self.overwritten = self.overwritten or (bool(under.strip()) and under != text)
        self._rows[self._row] = (row[:column] + text + row[column + len(text) :]).rstrip(" ")

    def _reach(self) -> None:
        """Add rows down to the cursor."""
        self._rows += [""] * (self._row + 1 - len(self._rows))

    def _obey(self, control: re.Match[str]) -> None:
        if single := control["single"]:
            match single:
                case "\r":
                    self._column = 0
                case "\b":
                    self._column = max(0, self._column - 1)
                case "\x0b" | "\x0c":
                    self._write("\n")
                case _:
                    pass  # a bell, and others that show nothing
        elif escape := control["escape"]:
            self._escape(escape)
        elif final := control["final"]:
            self._sequence(final, control["given"])

    def _escape(self, letter: str) -> None:
        match letter:
            case "7":
                self._saved = self._row, self._column
            case "8":
                self._restore()
            case "M":
                self._move(-1, 0)
            case "D" | "E":
                self._write("\n")
            case "c":
                self._clear_screen()
            case _:
                pass

    def _sequence(self, final: str, given: str) -> None:
        numbers = [min(int(number), _FARTHEST) if number.isdecimal() else 0 for number in given.split(";")]
        first, count = numbers[0], max(1, numbers[0])
        match final:
            case "A" | "B":
                self._move(-count if final == "A" else count, 0)
            case "C" | "D":
                self._column = max(0, self._column + (count if final == "C" else -count))
            case "E" | "F":
                self._move(-count if final == "F" else count, -self._column)
            case "G" | "`":
                self._column = count - 1
            case "H" | "f" | "d":
                self._place(count - 1, self._column if final == "d" else max(0, (numbers[1:] or [1])[0] - 1))
            case "K":
                self._erase_row(first)
            case "J":
                self._erase_below(first)
            case "P" | "X":
                self._remove(count, " " * count if final == "X" else "")
            case "s":
                self._saved = self._row, self._column
            case "u" if not given:
                self._restore()
            case "h" | "l" if given in ("?1049", "?47", "?1047"):
                self._alternate(final == "h")
            case _:
                pass  # colours, modes, queries to the terminal

    def _move(self, rows: int, columns: int) -> None:
        self._row, self._column = max(0, self._row + rows), max(0, self._column + columns)
        self._reach()

    def _place(self, row: int, column: int) -> None:
        self._row, self._column = self._first() + row, column
        self._reach()

    def _first(self) -> int:
        """Return the first row of the screen; when first requested, that is the row after everything printed so far."""
        if self._top is None:
            self._top = self._row + bool(self._rows[self._row])
        return self._top

    def _erase_row(self, part: int) -> None:
        row = self._rows[self._row]
        kept = {0: row[: self._column], 1: " " * (self._column + 1) + row[self._column + 1 :]}.get(part, "")
        self.overwritten = self.overwritten or len(kept.replace(" ", "")) < len(row.replace(" ", ""))
        self._rows[self._row] = kept

    def _erase_below(self, part: int) -> None:
        match part:
            case 0:
                self._erase_row(0)
                self.overwritten = self.overwritten or any(self._rows[self._row + 1 :])
                del self._rows[self._row + 1 :]
            case 2 | 3:
                self._clear_screen()
            case _:
                self._erase_row(1)

    def _clear_screen(self) -> None:
        first = self._first()
        self.overwritten = self.overwritten or any(self._rows[first:])
        self._rows[first:] = []
        self._row, self._column = first, 0
        self._reach()

    def _remove(self, count: int, blanks: str) -> None:
        row, column = self._rows[self._row], self._column
        gone = row[column : column + count]
        self.overwritten = self.overwritten or bool(gone.strip())
        self._rows[self._row] = (row[:column] + blanks[: len(gone)] + row[column + count :]).rstrip(" ")

    def _restore(self) -> None:
        self._row, self._column = self._saved
        self._reach()

    def _alternate(self, taken: bool) -> None:
        if taken and self._behind is None:
            self._behind = self._rows, self._row, self._column
            self._rows, self._row, self._column, self._top = [""], 0, 0, 0
        elif not taken and self._behind is not None:
            self._leave_alternate()

    def _leave_alternate(self) -> None:
        assert self._behind is not None
        self.overwritten = self.overwritten or any(self._rows)
        (self._rows, self._row, self._column), self._behind, self._top = self._behind, None, None
