"""Keeps what a model should see of an output of any size, in little memory: its beginning and its end; the whole goes to a file."""

from __future__ import annotations

import codecs
import os
from collections.abc import Callable

from agentcli.core.tool import ToolLimits
from agentcli.tools._text import tail_of


class Capture:
    """An output as it comes. `keep` makes the file for the whole and returns its path; it is called only when the output is too long.

    `call_id` is named in the cut notice where `recall` can find the whole by it.
    """

    def __init__(self, limits: ToolLimits, keep: Callable[[], str], call_id: str = "") -> None:
        self._call_id = call_id
        self.size = 0
        self.file = ""
        self._limits = limits
        self._keep = keep
        self._head = b""
        self._tail = b""
        self._fd = -1
        self._room = limits.output_file

    @property
    def enough(self) -> int:
        """How many of the last bytes are still wanted when there is no more room in the file; 0 before that."""
        return self._half if self.cut and (self._fd < 0 or self._room <= 0) else 0

    def add(self, piece: bytes | memoryview, skipped: int = 0) -> None:
        """Take the next piece; `skipped` bytes before it, all of them beyond what is kept, were thrown away."""
        self.size += skipped
        if self.size + len(piece) > 2 * self._half:
            self._spill(piece)
        self.size += len(piece)
        missing = self._half - len(self._head)
        if missing > 0:
            self._head += piece[:missing]
            piece = piece[missing:]
        if piece:
            self._tail = (
                bytes(piece[-self._half :]) if len(piece) >= self._half else (self._tail + piece)[-self._half :]
            )

    def close(self) -> None:
        """Nothing more will come."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    @property
    def cut(self) -> bool:
        """Whether something in the middle is not shown."""
        return self.size > 2 * self._half

    def text(self) -> str:
        """What the model sees. Bytes that are no UTF-8 become U+FFFD."""
        if not self.cut:
            return (self._head + self._tail).decode("utf-8", "replace")
        head = codecs.getincrementaldecoder("utf-8")("replace").decode(self._head)  # leaves out a character that is cut
        tail = tail_of(b"\x80" + self._tail, self._half).decode("utf-8", "replace")
        return f"{head}\n\n[{self._notice(self.size - 2 * self._half)}]\n\n{tail}"

    @property
    def _half(self) -> int:
        return self._limits.bash_output // 2

    def _notice(self, left_out: int) -> str:
        lost = f"{left_out:,} of {self.size:,} bytes left out here"
        if not self.file:
            return lost
        whole = (
            "the whole output"
            if self.size <= self._limits.output_file
            else f"its first {self._limits.output_file:,} bytes"
        )
        recall = f', or recall(id="{self._call_id}")' if self._call_id else ""
        return f"{lost}; {whole}: {self.file}{recall}"

    def _spill(self, piece: bytes | memoryview) -> None:
        """Write to the file; on the first time, all that came before as well."""
        if not self.cut:
            path = self._keep()
            self._fd = _opened(path)
            self.file = path if self._fd >= 0 else ""
            piece = self._head + self._tail + piece
        if self._fd >= 0 and self._room > 0:
            try:
                self._room -= os.write(self._fd, piece[: self._room])
            except OSError:
                self._room = 0  # the disk is full: what is there is kept


def _opened(path: str) -> int:
    """The file, to be written on; -1 where nothing is kept."""
    if not path:
        return -1
    try:
        return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return -1
