"""Newest events of a shared session, numbered, for any number of readers with limited memory."""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

MOST = 10_000
"""Events that are kept."""
SIZE = 8_000_000
"""Bytes of events that are kept."""
BATCH = 500
"""Events that a reader gets at once."""
BATCH_SIZE = 250_000
"""Bytes after which a batch has no further event: a reader that stops reading holds no more."""
FRAME = 0.03
"""Seconds in which events are gathered for a reader that is up to date. All readers share the same frames.

For the session's process, a batch costs far more than an event in it.
"""
JOINED = 50_000
"""Characters after which the pieces of a text are no longer joined to one event."""
LINGER = 120.0
"""Seconds after the last reader has left in which events are still kept for it."""

Json = Mapping[str, Any]


class Item:
    """One event with its id, as JSON. Pieces of a text are joined to one event until a reader takes it."""

    __slots__ = ("_event", "_pieces", "data", "id", "size")

    def __init__(self, id: str, event: Json) -> None:
        self.id, self.data = id, _dumps(event)
        self.size = len(self.data)
        self._event = event if event.get("delta") else None
        self._pieces: list[str] = []

    def join(self, kind: str, text: str) -> bool:
        """Join another piece of the same text; return False if it is of another kind, or long enough."""
        if self._event is None or self._event["type"] != kind or self.size > JOINED:
            return False
        self._pieces.append(text)
        self.size += len(text)
        return True

    def complete(self) -> None:
        """Write the JSON of all its pieces; no other joins them."""
        if self._event is not None and self._pieces:
            self.data = _dumps({**self._event, "text": "".join((self._event["text"], *self._pieces))})
            self._pieces, self.size = [], len(self.data)
        self._event = None


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
        """The id of the newest event. Later events get another id, so a reader that continues after it misses none."""
        self._complete()
        return self._newest

    @property
    def _newest(self) -> str:
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
        self._complete()
        self._last += 1
        item = Item(self._newest, event)
        self._kept.append(item)
        self._bytes += item.size
        while len(self._kept) > self._most or (self._bytes > self._size and len(self._kept) > 1):
            self._bytes -= self._kept.popleft().size
        self._more.set()

    def join(self, kind: str, text: str) -> bool:
        """Join a piece of a text to the newest event, as long as no reader has that.

        Return False if the event is of another kind than the piece's: `add` it then.
        """
        joined = self.wanted and bool(self._kept) and self._kept[-1].join(kind, text)
        self._bytes += len(text) if joined else 0
        return joined

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
                    behind = seen < self._last
                    yield batch
                    if behind:
                        continue
                else:
                    more = self._more
                    if more.is_set():
                        self._more = more = asyncio.Event()
                    await more.wait()
                await asyncio.sleep(FRAME - asyncio.get_running_loop().time() % FRAME)
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
        start, batch, size = seen - first, list[Item](), 0
        for n in range(start, min(start + BATCH, len(self._kept))):
            batch.append(self._kept[n])
            size += batch[-1].size
            if size > BATCH_SIZE:
                break
        self._complete()
        return batch

    def _complete(self) -> None:
        """Let nothing join the newest event: a reader takes it, or continues after it."""
        if self._kept:
            newest = self._kept[-1]
            self._bytes -= newest.size
            newest.complete()
            self._bytes += newest.size

    def _forget(self) -> None:
        self._kept.clear()
        self._bytes, self._last, self._epoch = 0, 0, secrets.token_hex(4)


def _dumps(event: Json) -> str:
    # ASCII only, as in `stream-json`: half of a surrogate pair must not break a reader.
    return json.dumps(event, separators=(",", ":"), default=str)
