"""Servers of asyncio in the tests' own process that leave no connection open."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

Connected = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


Reply = Callable[[str, asyncio.StreamWriter], Awaitable[None]]
"""Answers a request for a path."""


def sends(body: bytes, kind: str = "text/plain", *headers: str, status: str = "200 OK") -> Reply:
    """Answer each request with this body."""

    async def reply(path: str, writer: asyncio.StreamWriter) -> None:
        lines = [
            f"HTTP/1.1 {status}",
            f"Content-Type: {kind}",
            f"Content-Length: {len(body)}",
            "Connection: close",
            *headers,
        ]
        writer.write("\r\n".join([*lines, "", ""]).encode("latin-1") + body)

    return reply


@contextlib.asynccontextmanager
async def listening(
    connected: Connected, port: int = 0, tls: ssl.SSLContext | None = None, limit: int = 1 << 16
) -> AsyncIterator[int]:
    """Serve connections on loopback; yields the port.

    At the end every connection is closed, also one that was accepted and whose task has not begun: collected later, its transport would
    warn in the middle of another test.
    """
    loop = asyncio.get_running_loop()
    open_ones: set[asyncio.BaseTransport] = set()
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            await connected(reader, writer)
        finally:
            tasks.discard(task)
            writer.close()

    class Protocol(asyncio.StreamReaderProtocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            self.own = transport
            open_ones.add(transport)
            super().connection_made(transport)

        def connection_lost(self, error: Exception | None) -> None:
            open_ones.discard(self.own)
            super().connection_lost(error)

    def protocol() -> Any:
        return Protocol(asyncio.StreamReader(limit=limit, loop=loop), serve, loop=loop)

    server = await loop.create_server(protocol, "127.0.0.1", port, ssl=tls)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for _ in range(5):  # a connection that was just accepted gets its transport, its protocol and its task
            await asyncio.sleep(0)
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for transport in list(open_ones):
            transport.abort()  # type: ignore[attr-defined]
        for _ in range(100):
            if not open_ones:
                break
            await asyncio.sleep(0)
        await server.wait_closed()
