"""Styled text as runs: wrapped, cut and written as terminal lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby
from zlib import crc32

from agentcli.core.dataclass import dataclass
from agentcli.system.cells import NO_LINK, RESET, breaks, width


@dataclass(frozen=True, slots=True)
class Run:
    """Text in one style: `sgr` are Select Graphic Rendition parameters, `link` a URL that passed `links.target`."""

    text: str
    sgr: str = ""
    link: str = ""

    def also(self, sgr: str) -> Run:
        """Return the run with more SGR parameters; its own take precedence."""
        return replace(self, sgr=";".join(filter(None, (sgr, self.sgr)))) if sgr else self


Row = list[Run]


def written(row: Iterable[Run]) -> str:
    """Write the runs as text with escape sequences, all reset by the end of the line."""
    same = groupby((run for run in row if run.text), lambda run: (run.sgr, run.link))
    return "".join(_written(Run("".join(run.text for run in runs), *look)) for look, runs in same)


def size(row: Iterable[Run]) -> int:
    """Return the number of cells that the runs take."""
    return width("".join(run.text for run in row))


def wrap(runs: Sequence[Run], columns: int) -> list[Row]:
    """Return the rows of at most `columns` cells, broken at word boundaries and newlines."""
    rows: list[Row] = []
    for line in lines(runs):
        rows += [cut(line, start, end) for start, end in breaks("".join(run.text for run in line), columns)]
    return rows


def lines(runs: Iterable[Run]) -> list[Row]:
    """Split the runs at every newline."""
    found: list[Row] = [[]]
    for run in runs:
        first, *more = run.text.split("\n")
        found[-1].append(Run(first, run.sgr, run.link))
        found += [[Run(text, run.sgr, run.link)] for text in more]
    return found


def cut(line: Row, start: int, end: int) -> Row:
    """Return the runs from character `start` to `end` of a line."""
    found, at = [], 0
    for run in line:
        text = run.text[max(start - at, 0) : max(end - at, 0)]
        if text:
            found.append(Run(text, run.sgr, run.link))
        at += len(run.text)
    return found


def indented(rows: Iterable[Row], first: Run, later: Run) -> list[Row]:
    """Put the mark `first` before the first row and `later` before each other row."""
    return [[first if n == 0 else later, *row] for n, row in enumerate(rows)]


def _written(run: Run) -> str:
    text = f"\x1b[{run.sgr}m{run.text}" if run.sgr else run.text
    if run.link:
        # The same number in each row, so that a wrapped link is one link.
        number = f"{crc32(run.link.encode()):08x}"
        return f"\x1b]8;id={number};{run.link}\x1b\\{text}{NO_LINK}{RESET}"
    return text + RESET if run.sgr else text
