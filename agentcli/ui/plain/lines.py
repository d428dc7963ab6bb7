"""Lines typed at a plain terminal, read in the background."""

from __future__ import annotations

import asyncio
import contextlib
import os
import termios
from collections.abc import Iterator


class Lines:
    """Asynchronous line reader; None at the end of input. `gone`: the terminal was closed."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._waiting: asyncio.Queue[str | None] = asyncio.Queue()
        self._rest = b""
        self.gone = False

    @contextlib.contextmanager
    def open(self) -> Iterator[None]:
        """Read in the background within the context."""
        loop = asyncio.get_running_loop()
        loop.add_reader(self._descriptor, self._read)
        try:
            yield
        finally:
            loop.remove_reader(self._descriptor)

    async def next(self) -> str | None:
        """The next line without its newline; None at the end."""
        line = await self._waiting.get()
        if line is None:
            self.close()  # whoever asks next gets no answer either
        return line

    def drop(self) -> None:
        """Discard type-ahead."""
        with contextlib.suppress(termios.error):
            termios.tcflush(self._descriptor, termios.TCIFLUSH)
        self._rest = b""
        ended = False
        while not self._waiting.empty():
            ended = self._waiting.get_nowait() is None or ended
        if ended:
            self.close()

    def close(self) -> None:
        """Have `next` return None."""
        self._waiting.put_nowait(None)

    def _read(self) -> None:
        try:
            data = os.read(self._descriptor, 65536)
        except OSError:
            data, self.gone = b"", True
        if not data:
            asyncio.get_running_loop().remove_reader(self._descriptor)
            self._waiting.put_nowait(None)
            return
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._waiting.put_nowait(line.decode(errors="replace"))
