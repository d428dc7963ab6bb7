"""Commands within a time and a number of bytes: checks, set-ups, whatever may hang or print without end.

The process supervisor runs them, so they end with all their processes; the sandbox is part of the command.
"""

from __future__ import annotations

import asyncio
from typing import Literal

from agentcli.core.dataclass import dataclass
from agentcli.core.tasks import start_task
from agentcli.system.process import Command, LimitedSink, run

SECONDS = 600.0
"""Seconds that a check may take unless its caller says otherwise."""
BYTES = 10_000_000
"""Bytes that a check may print unless its caller says otherwise."""


@dataclass(frozen=True, slots=True)
class Bounded:
    """The end of a command: `output` is what it printed, up to the limit. `exit_code` is None unless it ended by itself."""

    why: Literal["exit", "timeout", "flood", "interrupted"]
    exit_code: int | None
    output: bytes
    seconds: float = 0.0

    def trouble(self, seconds: float = SECONDS, most: int = BYTES) -> str:
        """Return why its end means nothing, as a part of a sentence about it; empty if it ended by itself."""
        match self.why:
            case "timeout":
                return f"was stopped after {seconds:g} s"
            case "flood":
                return f"printed more than {most:,} bytes and was stopped"
            case "interrupted":
                return "was interrupted"
            case "exit":
                return ""


async def run_bounded(
    command: Command, interrupt: asyncio.Event, *, seconds: float = SECONDS, most: int = BYTES
) -> Bounded:
    """Run a command for so many seconds and bytes at most; the event ends it. It has ended, with all its processes, when this returns.

    Raises ToolError if no process can be started. A cancelled task raises as usual, once the command has ended.
    """
    sink = LimitedSink(most)
    running = start_task(run(command, sink, seconds, None))
    ends = [start_task(event.wait()) for event in (interrupt, sink.flooded)]
    try:
        await asyncio.wait({running, *ends}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for each in (*ends, running):
            each.cancel()
        await asyncio.wait({running})
    ended, output = running.result(), bytes(sink.data)
    if sink.flooded.is_set():
        return Bounded("flood", None, output, ended.seconds)
    why: Literal["exit", "timeout", "interrupted"] = "timeout" if ended.why == "idle" else ended.why
    return Bounded(why, ended.exit_code if why == "exit" else None, output, ended.seconds)
