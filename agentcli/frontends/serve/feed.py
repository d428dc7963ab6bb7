"""Newest events of a shared session, numbered, for any number of readers with limited memory."""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any

MOST = 10_000
"""Events that are kept."""
SIZE = 8_000_000
"""Bytes of events that are kept."""
BATCH = 500
"""Events that a reader gets at once."""
BATCH_SIZE = 250_000
"""Bytes after which a batch has no further event: a reader that stops reading holds no more."""
FRAME, EACH, LONGEST = 0.03, 0.003, 0.09
"""Seconds between two batches for readers that are up to date: the least, the addition for each, and the most.

For the session's process, a batch costs far more than an event in it. All these readers get the same batches.
"""
LINGER = 120.0
"""Seconds after the last reader has left in which events are still kept for it."""

Json = Mapping[str, Any]


class Item:
    """One event with its id, as JSON."""

    __slots__ = ("data", "id")

    def __init__(self, id: str, event: Json) -> None:
        # ASCII only, as in `stream-json`: half of a surrogate pair must not break a reader.
        self.id, self.data = id, json.dumps(event, separators=(",", ":"), default=str)


class Feed:
    """Events of one open session. Ids are `EPOCH-NUMBER`: another epoch means that the session was reopened.

    A reader that knows the id of its newest event continues after it. If the events after it are gone, it gets a
    `reload` event, and reads the transcript again. Nothing is kept while there is no reader.
    """

    def __init__(
        self,
        most: int = MOST,
        size: int = SIZE,
        linger: float = LINGER,
        gather: Callable[[], object] = lambda: None,
    ) -> None:
        """`gather` adds what has arrived since it was last called: see `expect`."""
        self._most, self._size, self._linger, self._gather = most, size, linger, gather
        self._kept: deque[Item] = deque()
        self._bytes = self._last = self._readers = 0
        self._epoch = secrets.token_hex(4)
        self._left = -linger
        self._more, self._waiting = asyncio.Event(), 0
        self._expects, self._due = False, False
        """True if there is more than the waiting readers have, and if it will be handed out."""
        self._handed = 0.0
        self._taken: tuple[int, int, Sequence[Item]] = (0, 0, ())
        """The newest batch, with the numbers that the reader and the feed were at."""

    @property
    def cursor(self) -> str:
        """The id of the newest event. Later events get another id, so a reader that continues after it misses none."""
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
        item = Item(self.cursor, event)
        self._kept.append(item)
        self._bytes += len(item.data)
        while len(self._kept) > self._most or (self._bytes > self._size and len(self._kept) > 1):
            self._bytes -= len(self._kept.popleft().data)
        self.expect()

    def expect(self) -> None:
        """Wake the readers that wait, soon: an event was added, or `gather` will add one."""
        self._expects = True
        if self._waiting and not self._due:
            self._due = True
            pause = min(FRAME + EACH * self._waiting, LONGEST)
            asyncio.get_running_loop().call_at(self._handed + pause, self._hand_out)

    def _hand_out(self) -> None:
        self._gather()
        self._more.set()
        self._more = asyncio.Event()
        self._expects = self._due = False
        self._handed = asyncio.get_running_loop().time()

    async def follow(self, after: str = "") -> AsyncIterator[Sequence[Item]]:
        """Yield the events after this id as they come, several at once; without an id, the events from now on."""
        self.touch()
        self._readers += 1
        try:
            seen = self._number(after or self.cursor)
            while True:
                batch = self._after(seen)
                if batch is None:
                    batch = [Item(self.cursor, {"type": "reload"})]
                if batch:
                    seen = int(batch[-1].id.rpartition("-")[2])
                    yield batch
                else:
                    await self._next()
        finally:
            self._readers -= 1
            self._left = time.monotonic()

    async def _next(self) -> None:
        """Wait until there may be more events."""
        self._waiting += 1
        try:
            if self._expects:
                self.expect()
            await self._more.wait()
        finally:
            self._waiting -= 1

    def _number(self, cursor: str) -> int:
        """Return the number in an id of this epoch; -1 for any other."""
        epoch, _, number = cursor.rpartition("-")
        known = epoch == self._epoch and number.isdecimal() and number.isascii() and len(number) < 19
        return int(number) if known and int(number) <= self._last else -1

    def _after(self, seen: int) -> Sequence[Item] | None:
        """Return the next events after a number, the same for all readers there; None if they are gone."""
        if self._taken[:2] == (seen, self._last):
            return self._taken[2]
        first = self._last - len(self._kept)
        if seen < first:
            return None
        start, batch, size = seen - first, list[Item](), 0
        for n in range(start, min(start + BATCH, len(self._kept))):
            batch.append(self._kept[n])
            size += len(batch[-1].data)
            if size > BATCH_SIZE:
                break
        self._taken = (seen, self._last, batch)
        return batch

    def _forget(self) -> None:
        self._kept.clear()
        self._bytes, self._last, self._epoch, self._taken = 0, 0, secrets.token_hex(4), (0, 0, ())
