"""Screen and title of the terminal.

A tick prints finished pieces and renders the tail. A key repaints at once with the last tail.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from agentcli.core.event import Event, TextDelta, ThinkingDelta
from agentcli.core.message import Pieces
from agentcli.core.sanitise import safe_line
from agentcli.frontends.terminal.device import Device
from agentcli.frontends.terminal.early import PLAIN_PASTE
from agentcli.frontends.terminal.paint import folds
from agentcli.frontends.terminal.render.draw import draw, tail
from agentcli.frontends.terminal.render.facts import Status
from agentcli.frontends.terminal.render.frame import Live, Size
from agentcli.frontends.terminal.render.markdown import lines
from agentcli.frontends.terminal.render.pieces import Backlog, Piece
from agentcli.frontends.terminal.render.scrollback import as_it_is, render
from agentcli.frontends.terminal.render.state import State, update
from agentcli.frontends.terminal.style import Look, Markdown

FRAME = 0.033
"""Minimum seconds between two ticks; rendering may take a fifth of the time."""
BUDGET = 0.012
"""Seconds of printing in one tick, after which keys have their turn."""

COMING = 50_000
"""Characters that arrive before they are added to the state, also without a tick."""
STILL, STILL_IN_TMUX = 0.06, 0.3
"""Seconds without a further change after which a new size is stable. tmux reflows at once and reports it up to 0.25 s later."""


class Screen:
    """State and its rendering. `apply` and `change` are cheap: rendering waits for the tick.

    A new size is stable after `still` seconds, by default as long as this terminal needs. `here` is set unless another
    program, or a view, uses the terminal. If a question waits for `here`, `wanted` is called.
    """

    def __init__(
        self, device: Device, look: Look, still: float | None = None, environment: Mapping[str, str] = os.environ
    ) -> None:
        self.state = State(images=device.editor.pastes.numbers)
        self.look = look
        self.painter = device.painter
        self.status: Callable[[], Status] | None = None
        self.name: Callable[[], str] = str
        """Returns the name for the terminal's tab; empty for none."""
        self.resized: Callable[[], None] = lambda: None
        self.drain: Callable[[], None] = lambda: None
        """Reads the terminal's answers that are still to come."""
        self._device = device
        self._kind: type[TextDelta] | type[ThinkingDelta] = TextDelta
        self._coming: list[str] = []
        """Texts of the last events, all of this kind and of one growing text."""
        self._whole: Pieces | None = None
        self._size = 0
        self._unfinished: list[str] = []
        self._unfinished_for: Size | None = None
        self._seen: Size | None = None
        self._still_at = 0.0
        self._in_tmux = bool(environment.get("TMUX"))
        self._folds = folds(environment)
        self._tab = Tab(self.painter.raw, environment)
        self._pause = (STILL_IN_TMUX if self._in_tmux else STILL) if still is None else still
        self._high = self._printed = 0
        self._dirty = asyncio.Event()
        self._stale = True
        self.here = asyncio.Event()
        self.here.set()
        self.wanted: Callable[[], None] = lambda: None

    @property
    def size(self) -> Size:
        """Current size of the terminal."""
        return self._device.size

    def change(self, state: State) -> None:
        """Set the state; shown at the next tick."""
        self.state = state
        self._dirty.set()

    def print(self, *pieces: Piece) -> None:
        """Print a piece at the next tick, in order."""
        self._settle()
        self.change(self.state.add(*pieces))

    def apply(self, event: Event) -> None:
        """Apply an event to the state; shown at the next tick."""
        whole = event.whole if isinstance(event, TextDelta) else None
        if not isinstance(event, self._kind) or whole is not self._whole:
            self._settle()
        if isinstance(event, TextDelta | ThinkingDelta):
            self._kind, self._whole = type(event), whole
            self._coming.append(event.text)
            self._size += len(event.text)
            if self._size > COMING:
                self._settle()
        else:
            self.state = update(self.state, event, time.monotonic())
            self._stale = True
        self._dirty.set()

    def refresh(self) -> None:
        """Renew the status line at the next tick."""
        self._stale = True
        self._dirty.set()

    async def run(self) -> None:
        """Tick on changes, and every second while work runs."""
        while True:
            try:
                async with asyncio.timeout(1 if self.state.work else None):
                    await self._dirty.wait()
            except TimeoutError:
                pass
            self._dirty.clear()
            began = time.perf_counter()
            self.tick()
            await asyncio.sleep(max(FRAME, 5 * (time.perf_counter() - began)))

    def tick(self, at_once: bool = False) -> None:
        """Print finished pieces, renew the tail and the status line, paint; deferred while the terminal's size changes, unless `at_once`."""
        if not self.here.is_set() or self._unsettled(at_once):
            return
        self._settle()
        size, began = self._seen or self.size, time.perf_counter()
        lines: list[str] = []
        printed: list[tuple[Piece, int]] = []
        left = deque(self.state.finished)
        while left and time.perf_counter() - began < BUDGET and not (lines and self._device.keys_wait):
            piece = left.popleft()
            if isinstance(piece, Backlog):
                left.extendleft(reversed(piece.next()))
                continue
            rendered = render((piece,), size.columns, self.look, renderer(self.look))
            lines += rendered
            printed.append((piece, len(rendered)))
        waiting = tuple(left)
        if self._stale and self.status is not None:
            self.state = replace(self.state, status=self.status())
            self._stale = False
        unfinished = [] if waiting else tail(self.state, size, self.look, renderer(self.look))
        before = self._unfinished, self._unfinished_for
        self._unfinished, self._unfinished_for = unfinished, size
        state = self.state
        self.state = replace(state, finished=waiting)
        if not self._show(lines, size, at_once, printed):
            # Do not write lines that were laid out for a previous size.
            self.state, (self._unfinished, self._unfinished_for) = state, before
            self._unsettled()
        elif waiting:
            self._dirty.set()
        self._tab.show(self.state, self.name())

    def flush(self) -> None:
        """Print all pending pieces at once."""
        self.tick(at_once=True)
        while self.state.finished and self.here.is_set():
            self.tick(at_once=True)

    def paint(self) -> None:
        """Repaint after a key. Renders nothing unless the terminal's size changed."""
        if self._unsettled():
            return
        size = self._seen or self.size
        if self._unfinished_for not in (None, size):
            self._unfinished = tail(self.state, size, self.look, renderer(self.look))
            self._unfinished_for = size
        self._show([], size)

    def notify(self, text: str, how: str) -> None:
        """Notify the user by OSC 9 (`osc9`), by the `bell`, or by both (`auto`)."""
        words, bell = f"\x1b]9;{safe_line(text)[:200]}\a", "\a"
        self.painter.raw({"auto": words + bell, "osc9": words, "bell": bell}.get(how, ""))

    def erase(self) -> None:
        """Erase the live part before other output, after the terminal's answers to all queries."""
        self._forget_position()
        self.drain()
        self.state = self.state.again(self.painter.refold(self.size, self._folds) or ())

    def resize(self) -> None:
        """Handle a change of size: nothing is painted until the size is stable."""
        self._still_at = time.monotonic() + self._pause
        asyncio.get_running_loop().call_later(self._pause, self._dirty.set)

    def answered(self, columns: int) -> None:
        """Compare the terminal's size when a paint reached it with the size that was painted for."""
        if self.painter.log is not None and not self.painter.log.answered(columns):
            self.resize()

    def check_paints(self) -> None:
        """Check paints that tmux may have reflowed before it reported the new size."""
        if self._in_tmux:
            self.drain = self._device.check_paints(self.answered)

    @contextlib.contextmanager
    def elsewhere(self) -> Iterator[None]:
        """Paint nothing while another program has the terminal."""
        before = self.here.is_set()
        self.here.clear()
        try:
            yield
        finally:
            if before:
                self.here.set()

    async def present(self) -> None:
        """Wait until no other program, and no view, has the terminal."""
        if not self.here.is_set():
            self.wanted()
            await self.here.wait()

    @contextlib.contextmanager
    def working(self, doing: str) -> Iterator[None]:
        """Show the running work and its duration."""
        self.change(self.state.begin(doing, time.monotonic()))
        try:
            yield
        finally:
            self._settle()
            self.change(self.state.end())

    def close(self, *, rest: bool = True) -> None:
        """Print the `rest`, erase the live part, restore the terminal's modes."""
        if rest:
            self.flush()
        self.painter.erase()
        self.drain()
        self._tab.close()
        self.painter.raw(PLAIN_PASTE)

    def _unsettled(self, at_once: bool = False) -> bool:
        """Return True while the size is still changing; once it is stable, erase the reflowed live lines."""
        size, before = self.size, self._seen
        if size != before:
            self._seen = size
            if before is None:
                return False
            self.resize()
        if time.monotonic() < self._still_at and not at_once:
            return True
        if self._still_at:
            if self.painter.log is not None and self.painter.log.waiting and not at_once:
                asyncio.get_running_loop().call_later(STILL, self._dirty.set)
                return True
            again = self.painter.refold(size, self._folds, lambda: at_once or self.size == size, asks=not at_once)
            if again is None:
                return self._unsettled()
            self.change(self.state.again(again))
            self._still_at = 0.0
            self._forget_position()
            self.resized()
        return False

    def _show(
        self, lines: list[str], size: Size, at_once: bool = False, pieces: Sequence[tuple[Piece, int]] = ()
    ) -> bool:
        """Paint for this size; return False if the terminal has another one by now, and nothing was written."""
        if not self.here.is_set():
            return True
        live = self._at_bottom(self._live(size), len(lines), size.rows)
        known = None if at_once else size
        return self.painter.paint(lines, live.lines, live.cursor, known, lambda: at_once or self.size == size, pieces)

    def _live(self, size: Size) -> Live:
        return draw(self.state, self._device.editor.edit, size, self.look, self._unfinished, time.monotonic())

    def _at_bottom(self, live: Live, printed: int, rows: int) -> Live:
        """Add blank rows above a live part that became lower on a full screen during work.

        The input stays at the bottom, and the next printed lines take those rows. Without work no line follows, so the
        input comes right below the text.
        """
        self._printed = min(self._printed + printed, rows)
        high = len(live.lines)
        if self.state.work is None:
            self._high = high
            return live
        free = self._high - printed - high if self._printed + high >= rows else 0
        blank = max(0, min(free, rows - 1 - high))
        # The rows of a menu are free again below the input once it closes.
        self._high = blank + (min(high, self._high) if self._device.editor.edit.menu else high)
        return Live(("",) * blank + live.lines, (live.cursor[0] + blank, live.cursor[1])) if blank else live

    def _forget_position(self) -> None:
        """Forget the position of the live part: after other output or another size it may be anywhere."""
        self._high = self._printed = 0

    def _settle(self) -> None:
        if self._coming:
            text = "".join(self._coming)
            event = TextDelta(text, self._whole) if self._kind is TextDelta else ThinkingDelta(text)
            self._coming, self._size = [], 0
            self.state = update(self.state, event, time.monotonic())


