"""View of the transcript on the terminal's alternate screen: the session stays below, unchanged."""

from __future__ import annotations

import asyncio
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence

from agentcli.core.journal import Journal
from agentcli.core.tasks import run_beside
from agentcli.frontends.terminal.early import ENTER_ALTERNATE, LEAVE_ALTERNATE, PAINTED, PAINTING
from agentcli.frontends.terminal.input.editor import Editor
from agentcli.frontends.terminal.render.draw import running_lines
from agentcli.frontends.terminal.render.pieces import Piece, Printed, UserMessage
from agentcli.frontends.terminal.screen import Screen, renderer
from agentcli.frontends.terminal.views import pager
from agentcli.frontends.terminal.views.pager import AROUND, Pager
from agentcli.frontends.terminal.views.transcript import Transcript, section_lines

_CURSOR, _NO_CURSOR = "\x1b[?25h", "\x1b[?25l"
BUDGET, PAUSE = 0.02, 0.005
"""Seconds of layout at a time, and between two of them for the keys."""
WANTED = "agentcli asks a question. Press q to answer it."
TITLE = "Transcript"


class Viewing:
    """Shows the transcript, or a page of text, until it is closed.

    Meanwhile `screen` prints nothing, and the keys are the pager's. Sections are laid out in the background, the newest
    first. `failed` gets an exception that ends the layout.
    """

    def __init__(self, screen: Screen, editor: Editor, failed: Callable[[BaseException], None]) -> None:
        self._screen, self._editor, self._failed = screen, editor, failed
        self._pager: Pager | None = None
        self._title, self._notice = TITLE, ""
        self._new: Callable[[], list[Sequence[Piece]]] = list
        """The sections since the last call."""
        self._page: Callable[[int], list[str]] | None = None
        """Rows of a page for a number of columns; None for the transcript."""
        self._sections: list[Sequence[Piece]] = []
        self._laid: deque[list[str]] = deque()
        """Lines of the newest sections; older ones are laid out later."""
        self._running: list[str] = []
        """Lines of the running calls, below all sections of the transcript."""
        self._columns = self._anchor = 0
        """Width of the lines; number of the section, counted from the end, to go to once it is laid out."""
        self._painted: list[str] = []
        self._hidden = False
        self._work: asyncio.Task[None] | None = None

    @property
    def is_open(self) -> bool:
        """True while the view has the terminal."""
        return self._pager is not None

    def open(self, journal: Journal) -> None:
        """Show the transcript of a session from its end."""
        self._open(TITLE, Transcript(journal, self._editor.pastes.numbers).new, None)

    def show(self, title: str, page: Callable[[int], list[str]]) -> None:
        """Show the rows that `page` returns for a number of columns, from the first."""
        once: list[list[Sequence[Piece]]] = [[(Printed(()),)]]
        self._open(title, lambda: once.pop() if once else [], page)

    def _open(
        self, title: str, new: Callable[[], list[Sequence[Piece]]], page: Callable[[int], list[str]] | None
    ) -> None:
        if self.is_open or not self._screen.here.is_set():
            return
        self._title, self._new, self._page = title, new, page
        self._screen.here.clear()
        self._screen.wanted = self._remind
        self._notice = WANTED if self._screen.state.dialog is not None else ""
        self._editor.focus(True)
        self._screen.painter.raw(ENTER_ALTERNATE)
        self._pager, self._columns = Pager(height=self._height), self._screen.size.columns
        self._running = self._running_lines()
        self._work = run_beside(self._read(), self._failed)

    def close(self) -> None:
        """Give the terminal back to the session."""
        if self._pager is None:
            return
        self._stop()
        self._pager = None
        self._sections, self._painted, self._notice = [], [], ""
        self._laid.clear()
        self._screen.wanted = lambda: None
        self._editor.focus(self._screen.state.dialog is not None)
        if not self._hidden:
            self._screen.painter.raw(LEAVE_ALTERNATE + _CURSOR)
        self._hidden = False
        self._screen.here.set()
        self._screen.refresh()

    def press(self, key: str) -> None:
        """Scroll, search or close."""
        if self._pager is None:
            return
        if key == "c-l":
            self._painted = []
            return
        closes = key == "?" and self._page is not None and self._pager.entry is None
        after = None if closes else pager.press(self._pager, key)
        if after is None:
            self.close()
        else:
            self._pager = after

    def paint(self) -> None:
        """Repaint the rows that changed; all of them for another size."""
        if self._pager is None or self._hidden:
            return
        size = self._screen.size
        if size.columns != self._columns or self._height != self._pager.height:
            self._resize(self._pager)
        rows, cursor = pager.draw(self._pager, size, self._screen.look.theme, self._title, self._notice)
        before = self._painted if len(self._painted) == len(rows) else [None] * len(rows)
        changed = [f"\x1b[{n + 1};1H\x1b[2K{row}" for n, row in enumerate(rows) if row != before[n]]
        at = f"\x1b[{cursor[0] + 1};{cursor[1] + 1}H" if cursor else ""
        self._screen.painter.raw(PAINTING + "".join(changed) + at + PAINTED + ("" if cursor else _NO_CURSOR))
        self._painted = rows

    def renew(self) -> None:
        """Add the records written since; at the end it stays at the end."""
        if self._pager is None or self._working:
            return
        new, running = self._new(), self._running
        self._running = self._running_lines()
        if not new and self._running == running:
            return
        at_end = self._pager.at_end and self._pager.entry is None
        self._sections += new
        self._laid += [self._lines(section) for section in new]
        self._pager = self._pager.replaced(*self._flat())
        self._pager = self._pager.to(self._pager.last) if at_end else self._pager
        self.paint()

    def hide(self) -> None:
        """Leave the alternate screen for other output, such as the shell's."""
        if self.is_open and not self._hidden:
            self._hidden = True
            self._screen.painter.raw(LEAVE_ALTERNATE + _CURSOR)

    def reveal(self) -> None:
        """Take the alternate screen back."""
        if self.is_open and self._hidden:
            self._hidden, self._painted = False, []
            self._screen.painter.raw(ENTER_ALTERNATE)
            self.paint()

    @property
    def _height(self) -> int:
        return max(self._screen.size.rows - AROUND, 1)

    @property
    def _working(self) -> bool:
        return self._work is not None and not self._work.done()

    def _remind(self) -> None:
        self._notice = WANTED
        self.paint()

    async def _read(self) -> None:
        self._sections = await asyncio.to_thread(self._new)
        await self._lay_out()

    async def _lay_out(self) -> None:
        """Lay out the remaining sections, newest first, a little at a time."""
        while len(self._laid) < len(self._sections):
            ends = time.perf_counter() + BUDGET
            added: deque[list[str]] = deque()
            while len(self._laid) + len(added) < len(self._sections) and time.perf_counter() < ends:
                added.appendleft(self._lines(self._sections[-len(self._laid) - len(added) - 1]))
            self._add_above(added)
            await asyncio.sleep(PAUSE)

    def _add_above(self, added: Iterable[list[str]]) -> None:
        """Show older sections without moving the lines on the screen."""
        if self._pager is None:
            return
        begun, more = bool(self._laid), list(added)
        self._laid.extendleft(reversed(more))
        above = sum(map(len, more))
        before = self._pager
        self._pager = before.replaced(*self._flat(), above)
        if not begun or before.at_end:
            self._pager = self._pager.to(0 if self._page else self._pager.last)
        if self._anchor and len(self._laid) >= self._anchor:
            self._pager = self._pager.to(sum(map(len, list(self._laid)[: -self._anchor])))
            self._anchor = 0
        self.paint()

    def _resize(self, before: Pager) -> None:
        """Lay out again for another width, starting at the section at the top of the screen."""
        self._painted = []
        self._pager = before.resized(self._height)
        columns = self._screen.size.columns
        if columns == self._columns:
            return
        self._columns = columns
        self._running = self._running_lines()
        if not self._sections:
            return
        self._anchor = self._anchor or (0 if before.at_end else self._section_at(before.top))
        self._stop()
        self._laid.clear()
        self._pager = self._pager.replaced([], [])
        self._work = run_beside(self._lay_out(), self._failed)

    def _section_at(self, line: int) -> int:
        """Return the number of the section that a line belongs to, counted from the end."""
        for n, lines in enumerate(self._laid):
            if line < len(lines):
                return len(self._laid) - n
            line -= len(lines)
        return 0

    def _lines(self, section: Sequence[Piece]) -> list[str]:
        look = self._screen.look
        if self._page is not None:
            return self._page(self._columns - 1)
        return section_lines(section, self._columns - 1, look, renderer(look))

    def _flat(self) -> tuple[list[str], list[int]]:
        """Return all lines, and the indices of the lines at which a prompt begins."""
        lines: list[str] = []
        stops: list[int] = []
        for section, laid in zip(self._sections[len(self._sections) - len(self._laid) :], self._laid, strict=True):
            if isinstance(section[0], UserMessage):
                stops.append(len(lines) + 1)  # the prompt follows a blank line
            lines += laid
        return [*lines, *self._running], stops

    def _running_lines(self) -> list[str]:
        if self._page is not None:
            return []
        look, now, columns = self._screen.look, time.monotonic(), self._columns - 1
        shown = [running_lines(one, columns, look, now, sys.maxsize) for one in self._screen.state.running]
        return [row for rows in shown for row in ("", *rows)]

    def _stop(self) -> None:
        if self._work is not None:
            self._work.cancel()
