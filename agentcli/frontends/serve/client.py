"""Clients of control sockets."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import AgentError
from agentcli.core.streams import closing
from agentcli.frontends.serve.registry import Registration

PATIENCE = 5.0
"""Seconds for an answer."""
_EVENT = 64_000_000
"""Bytes of an event."""
_AHEAD = 65_536
"""Maximum bytes to read ahead of a slow reader: the session keeps the rest, or tells it to reload."""


@dataclass(frozen=True, slots=True)
class Heard:
    """An event of a session with its id; `data` is its JSON."""

    id: str
    data: str

    @property
    def event(self) -> Mapping[str, Any]:
        """The event."""
        event: Mapping[str, Any] = json.loads(self.data)
        return event


def heard(id: str, event: Mapping[str, Any]) -> Heard:
    """Return an event that is known here."""
    return Heard(id, json.dumps(event, separators=(",", ":")))


class Gone(AgentError):
    """The session is no longer shared, or its process has ended."""

    def __init__(self) -> None:
        super().__init__("The session does not answer: its program has ended.")


async def request(to: Registration, name: str, **asked: Any) -> Mapping[str, Any]:
    """Send one request under a client's name, and return the answer. Raises Gone."""
    async with _connected(to, name) as (reader, writer):
        try:
            async with asyncio.timeout(PATIENCE):
                writer.write((json.dumps(asked) + "\n").encode())
                line = await reader.readline()
                answer: Mapping[str, Any] = json.loads(line)
                return answer
        except (OSError, ValueError, TimeoutError):
            raise Gone from None


async def follow(to: Registration, name: str, after: str = "") -> AsyncIterator[Sequence[Heard]]:
    """Yield the events after an id as they arrive, several at once, until the session ends.

    Raises Gone if it cannot be reached.
    """
    async with _connected(to, name, _AHEAD) as (reader, writer):
        writer.write((json.dumps({"do": "follow", "after": after}) + "\n").encode())
        with contextlib.suppress(OSError, ValueError):
            async with closing(_lines(reader)) as several:
                async for lines in several:
                    yield [_heard(line) for line in lines]


def line_of(id: str, data: str) -> str:
    """Return the line in which a program sends an event with its id to its followers; `data` is JSON."""
    return f'{{"id":"{id}","event":{data}}}\n'


def _heard(line: bytes) -> Heard:
    """Return the event in a line, unparsed: a server passes it on to its readers. Raises ValueError."""
    before, found, data = line.decode().partition('","event":')
    if not found or not before.startswith('{"id":"') or not data.endswith("}"):
        raise ValueError("no event")
    return Heard(before.removeprefix('{"id":"'), data[:-1])


async def _lines(reader: asyncio.StreamReader) -> AsyncIterator[Sequence[bytes]]:
    """Yield the lines of each read together. The stream's buffer may be smaller than a line.

    Raises ValueError for a line that is too long.
    """
    rest = bytearray()
    while data := await reader.read(_AHEAD):
        if b"\n" not in data:
            rest += data
            if len(rest) > _EVENT:
                raise ValueError("the event is too large")
            continue
        *lines, last = data.split(b"\n")
        lines[0], rest = bytes(rest) + lines[0], bytearray(last)
        yield lines


@contextlib.asynccontextmanager
async def _connected(
    to: Registration, name: str, limit: int = _EVENT
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    try:
        async with asyncio.timeout(PATIENCE):
            reader, writer = await asyncio.open_unix_connection(to.socket, limit=limit)
    except (OSError, TimeoutError):
        raise Gone from None
    try:
        writer.write((json.dumps({"secret": to.secret, "as": name}) + "\n").encode())
        yield reader, writer
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()
