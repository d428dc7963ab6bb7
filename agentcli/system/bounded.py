"""Commands within a time and a number of bytes: checks, set-ups, whatever may hang or print without end.

The process supervisor runs them, so they end with all their processes; the sandbox is part of the command.
"""

from __future__ import annotations

import asyncio
from typing import Literal

from agentcli.core.dataclass import dataclass
from agentcli.core.tasks import start_task
from agentcli.system.process import Command, run

SECONDS = 600.0
"""Seconds that a check may take unless its caller says otherwise."""
KEPT = 10_000_000
"""Bytes of an output that are kept unless the caller says otherwise, half from each end."""
FLOOD = 1_000_000_000
"""Bytes that a command may print before it is stopped: one that prints without end."""


@dataclass(frozen=True, slots=True)
class Bounded:
    """The end of a command. `output` is what it printed, or both ends of it; `printed` are the bytes of all of it.

    `exit_code` is None unless it ended by itself. `limit` and `most` are the seconds and bytes that it had.
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
        """Why its end means nothing, as a part of a sentence about it; empty if it ended by itself."""
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
    """Run a command for so many seconds and bytes at most; the event ends it. It has ended, with all its processes, when this returns.

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
    """A sink that keeps the beginning and the end of an output, and sets `flooded` once `most` bytes have come."""

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
