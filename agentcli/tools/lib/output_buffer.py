"""Buffer for an output of any size in little memory: its beginning and end for the model, the whole in a file."""

from __future__ import annotations

import os
from collections.abc import Callable

from agentcli.core.text.truncate import around
from agentcli.core.tool import ToolLimits
from agentcli.tools.lib.truncate import whereabouts

_IN_MEMORY = 5_000_000
"""Maximum bytes of the whole output that are kept without a file: the session is not stored, or its disk is full."""


class OutputBuffer:
    """An output, piece by piece.

    `keep` saves a text as the call's whole output and returns its path; it is used only if the output is too long to
    show. `call_id` is named in the notice of the cut if `recall` can find the whole by it.
    """

    def __init__(self, limits: ToolLimits, keep: Callable[[str], str], call_id: str = "") -> None:
        self.size = 0
        self.file = ""
        self._limits = limits
        self._keep = keep
        self._call_id = call_id
        self._head = b""
        self._tail = b""
        self._fd = -1
        self._memory = bytearray()
        self._saved = 0
        self._room = limits.output_file

    @property
    def enough(self) -> int:
        """Number of the last bytes that are still wanted once there is no room for the whole; 0 before that."""
        return self._half if self.cut and self._room <= 0 else 0

    @property
    def cut(self) -> bool:
        """True if the middle is left out."""
        return self.size > 2 * self._half

    def add(self, piece: bytes | memoryview, skipped: int = 0) -> None:
        """Add the next piece; `skipped` unwanted bytes before it were discarded."""
        self.size += skipped
        if self.size + len(piece) > 2 * self._half:
            self._spill(piece)
        self.size += len(piece)
        missing = self._half - len(self._head)
        if missing > 0:
            self._head += piece[:missing]
            piece = piece[missing:]
        if len(piece) >= self._half:
            self._tail = bytes(piece[-self._half :])
        elif piece:
            self._tail = (self._tail + piece)[-self._half :]

    def close(self) -> None:
        """End the output: close its file, or save the bytes in memory."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
        elif self._memory:
            self.file = self._keep(self._memory.decode("utf-8", "replace"))
            self._memory.clear()

    def text(self) -> str:
        """Return the text for the model. Bytes that are not UTF-8 become U+FFFD."""
        if not self.cut:
            return (self._head + self._tail).decode("utf-8", "replace")
        return around(self._head, self._tail, self._notice(self.size - 2 * self._half))

    def where(self) -> str:
        """Return the place of the whole output, for a notice; empty if there is none."""
        what = "the whole output" if self.size <= self._saved else f"its first {self._saved:,} bytes"
        return whereabouts(self.file, self._call_id, what)

    @property
    def _half(self) -> int:
        return self._limits.bash_output // 2

    def _notice(self, left_out: int) -> str:
        return f"{left_out:,} of {self.size:,} bytes left out here{self.where()}"

    def _spill(self, piece: bytes | memoryview) -> None:
        """Save a piece of the whole output; the first time, everything before it as well."""
        if not self.cut:
            self._begin()
            self._put_aside(self._head + self._tail)
        self._put_aside(piece)

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
