"""Server-sent events, read from the bytes of a body."""

from __future__ import annotations

from collections.abc import AsyncIterator

LONGEST_EVENT = 64_000_000
"""Bytes of one event that are read; a longer one is no event of a model's reply."""


async def event_data(body: AsyncIterator[bytes]) -> AsyncIterator[str]:
    """The data of each event, as soon as its last line is whole. Raises ValueError for text that is not UTF-8, or without an end."""
    pending = bytearray()
    data: list[bytes] = []
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
    if data:
        yield b"\n".join(data).decode()
