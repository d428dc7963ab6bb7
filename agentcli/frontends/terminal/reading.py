"""Progress report while a long session is opened."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from agentcli.core.record import Record

AFTER, EVERY = 0.5, 0.1
"""Seconds of reading without a report, and between two reports."""
_ERASED = "\r\x1b[K"
Report = Callable[[str], object]
"""A function that shows a line to the person."""


def reading(
    report: Report, clock: Callable[[], float] = time.monotonic
) -> Callable[[int], Callable[[Iterable[Record]], Iterator[Record]]]:
    """Return a function that wraps an iterator of records and reports how many have passed.

    The function takes the number of records. `clock` returns seconds. The report comes at intervals, from the reading
    thread.
    """

    def of(total: int) -> Callable[[Iterable[Record]], Iterator[Record]]:
        def through(records: Iterable[Record]) -> Iterator[Record]:
            due = clock() + AFTER
            for number, record in enumerate(records, 1):
                if (now := clock()) >= due:
                    due = now + EVERY
                    report(f"opening the session: {number:,} of {total:,} records")
                yield record

        return through

    return of


@contextmanager
def reports_on(stream: TextIO | None = None) -> Iterator[Report]:
    """Yield a function that reports in one line of the stream (stderr), which is erased at the end.

    Nothing is written if the stream is not a terminal.
    """
    out = stream or sys.stderr
    shown = out.isatty() and os.environ.get("TERM", "dumb") not in ("dumb", "")
    lines: list[str] = []

    def write(line: str) -> None:
        if shown:
            lines.append(line)
            print(_ERASED, line, sep="", end="", file=out, flush=True)

    try:
        yield write
    finally:
        if lines:
            print(_ERASED, end="", file=out, flush=True)
