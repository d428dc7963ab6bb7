"""A terminal of lines: typed input is read in the background."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import select
import sys
import termios
from collections import deque
from collections.abc import Callable, Iterator

from agentcli.core.sanitise import safe
from agentcli.frontends.terminal.dialogs.dialogs import TYPED_AHEAD
from agentcli.frontends.terminal.style import MUTE, Look

TOGETHER = 0.05
"""Maximum seconds between two lines that no person typed one after the other."""
_ANSWER = re.compile(r"\s*(?:\d|[a-z]|yes|no|)\s*", re.IGNORECASE)
"""Lines that can only be answers, and so were typed for another question."""


class Lines:
    """Asynchronous line reader; None at the end of input. `gone`: the terminal was closed.

    `early` are prompts typed before a question appeared: they answer nothing, and wait for their turn.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._waiting: deque[str | None] = deque()
        self._arrived = asyncio.Event()
        self._rest = b""
        self._ended = self._read_any = False
        self.gone = False
        self.early: deque[str] = deque()

    @property
    def silent(self) -> bool:
        """True if the input has ended without a line."""
        return self._ended and not self._read_any

    @contextlib.contextmanager
    def open(self) -> Iterator[None]:
        """Read in the background within the context."""
        loop = asyncio.get_running_loop()
        try:
            loop.add_reader(self._descriptor, self._read)
        except PermissionError:  # a file, or /dev/null, which can always be read
            while self._read():
                pass
        try:
            yield
        finally:
            loop.remove_reader(self._descriptor)

    async def next(self) -> str | None:
        """Wait for the next line and return it without its newline.

        Return None at the end of input, and on every later call.
        """
        await self._comes(None)
        return None if self._waiting[0] is None else self._waiting.popleft()

    async def answer(self, again: Callable[[], None]) -> str | None:
        """Wait for a line that arrives alone after the question was printed; None at the end of input.

        `again` prints the question again, after other lines.
        """
        while True:
            if await self._put_aside():
                again()
                continue
            line = await self.next()
            if line is None or not await self._comes(TOGETHER) or self._waiting[0] is None:
                return line
            self._waiting.appendleft(line)

    def close(self) -> None:
        """Have `next` return None."""
        self._put(None)

    async def _put_aside(self) -> bool:
        """Treat lines as typed ahead until input has been idle for a while; return True if there were any."""
        while self._read():
            pass
        found = False
        while await self._comes(TYPED_AHEAD) and (line := self._waiting[0]) is not None:
            self._waiting.popleft()
            found = True
            if not _ANSWER.fullmatch(line):
                self.early.append(line)
        with contextlib.suppress(termios.error):
            termios.tcflush(self._descriptor, termios.TCIFLUSH)  # the beginning of another line
        return found

    async def _comes(self, seconds: float | None) -> bool:
        """Wait for a line, or the end, at most so many seconds; return False on a timeout."""
        if not self._waiting:
            self._arrived.clear()
            try:
                async with asyncio.timeout(seconds):
                    await self._arrived.wait()
            except TimeoutError:
                return False
        return True

    def _put(self, line: str | None) -> None:
        self._waiting.append(line)
        self._arrived.set()

    def _read(self) -> bool:
        """Read the waiting input; return False without any: the loop may call this for input that was already read."""
        if self._ended or not select.select([self._descriptor], [], [], 0)[0]:
            return False
        try:
            data = os.read(self._descriptor, 65536)
        except OSError:
            data, self.gone = b"", True
        if not data:
            self._ended = True
            asyncio.get_running_loop().remove_reader(self._descriptor)
            self._put(None)
            return False
        self._read_any = True
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._put(line.decode(errors="replace"))
        return True


class LineTerminal:
    """A terminal that prints and reads lines."""

    def __init__(self) -> None:
        self.look = Look(MUTE)
        self._lines = Lines(sys.stdin.fileno())

    def say(self, *lines: str) -> None:
        """Print lines of text."""
        self._write("".join(f"{safe(line)}\n" for line in lines))

    async def ask(self, question: str) -> str | None:
        """Ask for a line; None at the end of input."""
        self._write(safe(question))
        line = await self._lines.next()
        if self._lines.gone:
            self.hung_up()
        return line

    async def answer(self, question: str) -> str | None:
        """Ask a question and wait for the answer; lines typed before the question do not count."""

        def again() -> None:
            self.say("", "Ignored keys typed before this question. Prompts wait for their turn.")
            self._write(safe(question))

        self._write(safe(question))
        line = await self._lines.answer(again)
        if self._lines.gone:
            self.hung_up()
        return line

    def typed_early(self) -> str:
        """Take the next prompt typed before a question, and print it as if it were typed now.

        Return an empty text if none waits.
        """
        text = self._lines.early.popleft() if self._lines.early else ""
        if text:
            self.say(f"> {text}")
        return text

    def _write(self, text: str) -> None:
        try:
            print(text, end="", flush=True)
        except OSError:
            # The terminal is gone. Later output must not fail again when the program ends.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            self.hung_up()

    def hung_up(self) -> None:
        """Hear that the terminal is gone."""
