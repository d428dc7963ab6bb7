"""Output of running calls, sent to the editor from time to time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

EVERY = 0.25
"""Seconds between two updates of one call: four a second at most."""
TAIL_CHARACTERS = 8_000
"""The end of the output that an update holds."""


class OutputTails:
    """The tail of each running call's output; `send(call_id, tail)` gets it at most every `EVERY` seconds."""

    def __init__(self, send: Callable[[str, str], Awaitable[None]], every: float = EVERY) -> None:
        self._send, self._every = send, every
        self._tails: dict[str, str] = {}
        self._sending: dict[str, asyncio.Task[None]] = {}

    def add(self, call_id: str, text: str) -> None:
        """Take in a piece of output."""
        self._tails[call_id] = (self._tails.get(call_id, "") + text)[-TAIL_CHARACTERS:]
        if call_id not in self._sending:
            self._sending[call_id] = asyncio.create_task(self._keep_sending(call_id))

    async def end(self, call_id: str) -> None:
        """Forget a call: its result says all."""
        self._tails.pop(call_id, None)
        if task := self._sending.pop(call_id, None):
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def end_all(self) -> None:
        """Forget all calls."""
        for call_id in list(self._sending):
            await self.end(call_id)

    async def _keep_sending(self, call_id: str) -> None:
        sent = ""
        while (tail := self._tails.get(call_id, "")) != sent:
            sent = tail
            await self._send(call_id, tail)
            await asyncio.sleep(self._every)
        self._sending.pop(call_id, None)
