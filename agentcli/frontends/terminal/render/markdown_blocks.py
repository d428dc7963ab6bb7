"""Split a streamed reply into Markdown blocks, each printed once, as soon as it cannot change."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Literal

from agentcli.core.dataclass import dataclass

FENCE_LINES = 16
"""Lines per printed piece of a long code block: keeps the live part small."""
TABLE_ROWS = 30
"""A longer table is printed in pieces of so many rows."""
TEXT_LINES = 40
"""A longer paragraph or quote is printed in pieces of so many lines."""

_FENCE = re.compile(r"( *)(`{3,}|~{3,})(.*)$")
_HEADING = re.compile(r" {0,3}#{1,6}(\s|$)")
_RULE = re.compile(r" {0,3}(?:(?:-\s*){3,}|(?:\*\s*){3,}|(?:_\s*){3,})$")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)\s*$")
_DELIMITERS = re.compile(r"\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?$")
_CELL = re.compile(r"(?<!\\)\|")
_ITEM = re.compile(r" {0,1}(?:[-*+]|\d{1,9}[.)])(\s|$)")


@dataclass(frozen=True, slots=True)
class Block:
    """Self-contained piece of Markdown."""

    source: str
    gap: bool = True
    """True if a blank line precedes it."""
    repeats: int = 0
    """Number of first lines that a later piece of a long block repeats. They are already printed: the opening of a
    fence, or the head of a table.
    """
    closed: bool = True
    """False if the last line was only added to end the piece."""
    before: str = ""
    """A table with the longest cells so far, which determines the columns."""

    @property
    def own(self) -> str:
        """The source as the model wrote it, each line in only one piece."""
        lines = self.source.split("\n")
        return "\n".join(lines[self.repeats : len(lines) - (not self.closed)])


@dataclass(frozen=True, slots=True)
class Blocks:
    """Unfinished part of a reply: whole lines of the open block, and the incomplete line."""

    kind: Literal["", "text", "table", "list", "fence"] = ""
    lines: tuple[str, ...] = ()
    rest: str = ""
    gap: bool = True
    blank: bool = True
    fence: str = ""
    opening: str = ""
    repeats: int = 0
    before: str = ""

    def feed(self, text: str) -> tuple[Blocks, tuple[Block, ...]]:
        """Add text; return the new open part and the finished blocks. Independent of chunk boundaries."""
        *whole, rest = (self.rest + text).split("\n")
        state, done = self, []
        for line in whole:
            state, finished = state._line(line.removesuffix("\r"))
            done += finished
        return replace(state, rest=rest), tuple(done)

    def end(self) -> tuple[Block, ...]:
        """Return the remaining blocks at the end of the reply."""
        state, done = (self, []) if not self.rest else replace(self, rest="")._line(self.rest)
        return (*done, *state._close())

    @property
    def tail(self) -> Block | None:
        """The open block as it is now."""
        if not self.lines and not self.rest.strip():
            return None
        gap = self.gap if self.lines else self.blank
        # The blank line of a list precedes the arriving line in the source.
        apart = ("",) if self.kind == "list" and self.blank and self.rest.strip() else ()
        return Block("\n".join((*self.lines, *apart, self.rest)), gap, self.repeats, before=self.before)

    def _line(self, line: str) -> tuple[Blocks, list[Block]]:
        if self.fence:
            return self._in_fence(line)
        if not line.strip():
            return self._blank_line()
        if self.kind == "list":
            return self._in_list(line)
        return self._at_text(line)

    def _in_fence(self, line: str) -> tuple[Blocks, list[Block]]:
        state = replace(self, lines=(*self.lines, line))
        mark = _FENCE.match(line)
        closes = mark is not None and mark[2].startswith(self.fence) and not mark[3].strip()
        if self.kind == "list":
            return (replace(state, fence="") if closes else state), []
        if closes:
            # A fence that was just cut and closes at once has nothing left to show.
            nothing = len(state.lines) == 2 and not self.gap
            return _FRESH, [] if nothing else state._close()
        if len(state.lines) > FENCE_LINES:
            piece = Block("\n".join((*state.lines, self.fence)), self.gap, self.repeats, closed=False)
            return replace(state, lines=(self.opening,), gap=False, repeats=1), [piece]
        return state, []

    def _blank_line(self) -> tuple[Blocks, list[Block]]:
        if self.kind == "list":
            return replace(self, blank=True), []
        return _FRESH, self._close()

    def _in_list(self, line: str) -> tuple[Blocks, list[Block]]:
        indent = len(line) - len(line.lstrip())
        if _ITEM.match(line) and not _RULE.match(line):
            fresh = replace(_FRESH, kind="list", gap=self.blank, lines=(line,), blank=False)
            return fresh._opened_in_item(line), self._close()
        if indent >= 2 or not (self.blank or _interrupts(line)):
            gap = ("",) if self.blank else ()
            return replace(self, lines=(*self.lines, *gap, line), blank=False)._opened_in_item(line), []
        state, done = _FRESH._at_text(line)
        return state, [*self._close(), *done]

    def _opened_in_item(self, line: str) -> Blocks:
        mark = _FENCE.match(line) or _FENCE.match(_ITEM.sub("", line, count=1).lstrip())
        return replace(self, fence=mark[2]) if mark else self

    def _at_text(self, line: str) -> tuple[Blocks, list[Block]]:
        gap = self.gap if self.lines else self.blank
        if self.lines and _UNDERLINE.match(line) and "|" not in self.lines[-1]:
            return _FRESH, [Block("\n".join((*self.lines, line)), gap)]
        if _HEADING.match(line) or _RULE.match(line):
            return _FRESH, [*self._close(), Block(line)]
        if mark := _FENCE.match(line):
            opening = replace(_FRESH, kind="fence", lines=(line,), fence=mark[2], opening=line, blank=False)
            return opening, self._close()
        if _ITEM.match(line):
            item = replace(_FRESH, kind="list", lines=(line,), gap=self.blank and not self.lines, blank=False)
            return item._opened_in_item(line), self._close()
        if self.kind == "text" and "|" in self.lines[-1] and _DELIMITERS.match(line.strip()):
            *above, head = self.lines
            table = replace(_FRESH, kind="table", lines=(head, line), gap=bool(above) or gap, blank=False)
            return table, [Block("\n".join(above), gap)] if above else []
        kind = self.kind or "text"
        return replace(self, kind=kind, lines=(*self.lines, line), gap=gap, blank=False)._cut()

    def _cut(self) -> tuple[Blocks, list[Block]]:
        """Split a long block: the part so far is finished, the rest continues below."""
        if self.kind == "table" and len(self.lines) - 2 >= TABLE_ROWS:
            rest = replace(self, lines=self.lines[:2], gap=False, repeats=2, before=_widest(self.before, self.lines))
            return rest, self._close()
        if self.kind == "text" and len(self.lines) >= TEXT_LINES:
            return replace(_FRESH, gap=False, blank=False), self._close()
        return self, []

    def _close(self) -> list[Block]:
        # The rest of a table that was just cut has nothing to show.
        nothing = not self.lines or (self.kind == "table" and len(self.lines) == self.repeats)
        return [] if nothing else [Block("\n".join(self.lines), self.gap, self.repeats, before=self.before)]


def _widest(before: str, lines: tuple[str, ...]) -> str:
    """Return a table of one row with the longest cell of each column so far.

    These cells set the column widths of later rows.
    """
    table = (lines[0], *before.split("\n")[2:], *lines[2:])
    rows = [[cell.strip() for cell in _CELL.split(line.strip().strip("|"))] for line in table]
    longest = [max((row[n] for row in rows if n < len(row)), key=len) for n in range(max(map(len, rows)))]
    return "\n".join((*lines[:2], f"| {' | '.join(longest)} |"))


def _interrupts(line: str) -> bool:
    return bool(_HEADING.match(line) or _RULE.match(line) or _FENCE.match(line))


_FRESH = Blocks()
