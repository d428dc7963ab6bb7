"""Clients of control sockets."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

from agentcli.core.errors import AgentError
from agentcli.serve.registry import Registration

PATIENCE = 5.0
"""Seconds for an answer."""
_EVENT = 64_000_000
"""Bytes of an event."""


class Gone(AgentError):
    """The session is not shared any more, or its process has ended."""

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


async def follow(to: Registration, name: str, after: str = "") -> AsyncIterator[Mapping[str, Any]]:
    """Yield `{"id": …, "event": …}` for each event after an id, until the session ends. Raises Gone if it cannot be reached."""
    async with _connected(to, name) as (reader, writer):
        writer.write((json.dumps({"do": "follow", "after": after}) + "\n").encode())
        with contextlib.suppress(OSError, ValueError):
            while line := await reader.readline():
                yield json.loads(line)


@contextlib.asynccontextmanager
async def _connected(to: Registration, name: str) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    try:
        async with asyncio.timeout(PATIENCE):
            reader, writer = await asyncio.open_unix_connection(to.socket, limit=_EVENT)
    except (OSError, TimeoutError):
        raise Gone from None
    try:
        writer.write((json.dumps({"secret": to.secret, "as": name}) + "\n").encode())
        yield reader, writer
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()
