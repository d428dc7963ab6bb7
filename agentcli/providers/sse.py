"""Server-sent events, read from the bytes of a body."""

from __future__ import annotations

from collections.abc import AsyncIterator

from agentcli.core.streams import closing

LONGEST_EVENT = 64_000_000
"""Maximum bytes of one event; a longer one is no event of a model's reply."""


async def event_data(body: AsyncIterator[bytes]) -> AsyncIterator[str]:
    """Yield the data of each event once its last line is whole.

    Raises ValueError for endless events or text that is not UTF-8.
    """
    pending = bytearray()
    data: list[bytes] = []
    async with closing(body) as pieces:
        async for piece in pieces:
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
