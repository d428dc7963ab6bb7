"""Output of running calls, sent to the editor from time to time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from agentcli.core.tasks import run_beside

EVERY = 0.25
"""Shortest time between two updates of one call, in seconds."""
TAIL_CHARACTERS = 8_000
"""Number of characters from the end of the output in an update."""


class OutputTails:
    """Tail of each running call's output; `send(call_id, tail)` gets it at most every `EVERY` seconds."""

    def __init__(self, send: Callable[[str, str], Awaitable[None]], every: float = EVERY) -> None:
        self._send, self._every = send, every
        self._tails: dict[str, str] = {}
        self._sending: dict[str, asyncio.Task[None]] = {}

    def add(self, call_id: str, text: str) -> None:
        """Add a piece of output."""
        self._tails[call_id] = (self._tails.get(call_id, "") + text)[-TAIL_CHARACTERS:]
        if call_id not in self._sending:
            self._sending[call_id] = run_beside(self._keep_sending(call_id))

    async def end(self, call_id: str) -> None:
        """Remove a call: its result contains all output."""
        self._tails.pop(call_id, None)
        if task := self._sending.pop(call_id, None):
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def end_all(self) -> None:
        """Remove all calls."""
        for call_id in list(self._sending):
            await self.end(call_id)

    async def _keep_sending(self, call_id: str) -> None:
        sent = ""
        while (tail := self._tails.get(call_id, "")) != sent:
            sent = tail
            await self._send(call_id, tail)
            await asyncio.sleep(self._every)
        self._sending.pop(call_id, None)
