"""Early prompt: echoes keys while the heavy modules are imported."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import termios
import threading
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")

PROMPT = "> "
BRACKETED_PASTE, PLAIN_PASTE = "\x1b[?2004h", "\x1b[?2004l"
PAINTING = "\x1b[?2026h\x1b[?25l\x1b[?7l"
"""Beginning of every frame: synchronised update, cursor and line wrap off."""
PAINTED = "\x1b[?7h\x1b[?25h\x1b[?2026l"
"""End of every frame: line wrap and cursor on, synchronised update over."""
ENTER_ALTERNATE, LEAVE_ALTERNATE = "\x1b[?1049h", "\x1b[?1049l"
"""Changes to the terminal's alternate screen, and back."""
_CTRL_C = 3


def possible() -> bool:
    """Return True if stdin and stdout are a terminal with cursor movement."""
    return sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM", "dumb") not in ("dumb", "")


def start(status: str = "starting…") -> EarlyTerminal:
    """Switch the terminal to raw mode and paint the prompt. Call `restore` on every exit path."""
    return EarlyTerminal(sys.stdin.fileno(), sys.stdout.fileno(), status)


class EarlyTerminal:
    """Terminal in raw mode with a prompt, and the input so far.

    `lines` are the rows on the screen, with the cursor at the end of the second. `typed` has all received bytes, for
    the real editor. Only plain text is echoed. From the first control byte on, keys are kept but not shown.
    """

    def __init__(self, keyboard: int, screen: int, status: str) -> None:
        self._keyboard, self.screen = keyboard, screen
        self._before: list[Any] = termios.tcgetattr(keyboard)
        self._columns = _columns(screen)
        self._wide_enough = self._columns - len(PROMPT) - 1
        self._held, self._shown = False, False
        self.typed = b""
        self.echoed = ""
        self.status = status[: self._wide_enough]
        self.guard()
        termios.tcsetattr(keyboard, termios.TCSANOW, _raw(self._before))
        rule, prompt, below = self.lines
        _write(screen, f"{BRACKETED_PASTE}{rule}\r\n{prompt}\r\n{below}\x1b[A\r{prompt}")
        self._shown = True
        if select.select([keyboard], [], [], 0)[0]:
            # These keys were typed before raw mode, so the terminal has turned Enter into a line feed. In the editor a
            # line feed means a new line.
            self._take(os.read(keyboard, 65536).replace(b"\n", b"\r"))

    @property
    def lines(self) -> tuple[str, str, str]:
        """Rows on the screen: a rule, the prompt, the status."""
        return _dim("─" * (self._columns - 1)), PROMPT + self.echoed, _dim(self.status)

    def during(self, load: Callable[[], T]) -> T:
        """Call `load` in a thread, echoing keys meanwhile. Ctrl-C raises KeyboardInterrupt and abandons the thread."""
        outcome: list[Callable[[], T]] = []
        awake, ring = os.pipe()
        thread = threading.Thread(target=_attempt, args=(load, outcome, ring), daemon=True)
        try:
            thread.start()
            while not outcome:
                ready, _, _ = select.select([self._keyboard, awake], [], [])
                if self._keyboard in ready:
                    self._take(os.read(self._keyboard, 65536))
        finally:
            os.close(awake)
        return outcome[0]()

    def restore(self) -> None:
        """Restore the terminal's attributes without discarding input. Idempotent."""
        # A closed terminal needs no restoring. Not TCSADRAIN: if no program reads the terminal, it would block forever.
        with contextlib.suppress(termios.error):
            termios.tcsetattr(self._keyboard, termios.TCSANOW, self._before)

    def hand_over(self) -> bytes:
        """Hand the screen over to the editor; return the input so far."""
        self._shown = False
        return self.typed

    def leave(self) -> None:
        """Erase the prompt, if still on the screen, and restore the terminal."""
        # A closed terminal cannot be restored.
        with contextlib.suppress(OSError):
            _write(self.screen, ("\r\x1b[A\x1b[J" if self._shown else "") + PLAIN_PASTE)
        self._shown = False
        self.restore()

    def guard(self) -> None:
        """Install signal handlers that restore the terminal and exit at once: for phases without work to stop first."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            signal.signal(number, self._end)
        signal.set_wakeup_fd(-1)  # a closing event loop would warn about the write

    def _end(self, number: int, _: object) -> None:
        with contextlib.suppress(OSError):
            _write(self.screen, PAINTED)
        self.leave()
        os._exit(128 + number)

    def _take(self, data: bytes) -> None:
        if not data:
            raise EOFError
        self.typed += data
        if _CTRL_C in data:
            raise KeyboardInterrupt
        self._held = self._held or any(byte < 32 or byte == 127 for byte in data)
        text = data.decode(errors="replace")
        # A non-ASCII character may be two cells wide: text that may not fit is left to the editor.
        free = self._wide_enough - sum(1 if char.isascii() else 2 for char in self.echoed + text)
        self._held = self._held or free < 0 or "\ufffd" in text
        if not self._held:
            self.echoed += text
            _write(self.screen, text)


def _attempt(load: Callable[[], T], outcome: list[Callable[[], T]], ring: int) -> None:
    try:
        value = load()
        outcome.append(lambda: value)
    except BaseException as error:  # noqa: BLE001 - handed over whole to the thread that waits
        failure = error

        def fail() -> T:
            raise failure

        outcome.append(fail)
    os.close(ring)


def _raw(attributes: list[Any]) -> list[Any]:
    raw: list[Any] = [list(part) if isinstance(part, list) else part for part in attributes]
    raw[0] &= ~(termios.IXON | termios.IXOFF | termios.ICRNL | termios.INLCR | termios.IGNCR)
    raw[3] &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN | termios.ISIG)
    raw[6][termios.VMIN] = 1
    return raw


def _dim(text: str) -> str:
    return f"\x1b[2m{text}\x1b[0m"


def _columns(screen: int) -> int:
    return os.get_terminal_size(screen).columns or 80


def _write(screen: int, text: str) -> None:
    data = text.encode()
    while data:
        try:
            data = data[os.write(screen, data) :]
        except BlockingIOError:
            select.select([], [screen], [])
