"""Run commands within limits of time and output: checks, set-ups, anything that may hang or print without end.

The process supervisor runs them, so they end with all their processes. The sandbox is part of the command.
"""

from __future__ import annotations

import asyncio
from typing import Literal

from agentcli.core.dataclass import dataclass
from agentcli.core.tasks import start_task
from agentcli.system.process import Command, run

SECONDS = 600.0
"""Default limit of a check, in seconds."""
KEPT = 10_000_000
"""Default number of bytes kept of an output, half from each end."""
FLOOD = 1_000_000_000
"""Bytes after which a command that prints without end is stopped."""


@dataclass(frozen=True, slots=True)
class Bounded:
    """The end of a command. `output` is its output, or both ends of it; `printed` is the size of all of it in bytes.

    `exit_code` is None unless it ended by itself. `limit` and `most` are its limits in seconds and bytes.
    """

    why: Literal["exit", "timeout", "flood", "interrupted"]
    exit_code: int | None
    output: bytes
    printed: int
    seconds: float
    limit: float
    most: int

    @property
    def trouble(self) -> str:
        """Why its result is meaningless, as a part of a sentence; empty if it ended by itself."""
        match self.why:
            case "timeout":
                return f"was stopped after {self.limit:g} s"
            case "flood":
                return f"printed more than {self.most:,} bytes and was stopped"
            case "interrupted":
                return "was interrupted"
            case "exit":
                return ""


async def run_bounded(
    command: Command, interrupt: asyncio.Event, *, seconds: float = SECONDS, kept: int = KEPT, most: int = FLOOD
) -> Bounded:
    """Run a command within limits of seconds and bytes; the event stops it. On return it has ended, with all its
    processes.

    Raises ToolError if no process can be started. A cancelled task raises as usual, once the command has ended.
    """
    sink = _BothEnds(kept, most)
    running = start_task(run(command, sink, seconds, None))
    ends = [start_task(event.wait()) for event in (interrupt, sink.flooded)]
    try:
        await asyncio.wait({running, *ends}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for each in (*ends, running):
            each.cancel()
        await asyncio.wait({running})
    ended = running.result()
    stopped: Literal["exit", "timeout", "interrupted"] = "timeout" if ended.why == "idle" else ended.why
    why = "flood" if sink.flooded.is_set() else stopped
    code = ended.exit_code if why == "exit" else None
    return Bounded(why, code, sink.output(), sink.printed, ended.seconds, seconds, most)


class _BothEnds:
    """A sink that keeps the beginning and the end of an output, and sets `flooded` after `most` bytes."""

    def __init__(self, kept: int, most: int) -> None:
        self.enough, self.printed, self.flooded = 0, 0, asyncio.Event()
        self._half, self._most = kept // 2, most
        self._head, self._tail = bytearray(), bytearray()

    def add(self, piece: memoryview, skipped: int) -> None:
        """Take a piece."""
        self.printed += len(piece) + skipped
        first = self._half - len(self._head)
        self._head += piece[:first]
        self._tail += piece[first:]
        if len(self._tail) > 2 * self._half:
            del self._tail[: -self._half]
        if self.printed > self._most:
            self.enough = 1  # the rest is thrown away unread
            self.flooded.set()

    def output(self) -> bytes:
        """Return all, or both ends with a note between them."""
        left = self.printed - len(self._head) - min(self._half, len(self._tail))
        if left <= 0:
            return bytes(self._head + self._tail)
        return bytes(self._head + f"\n\n[{left:,} bytes left out here]\n\n".encode() + self._tail[-self._half :])
