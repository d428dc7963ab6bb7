"""A real program in a real pseudo-terminal, and the screen as a person would see it."""

from __future__ import annotations

import contextlib
import copy
import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import tempfile
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import pyte

from agentcli.permissions.sandbox.private_tmp import sweep
from tests.preloaded import Run, forks, preloaded

_TELLING = ("TMUX", "STY", "TERM_PROGRAM", "VTE_VERSION", "KITTY_", "WT_SESSION", "KONSOLE_", "COLORFGBG", "COLORTERM")

PATIENCE = float(os.environ.get("TERMINAL_PATIENCE", "1"))
"""Factor for the time that a text on the screen is waited for: more than 1 on a machine that does other work."""
READING = 1.0
"""Seconds that a person needs at least to read a question; keys that come much sooner are taken to be typed ahead."""
_QUESTION = re.compile(
    r"❯ \d+\. |^ *(?:search:|\d yes\b|y or n\?|.*\[y/N\]:|Number, or|Answer:)|· Esc (?:skip|cancel|no)"
)

_UPDATE_BEGINS, _UPDATE_ENDS = b"\x1b[?2026h", b"\x1b[?2026l"


class Terminal:
    """Runs a program in a pty of a given size. Everything it writes is kept; pyte sees it only when somebody looks.

    If `forked`, it may be a fork of a preloaded process; its start is then not the real one.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        columns: int = 80,
        rows: int = 24,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        forked: bool = False,
    ) -> None:
        self.command, self.cwd, self.forked = list(command), cwd, forked
        # The tests may themselves run in a terminal that can do more than this one.
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(_TELLING)}
        self.env = {**inherited, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8", **(env or {})}
        self.env = {name: value for name, value in self.env.items() if value != "\0unset"}
        self.columns, self.rows = columns, rows
        self.raw = b""
        self._sizes: list[tuple[int, int, int]] = []
        self._seen = Screen(columns, rows, history=10**5, ratio=0.5)
        self._stream = pyte.ByteStream(self._seen)
        self._fed = 0
        self.code: int | None = None
        self._run: Run | None = None
        self._hung_up = False

    def __enter__(self) -> Terminal:
        self.started = time.monotonic()
        module = self.command[2] if self.command[:2] == [sys.executable, "-m"] else ""
        if self.forked and forks(module, self.env):
            self._fork()
            return self
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            if self.cwd:
                os.chdir(self.cwd)
            os.execvpe(self.command[0], self.command, self.env)
        self._set_size(self.columns, self.rows)
        return self

    def _fork(self) -> None:
        self.master, slave = os.openpty()
        self._set_size(self.columns, self.rows)
        self._run = preloaded().start(self.command[2:], self.env, self.cwd or os.getcwd(), [slave] * 3)
        os.close(slave)
        self.pid = self._run.pid

    def _ended(self) -> int | None:
        """Return the program's exit code, or minus the signal, if it has ended."""
        if self._run:
            return self._run.ended()
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        return os.waitstatus_to_exitcode(status) if pid else None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.code is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            self.wait()
            sweep(Path(self.env.get("TMPDIR") or tempfile.gettempdir()))
        if not self._hung_up:
            os.close(self.master)

    def send(self, text: str, *, until: str = "", seconds: float = 20.0, at_once: bool = False) -> None:
        """Type, and read on until a text comes; to a question that is open only after a while without a key, as a person does who reads it, unless `at_once`."""
        if not at_once and self.asks:
            self._read_question()
        data = text.encode()
        while data:
            ready, writable, _ = select.select([self.master], [self.master], [], 5)
            if ready:
                self._read()
            if writable:
                data = data[os.write(self.master, data[:4096]) :]
        if until:
            self.until(until, seconds=seconds)

    @property
    def asks(self) -> bool:
        """True if the screen has a question or a list to choose from, once the update that has begun is there whole."""
        ends = time.monotonic() + READING
        while self.raw.rfind(_UPDATE_BEGINS) > self.raw.rfind(_UPDATE_ENDS) and self._wait(ends):
            pass
        return any(_QUESTION.search(row) for row in self.screen())

    def _read_question(self) -> None:
        ends = time.monotonic() + READING
        while (left := ends - time.monotonic()) > 0:
            if select.select([self.master], [], [], left)[0] and not self._read():
                return

    def until(self, *texts: str, seconds: float = 20.0) -> None:
        """Read on until each text stands on the screen or in the scrollback, one after the other; AssertionError with the screen otherwise."""
        for text in texts:
            ends = time.monotonic() + seconds * PATIENCE
            while text not in "\n".join(row + " " for row in self.history()):
                if not self._wait(ends):
                    raise AssertionError(f"{text!r} never came. The screen:\n" + "\n".join(self.screen()))

    def gone(self, text: str, seconds: float = 20.0) -> None:
        """Read on until the text is no longer on the screen."""
        ends = time.monotonic() + seconds * PATIENCE
        while text in "\n".join(self.screen()):
            if not self._wait(ends):
                raise AssertionError(f"{text!r} stays. The screen:\n" + "\n".join(self.screen()))

    def bytes_until(self, data: bytes, seconds: float = 10.0) -> float:
        """Read on until these bytes come, from now; returns how many seconds that took."""
        began, place = time.monotonic(), len(self.raw)
        while data not in self.raw[place:]:
            if not self._wait(began + seconds):
                raise AssertionError(f"{data!r} never came. The screen:\n" + "\n".join(self.screen()))
        return time.monotonic() - began

    def settle(self, quiet: float = 0.15, seconds: float = 10.0) -> None:
        """Read until nothing has come for a while."""
        ends = time.monotonic() + seconds
        while time.monotonic() < ends and select.select([self.master], [], [], quiet)[0]:
            if not self._read():
                return

    def resize(self, columns: int, rows: int) -> None:
        """Change the window, as a person drags its corner."""
        self.settle(0.05)
        self._set_size(columns, rows)
        self._sizes.append((len(self.raw), columns, rows))

    def history(self) -> list[str]:
        """Everything that can be seen by scrolling up, then the screen; without trailing blanks."""
        screen = self._replay()
        rows = [_row(line, screen.columns) for line in screen.history.top]
        return [*rows, *self._rows(screen)]

    def screen(self) -> list[str]:
        """The rows of the window."""
        return self._rows(self._replay())

    def picture(self) -> pyte.HistoryScreen:
        """The screen with its colours."""
        return self._replay()

    @property
    def cursor(self) -> tuple[int, int]:
        """Row and column."""
        screen = self._replay()
        return screen.cursor.y, screen.cursor.x

    def wait(self, seconds: float = 10.0) -> int:
        """Wait for the end of the program; its exit code, or minus the signal."""
        ends = time.monotonic() + seconds * PATIENCE
        while self.code is None:
            self._wait(min(ends, time.monotonic() + 0.05))
            self.code = self._ended()
            if self.code is None and time.monotonic() > ends:
                raise AssertionError("The program does not end. The screen:\n" + "\n".join(self.screen()))
        if not self._hung_up:
            self.settle(0.02)
        return self.code

    def hang_up(self) -> None:
        """Close the window."""
        self._hung_up = True
        os.close(self.master)

    def signal(self, number: int) -> None:
        """Send the program a signal."""
        os.kill(self.pid, number)

    def _rows(self, screen: pyte.HistoryScreen) -> list[str]:
        return [_row(screen.buffer[n], screen.columns) for n in range(screen.lines)]

    def _replay(self) -> pyte.HistoryScreen:
        """Give pyte what has come since somebody last looked."""
        while self._sizes and self._sizes[0][0] <= len(self.raw):
            place, columns, rows = self._sizes.pop(0)
            self._feed(place)
            self._seen.resize(rows, columns)
        self._feed(len(self.raw))
        return self._seen

    def _feed(self, end: int) -> None:
        self._stream.feed(self.raw[self._fed : end])
        self._fed = end

    def _wait(self, ends: float) -> bool:
        left = ends - time.monotonic()
        if self._hung_up:
            time.sleep(max(left, 0))
            return False
        return left > 0 and (not select.select([self.master], [], [], left)[0] or self._read())

    def _read(self) -> bool:
        try:
            data = os.read(self.master, 65536)
        except OSError:
            return False
        self.raw += data
        return bool(data)

    def _set_size(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


class Screen(pyte.HistoryScreen):
    """A screen that also has an alternate one, as terminals do: what stood below comes back."""

    def set_mode(self, *modes: int, **how: Any) -> None:
        if ALTERNATE in modes and how.get("private"):
            self._below = copy.deepcopy(self.buffer), copy.copy(self.cursor)
        super().set_mode(*modes, **how)

    def reset_mode(self, *modes: int, **how: Any) -> None:
        if ALTERNATE in modes and how.get("private"):
            self.buffer, self.cursor = self._below
            self.dirty.update(range(self.lines))
        super().reset_mode(*modes, **how)

    def delete_lines(self, count: int | None = None) -> None:
        # pyte leaves a row as it is if the one to replace it was never written.
        for row in range(self.lines):
            self.buffer[row]
        super().delete_lines(count)


ALTERNATE = 1049
"""The mode of the alternate screen."""


def _row(line: Mapping[int, pyte.screens.Char], columns: int) -> str:
    written = min(columns, max(line, default=-1) + 1)
    return "".join([line[n].data for n in range(written)]).rstrip()
