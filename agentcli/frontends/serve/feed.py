"""Newest events of a shared session, numbered, for any number of readers with limited memory."""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from agentcli.core.dataclass import dataclass

MOST = 10_000
"""Events that are kept."""
SIZE = 8_000_000
"""Bytes of events that are kept."""
BATCH = 500
"""Events that a reader gets at once."""
GATHER = 0.03
"""Seconds in which events are gathered for a reader that is up to date.

For the session's process, a batch costs far more than an event in it.
"""
LINGER = 120.0
"""Seconds after the last reader has left in which events are still kept for it."""

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Item:
    """One event with its id, as JSON."""

    id: str
    data: str


class Feed:
    """Events of one open session. Ids are `EPOCH-NUMBER`: another epoch means that the session was reopened.

    A reader that knows the id of its newest event continues after it. If the events after it are gone, it gets a
    `reload` event, and reads the transcript again. Nothing is kept while there is no reader.
    """

    def __init__(self, most: int = MOST, size: int = SIZE, linger: float = LINGER) -> None:
        self._most, self._size, self._linger = most, size, linger
        self._kept: deque[Item] = deque()
        self._bytes = self._last = self._readers = 0
        self._epoch = secrets.token_hex(4)
        self._left = -linger
        self._more = asyncio.Event()

    @property
    def cursor(self) -> str:
        """The id of the newest event."""
        return f"{self._epoch}-{self._last}"

    @property
    def wanted(self) -> bool:
        """True if a reader follows, or may come back."""
        return self._readers > 0 or time.monotonic() - self._left < self._linger

    def touch(self) -> None:
        """Keep events from now on: a reader has requested the cursor, and will follow."""
        if not self.wanted:
            self._forget()
        self._left = time.monotonic()

    def add(self, event: Json) -> None:
        """Add an event if anybody wants it."""
        if not self.wanted:
            return
        self._last += 1
        data = _dumps(event)
        self._kept.append(Item(self.cursor, data))
        self._bytes += len(data)
        while len(self._kept) > self._most or (self._bytes > self._size and len(self._kept) > 1):
            self._bytes -= len(self._kept.popleft().data)
        self._more.set()

    async def follow(self, after: str = "") -> AsyncIterator[Sequence[Item]]:
        """Yield the events after this id as they come, several at once; without an id, the events from now on."""
        self.touch()
        self._readers += 1
        try:
            seen = self._last if not after else self._number(after)
            while True:
                batch = self._after(seen)
                if batch is None:
                    batch = [Item(self.cursor, _dumps({"type": "reload"}))]
                if batch:
                    seen = int(batch[-1].id.rpartition("-")[2])
                    yield batch
                    continue
                more = self._more
                if more.is_set():
                    self._more = more = asyncio.Event()
                await more.wait()
                await asyncio.sleep(GATHER)
        finally:
            self._readers -= 1
            self._left = time.monotonic()

    def _number(self, cursor: str) -> int:
        """Return the number in an id of this epoch; -1 for any other."""
        epoch, _, number = cursor.rpartition("-")
        known = epoch == self._epoch and number.isdecimal() and number.isascii() and len(number) < 19
        return int(number) if known and int(number) <= self._last else -1

    def _after(self, seen: int) -> Sequence[Item] | None:
        """Return the next events after a number; None if they are gone."""
        first = self._last - len(self._kept)
        if seen < first:
            return None
        start = seen - first
        return [self._kept[n] for n in range(start, min(start + BATCH, len(self._kept)))]

    def _forget(self) -> None:
        self._kept.clear()
        self._bytes, self._last, self._epoch = 0, 0, secrets.token_hex(4)


def _dumps(event: Json) -> str:
    # ASCII only, as in `stream-json`: half of a surrogate pair must not break a reader.
    return json.dumps(event, separators=(",", ":"), default=str)
