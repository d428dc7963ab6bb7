"""Response bodies with limits on bytes and time, whatever a server sends, and the server-sent events in them."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from functools import cache
from typing import Any

from agentcli.core.errors import ModelError
from agentcli.core.streams import closing

LONGEST_EVENT = 64_000_000
"""Maximum bytes of one event, and of a response that is not a stream.

Anything longer is not part of a model's reply.
"""
LONGEST_REPLY = 250_000_000
"""Maximum bytes of all events and comments of a reply: several times the longest reply of a model."""
LARGE_REPLY = 500_000
"""Bytes of a reply from which the process is careful with memory."""
REFUSAL = 1_000_000
"""Bytes read of a refusal, without waiting for the rest: servers that echo the request send hundreds of kilobytes."""
REFUSAL_SECONDS = 20.0
"""Seconds that reading a refusal may take."""
SLICE = 1_000_000
"""Bytes of a request's body that are sent at once."""
SLOWEST = 200
"""Bytes per second below which an unfinished event counts as not sent.

Even a large event over a slow line is faster.
"""
ALIVE = 6
"""Idle timeouts for which comments alone keep a reply alive: proxies send them while a model thinks."""


def bounded(response: Any, idle: float) -> None:
    """Replace a response's stream by a limited one.

    A refusal is truncated, and an event must come within `idle` seconds of the last.
    """
    headers = response.headers
    packed = headers.get("content-encoding", "identity") != "identity"
    if not response.is_success:
        response.stream = _streams()[0](response.stream, REFUSAL // 16 if packed else REFUSAL)
        return
    events = "event-stream" in headers.get("content-type", "").lower()
    pace = Pace(response.request.url.host, idle, events and not packed, LONGEST_REPLY if events else LONGEST_EVENT)
    response.stream = _streams()[1](response.stream, pace)


class Pace:
    """Checks the pace of a body as it arrives.

    The idle limit counts whole events, or bytes fast enough to be one; for other bodies, bytes.
    """

    def __init__(
        self, host: str, idle: float, events: bool, most: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._host, self.idle, self._events, self._most, self._clock = host, idle, events, most, clock
        self._size = self._since = 0
        self._event = self._sign = clock()
        self._first = b""
        """First byte of the unfinished line; empty at the beginning of a line."""

    def take(self, piece: bytes) -> None:
        """Check one more piece. Raises ModelError if the body is too large or too slow."""
        now = self._clock()
        before, self._size = self._size, self._size + len(piece)
        if before <= LARGE_REPLY < self._size:
            from agentcli.system.large_blocks import return_large_blocks

            return_large_blocks()
        self._since += len(piece)
        if self._size > self._most:
            raise too_large(f"{self._host} sent more than {self._most // 1_000_000:,} MB, which is not a model's reply")
        if self._events:
            self._see(piece, now)
        if now - self._sign > self.idle and self._since < SLOWEST * (now - self._sign):
            raise self.dropped("nothing whole")
        if now - self._event > ALIVE * self.idle and self._sign > self._event:
            raise self.dropped("only signs of life", ALIVE)

    def dropped(self, sent: str, times: int = 1) -> ModelError:
        """Return the error for a reply that does not continue."""
        brief = f"{self._host} sent {sent} for {times * self.idle:g} s"
        return ModelError(f"{brief}, so the reply counts as dropped.", "network", brief=brief, begun=True)

    def _see(self, piece: bytes, now: float) -> None:
        """Process line ends: each is a sign of life; of a line other than a comment, it is an event."""
        if b"\n" not in piece:
            self._first = self._first or piece[:1]
            return
        whole, _, rest = piece.rpartition(b"\n")
        if b"\ndata:" in whole or any(
            line and line[:1] not in (b":", b"\r") for line in (self._first + whole).split(b"\n")
        ):
            self._event = self._sign = now
            self._since = len(rest)
        elif whole.strip(b"\r\n") or self._first.strip(b"\r"):
            self._sign = now
            self._since = len(rest)
        self._first = rest[:1]


@cache
def _streams() -> tuple[Any, Any]:
    """Make the classes once: httpx2 is imported only with the first client."""
    import httpx2

    from agentcli.core.tasks import EndedEarly, Watch

    class Refusal(httpx2.AsyncByteStream):
        """The beginning of a refusal."""

        def __init__(self, stream: Any, most: int) -> None:
            self._stream, self._left = stream, most

        async def __aiter__(self) -> AsyncIterator[bytes]:
            ends = time.monotonic() + REFUSAL_SECONDS
            async with closing(aiter(self._stream)) as pieces:
                with suppress(TimeoutError):
                    while self._left > 0:
                        piece = await _within(anext(pieces, None), max(0.0, ends - time.monotonic()))
                        if piece is None:
                            break
                        yield piece[: self._left]
                        self._left -= len(piece)

        async def aclose(self) -> None:
            await self._stream.aclose()

    class Bounded(httpx2.AsyncByteStream):
        """A body that is judged as it arrives."""

        def __init__(self, stream: Any, pace: Pace) -> None:
            self._stream, self._pace = stream, pace

        async def __aiter__(self) -> AsyncIterator[bytes]:
            pace = self._pace
            # The client's own limit is for each read: a server may drip bytes that belong to no piece.
            async with Watch(seconds=2 * pace.idle) as watch, closing(aiter(self._stream)) as pieces:
                try:
                    while (piece := await watch.over(anext(pieces, None))) is not None:
                        pace.take(piece)
                        yield piece
                except EndedEarly:
                    raise pace.dropped("nothing whole") from None

        async def aclose(self) -> None:
            await self._stream.aclose()

    return Refusal, Bounded


async def _within(piece: Awaitable[bytes | None], seconds: float) -> bytes | None:
    """Return a piece that comes in time; None at the end. Raises TimeoutError."""
    import asyncio  # with an SDK only

    async with asyncio.timeout(seconds):
        return await piece


def sliced(body: bytes) -> Any:
    """Make the stream of a large request. The connection copies what the network does not take of a piece."""
    return _slicing()(body)


@cache
def _slicing() -> Any:
    """Make the class once: httpx2 is imported only with the first client."""
    import httpx2

    class Sliced(httpx2.AsyncByteStream):
        def __init__(self, body: bytes) -> None:
            self._body = body

        async def __aiter__(self) -> AsyncIterator[bytes]:
            for start in range(0, len(self._body), SLICE):
                yield self._body[start : start + SLICE]

    return Sliced


async def event_data(body: AsyncIterator[bytes], bare: list[bytearray] | None = None) -> AsyncIterator[list[bytearray]]:
    """Yield the data of each event once its last line is complete.

    It is in a list of its own, from which the reader takes it. Then no frame on the way keeps a large text. Lines that
    belong to no event, such as an error's JSON, are added to `bare`. With it, a last line needs no end. Raises
    ModelError for endless events.
    """
    pending = bytearray()
    data: list[bytearray] = []
    held = total = 0
    async with closing(body) as pieces:
        async for piece in pieces:
            seen = len(pending)
            pending += piece
            total += len(piece)
            if held + len(pending) > LONGEST_EVENT or total > LONGEST_REPLY:
                raise _endless()
            if pending.find(b"\n", seen) < 0:
                continue
            # The first line may be large: it is cut in place.
            end = pending.find(b"\n", seen)
            rest = pending[end:]
            del pending[end:]
            lines = rest.split(b"\n")
            pending, lines[0] = lines.pop(), pending
            lines.reverse()
            while lines:
                line = lines.pop()
                if line.endswith(b"\r"):
                    del line[-1]
                if line.startswith(b"data:"):
                    held += len(line)
                    del line[: 6 if line.startswith(b"data: ") else 5]
                    data.append(line)
                elif not line and data:
                    held = 0
                    yield [data.pop() if len(data) == 1 else _joined(data)]
                elif line and bare is not None and not line.startswith(_OTHER_LINES):
                    held += len(line)
                    bare.append(line)
    if pending and bare is not None:
        (data if pending.startswith(b"data:") else bare).append(pending.removeprefix(b"data:"))
    if data:
        yield [_joined(data)]


_OTHER_LINES = (b":", b"event:", b"id:", b"retry:")
"""Beginnings of the lines of an event that are not its data."""


def _joined(lines: list[bytearray]) -> bytearray:
    """Join lines, and empty their list."""
    whole = bytearray(b"\n").join(lines)
    lines.clear()
    return whole


def _endless() -> ModelError:
    size = f"{LONGEST_EVENT // 1_000_000} MB"
    return too_large(f"The provider sent an event of more than {size}, which is not a part of a model's reply")


def too_large(what: str) -> ModelError:
    """Return the error for a reply beyond a limit. The same request would get the same, and be charged again."""
    cure = "Try again, or another model. If it stays so, check base_url and the proxies on the way."
    return ModelError(f"{what}. {cure}", "bad_reply", brief=what, should_retry=False)
