"""Buffer for an output of any size in little memory.

The model gets its beginning and end, as a terminal shows them; a file gets every byte.
"""

from __future__ import annotations

import codecs
import os
from collections.abc import Callable

from agentcli.core.text.encodings import is_wide, readable
from agentcli.core.text.terminal import Screen
from agentcli.core.text.truncate import around, at_line_ends
from agentcli.core.tool import ToolLimits
from agentcli.tools.lib.truncate import whereabouts

_IN_MEMORY = 5_000_000
"""Maximum bytes of the whole output that stay in memory without a file.

There is no file if the session is not stored, or if its disk is full.
"""

_MARKED = 8_000
"""Bytes of the first piece that reveal UTF-16."""


class OutputBuffer:
    """An output, piece by piece.

    `keep` saves a text as the call's whole output and returns its path. It is used if the output is too long to show.
    It is also used if parts were overwritten, such as frames of a progress bar. The truncation notice contains
    `call_id` if `recall` can find the whole with it.
    """

    def __init__(self, limits: ToolLimits, keep: Callable[[str], str], call_id: str = "") -> None:
        self.size = 0
        self.file = ""
        self._limits = limits
        self._keep = keep
        self._call_id = call_id
        self._screen = Screen()
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        self._wide = False
        self._shown = 0
        self._head = b""
        self._tail = b""
        self._raw = bytearray()
        self._fd = -1
        self._memory = bytearray()
        self._saved = 0
        self._room = limits.output_file

    @property
    def enough(self) -> int:
        """Number of last bytes that are still wanted once the whole no longer fits; 0 before that."""
        return self._half if self._shown > 2 * self._half and self._room <= 0 else 0

    @property
    def cut(self) -> bool:
        """True if the middle is left out."""
        return self._shown + len(self._rest()) > 2 * self._half

    def add(self, piece: bytes | memoryview, skipped: int = 0) -> None:
        """Add the next piece; `skipped` unwanted bytes before it were discarded."""
        if not self.size:
            self._wide = is_wide(bytes(piece[:_MARKED]))
        self.size += skipped + len(piece)
        self._spill(piece)
        self._shown += skipped
        if self._wide:
            self._show(piece)
        else:
            self._show(_bytes(self._screen.feed(self._decoder.decode(piece))))

    def close(self) -> None:
        """End the output: close its file, or save the bytes in memory."""
        if self._screen.overwritten and self._raw:
            self._put_aside_all()
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
        elif self._memory:
            self.file = self._keep(readable(bytes(self._memory)))
            self._memory.clear()

    def text(self) -> str:
        """Return the text for the model."""
        rest = self._rest()
        size = self._shown + len(rest)
        if size <= 2 * self._half:
            return readable(self._head + self._tail + rest)
        missing = self._half - len(self._head)
        head, tail = self._head + rest[:missing], (self._tail + rest[missing:])[-self._half :]
        head, tail = at_line_ends(head, tail)
        notice = f"{size - len(head) - len(tail):,} of {size:,} bytes left out here{self.where()}"
        return around(head, tail, notice)

    def where(self) -> str:
        """Return the place of the whole output, for a notice; empty if there is none."""
        what = "the whole output" if self.size <= self._saved else f"its first {self._saved:,} bytes"
        return whereabouts(self.file, self._call_id, what)

    @property
    def _half(self) -> int:
        return self._limits.bash_output // 2

    def _rest(self) -> bytes:
        """Return what a terminal shows and may still change."""
        return _bytes(self._screen.rest)

    def _show(self, data: bytes | memoryview) -> None:
        """Add final bytes to the beginning or the end."""
        self._shown += len(data)
        missing = self._half - len(self._head)
        if missing > 0:
            self._head += data[:missing]
            data = data[missing:]
        if len(data) >= self._half:
            self._tail = bytes(data[-self._half :])
        elif data:
            self._tail = (self._tail + data)[-self._half :]

    def _spill(self, piece: bytes | memoryview) -> None:
        """Save a piece of the whole output; the first time that it is too long, everything before it as well."""
        if self.size <= 2 * self._half:
            self._raw += piece
            return
        if self._raw or not self._saved:
            self._put_aside_all()
        self._put_aside(piece)

    def _put_aside_all(self) -> None:
        self._begin()
        self._put_aside(bytes(self._raw))
        self._raw.clear()

    def _begin(self) -> None:
        path = self._keep("")
        try:
            self._fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC)
            self.file = path
        except OSError:
            self._room = min(self._room, _IN_MEMORY)

    def _put_aside(self, piece: bytes | memoryview) -> None:
        piece = piece[: self._room]
        if not piece:
            return
        try:
            size = os.write(self._fd, piece) if self._fd >= 0 else self._hold(piece)
        except OSError:
            size = 0
        self._room = self._room - size if size == len(piece) else 0  # the disk is full: the saved part remains
        self._saved += size

    def _hold(self, piece: bytes | memoryview) -> int:
        self._memory += piece
        return len(piece)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