def renderer(look: Look) -> Markdown:
    """Return the renderer of Markdown for this look: formatted, or its source."""
    if look.raw:
        return as_it_is

    return lines


LONGEST = 60
"""Characters of a title."""
_PUSH, _POP = "\x1b[22;2t", "\x1b[23;2t"
"""Save the title of the terminal, and restore it."""
_PROGRESS = {"": "0", "works": "3", "waits": "4"}
"""State of the progress mark: none, working for an unknown time, needs attention."""
_MARKS = {"": "", "works": "● ", "waits": "? "}


class Tab:
    """Title and progress mark, which show whether the session works or waits for an answer.

    `write` sends a sequence to the terminal. Nothing is sent before the session is open, nor without a change.
    """

    def __init__(self, write: Callable[[str], None], environment: Mapping[str, str]) -> None:
        self._write = write
        self._progress = shows_progress(environment)
        self._shown = ""
        self._doing = ""

    def show(self, state: State, name: str) -> None:
        """Show the state of a session with this name; without a name nothing is known yet."""
        if not name:
            return
        doing = "waits" if state.dialog else "works" if state.work else ""
        title = f"{_MARKS[doing]}{safe_line(name)[:LONGEST]}"
        if title == self._shown:
            return
        self._write(("" if self._shown else _PUSH) + f"\x1b]0;{title}\a")
        if self._progress and doing != self._doing:
            self._write(f"\x1b]9;4;{_PROGRESS[doing]};0\a")
        self._shown, self._doing = title, doing

    def close(self) -> None:
        """Restore the title, and remove the mark."""
        if self._shown:
            self._write(_POP + ("\x1b]9;4;0;0\a" if self._progress and self._doing else ""))
        self._shown = self._doing = ""


def shows_progress(environment: Mapping[str, str]) -> bool:
    """Return True for a terminal known to show progress: others would show `4;3;0` as a notification."""
    if environment.get("TMUX") or environment.get("STY"):
        return False
    return environment.get("TERM_PROGRAM") == "ghostty" or bool(
        environment.get("WT_SESSION") or environment.get("ConEmuPID")
    )
