"""Progress bars of long work, on stderr and only if it is a terminal."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import count
from typing import TYPE_CHECKING, TextIO, TypeVar

from agentcli.program.command_line.printing import console, on_terminal

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

T = TypeVar("T")


class Progress:
    """Context manager that shows the progress of long work in one line, removed at the end.

    `clock` returns seconds. Nothing is written to a stream that is not a terminal. Nothing is written before `AFTER`,
    and until then rich is not even imported.
    """

    AFTER = 0.5
    """Seconds without a line: short work shows none."""
    EVERY = 0.1
    """Seconds between two changes of the line."""

    def __init__(
        self, doing: str, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic, cells: int = 0
    ) -> None:
        self._doing, self._stream, self._clock, self._cells = doing, stream or sys.stderr, clock, cells
        self._next = clock() + self.AFTER
        self._bar: Bar | None = None

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *error: object) -> None:
        self.end()

    def through(self, things: Iterable[T], total: int = 0) -> Iterator[T]:
        """Yield the same items, counted as they pass; `total`: their number if known."""
        return self._counted(things, total, count(1))

    def of(self, total: int) -> Callable[[Iterable[T]], Iterator[T]]:
        """Return a function that counts the items passing through it, in one or several parts, out of `total`."""
        numbers = count(1)
        return lambda things: self._counted(things, total, numbers)

    def _counted(self, things: Iterable[T], total: int, numbers: Iterator[int]) -> Iterator[T]:
        for thing in things:
            number = next(numbers)
            if self._clock() >= self._next:
                shown = on_terminal(self._stream)
                self._next = self._clock() + self.EVERY if shown else math.inf
                if shown:
                    self._show(number, total)
            yield thing

    def next(self, doing: str) -> None:
        """Continue with other work; if it is time to show progress, the line names the work at once."""
        self._doing = doing
        if self._bar is not None:
            self.end()
            self._show(0, 0)

    def end(self) -> None:
        """Remove the line."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def _show(self, number: int, total: int) -> None:
        if self._bar is None:
            self._bar = self._started(number, total)
        self._bar.reset(self._bar.task_ids[0], total=total or None, completed=number)
        self._bar.refresh()

    def _started(self, number: int, total: int) -> Bar:
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
        from rich.progress import Progress as Bar

        counts = (MofNCompleteColumn(),) if number else ()
        columns = (TextColumn("{task.description}", markup=False), BarColumn(), *counts)
        bar = Bar(
            *columns,
            console=console(self._stream, self._cells),
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        bar.add_task(self._doing, total=total or None, completed=number)
        bar.start()
        return bar
