"""Server-sent events, read from the bytes of a body."""

from __future__ import annotations

from collections.abc import AsyncIterator

LONGEST_EVENT = 64_000_000
"""Bytes of one event that are read; a longer one is no event of a model's reply."""


_FIELDS = (b"data:", b"event:", b"id:", b"retry:", b":")
"""The beginnings of a line of an event, and of a comment."""


async def event_data(body: AsyncIterator[bytes], *, bare: bool = False) -> AsyncIterator[str]:
    """The data of each event, as soon as its last line is whole; with `bare` also JSON that stands outside of events.

    Raises ValueError for text that is not UTF-8, or without an end.
    """
    pending = bytearray()
    data: list[bytes] = []
    outside: list[bytes] = []
    async for piece in body:
        seen = len(pending)
        pending += piece
        if pending.find(b"\n", seen) < 0:
            if len(pending) > LONGEST_EVENT:
                raise ValueError("an event without an end")
            continue
        *lines, rest = bytes(pending).split(b"\n")
        pending = bytearray(rest)
        for line in lines:
            line = line.removesuffix(b"\r")
            if line.startswith(b"data:"):
                data.append(line.removeprefix(b"data:").removeprefix(b" "))
            elif not line and data:
                yield b"\n".join(data).decode()
                data = []
            elif bare and line and not line.startswith(_FIELDS):
                outside.append(line)
                # A document ends where a bracket is closed that is not indented.
                if line.endswith((b"}", b"]")) and not line.startswith((b" ", b"\t")):
                    yield b"\n".join(outside).decode()
                    outside = []
    if data:
        yield b"\n".join(data).decode()
    if bare and pending and not pending.startswith(_FIELDS):
        outside.append(bytes(pending))
    if outside:
        yield b"\n".join(outside).decode()
