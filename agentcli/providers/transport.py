"""HTTP transport of asyncio and h11 alone, for addresses that are asked directly: at half the processor time of httpx's own, and with its errors."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import h11
import httpx2

KEPT_IDLE = 5.0
"""Seconds that a connection is kept for the next request; servers close theirs later."""
HAPPY_EYEBALLS = 0.25
"""Seconds after which the next address of a host is tried beside the one before."""
LONGEST_HEAD = 100 * 1024
"""Bytes of the head of a response, or of a chunk."""
MOST_UNREAD = 256 * 1024
"""Bytes beyond which no more is taken from the network until some were read."""

Origin = tuple[str, str, int]


class AsyncioTransport(httpx2.AsyncBaseTransport):
    """HTTP/1.1 with connections that serve one request after the other. Of one event loop."""

    def __init__(self, tls: ssl.SSLContext) -> None:
        tls.set_alpn_protocols(["http/1.1"])
        self._tls = tls
        self._idle: dict[Origin, list[_Connection]] = {}

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The response, its body not read yet. Raises httpx's errors."""
        waits = request.extensions.get("timeout", {})
        connection = await self._connected(request, waits.get("connect"))
        try:
            head = await connection.ask(request, waits)
        except BaseException:
            connection.close()
            raise
        return httpx2.Response(
            head.status_code,
            headers=head.headers.raw_items(),
            stream=_Body(connection, self._idle, waits.get("read")),
            extensions={"http_version": b"HTTP/" + head.http_version, "reason_phrase": head.reason},
        )

    async def aclose(self) -> None:
        """Close the connections that no response is read from."""
        for connections in self._idle.values():
            for connection in connections:
                connection.close()
        self._idle.clear()

    async def _connected(self, request: httpx2.Request, seconds: float | None) -> _Connection:
        scheme, host = request.url.scheme, request.url.host
        if scheme not in _PORTS or not host:
            raise httpx2.UnsupportedProtocol(f"Request URL has an unsupported protocol '{scheme}://'.", request=request)
        origin = scheme, host, request.url.port or _PORTS[scheme]
        idle = self._idle.get(origin, [])
        while idle:
            connection = idle.pop()
            if connection.is_fresh:
                return connection
            connection.close()
        secure: dict[str, Any] = {}
        if scheme == "https":
            secure = {"ssl": self._tls, "server_hostname": request.extensions.get("sni_hostname") or host}
        connect = asyncio.get_running_loop().create_connection
        with _translated(httpx2.ConnectTimeout, httpx2.ConnectError):
            async with asyncio.timeout(seconds):
                _, stream = await connect(_Stream, host, origin[2], happy_eyeballs_delay=HAPPY_EYEBALLS, **secure)
        return _Connection(origin, stream)


_PORTS = {"http": 80, "https": 443}


class _Connection:
    """A connection to a server: the bytes, and the state of the protocol."""

    def __init__(self, origin: Origin, stream: _Stream) -> None:
        self.origin = origin
        self._stream = stream
        self._state = h11.Connection(h11.CLIENT, LONGEST_HEAD)
        self._idle_since = 0.0

    @property
    def is_fresh(self) -> bool:
        """True if the server has neither closed the idle connection nor said anything, and it is not idle for long."""
        return self._stream.is_silent and time.monotonic() - self._idle_since < KEPT_IDLE

    async def ask(self, request: httpx2.Request, waits: Mapping[str, float | None]) -> h11.Response:
        """Send a request; the head of its response."""
        with _translated(httpx2.WriteTimeout, httpx2.WriteError):
            head = h11.Request(method=request.method, target=request.url.raw_path, headers=request.headers.raw)
            pieces = [self._state.send(head)]
            assert isinstance(request.stream, httpx2.AsyncByteStream)
            async for piece in request.stream:
                pieces.append(self._state.send(h11.Data(data=piece)))
            pieces.append(self._state.send(h11.EndOfMessage()))
            # A server that refuses a body closes the connection before it has read it all, yet has answered.
            with suppress(ConnectionError):
                await self._stream.write(b"".join(filter(None, pieces)), waits.get("write"))
        while not isinstance(event := await self.receive(waits.get("read")), h11.Response):
            pass
        return event

    async def receive(self, seconds: float | None) -> Any:
        """The next event of the response."""
        with _translated(httpx2.ReadTimeout, httpx2.ReadError):
            while (event := self._state.next_event()) is h11.NEED_DATA:
                data = await self._stream.read(seconds)
                if not data and self._state.their_state is h11.SEND_RESPONSE:
                    raise httpx2.RemoteProtocolError("Server disconnected without sending a response.")
                self._state.receive_data(data)
        return event

    def rest(self) -> bool:
        """Get ready for the next request; False where the connection cannot take one, as when its response was not read to the end."""
        whole = self._state.our_state is h11.DONE and self._state.their_state is h11.DONE
        if not whole or self._state.trailing_data[0]:
            return False
        self._state.start_next_cycle()
        self._idle_since = time.monotonic()
        return True

    def close(self) -> None:
        """Close it at once."""
        self._stream.close()


class _Body(httpx2.AsyncByteStream):
    """The body of a response, as it comes; its connection becomes idle when it is closed after its end."""

    def __init__(self, connection: _Connection, idle: dict[Origin, list[_Connection]], seconds: float | None) -> None:
        self._connection, self._idle, self._seconds = connection, idle, seconds
        self._closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while isinstance(event := await self._connection.receive(self._seconds), h11.Data):
            yield bytes(event.data)

    async def aclose(self) -> None:
        if self._closed:
            return
        self._closed = True
        if self._connection.rest():
            self._idle.setdefault(self._connection.origin, []).append(self._connection)
        else:
            self._connection.close()


class _Stream(asyncio.Protocol):
    """The bytes from and to a server."""

    def __init__(self) -> None:
        self._received = bytearray()
        self._ended = False
        self._failure: Exception | None = None
        self._reader: asyncio.Future[None] | None = None
        self._room = asyncio.Event()
        self._room.set()

    @property
    def is_silent(self) -> bool:
        """True if nothing came, not even the end."""
        return not (self._received or self._ended)

    async def read(self, seconds: float | None) -> bytes:
        """What has come, at least a byte; nothing at the end. Raises TimeoutError or ConnectionError."""
        if self.is_silent:
            self._reader = asyncio.get_running_loop().create_future()
            async with asyncio.timeout(seconds):
                await self._reader
        data = bytes(self._received)
        self._received.clear()
        if not data:
            self._raise_failure()
        elif len(data) > MOST_UNREAD:
            self._transport.resume_reading()
        return data

    async def write(self, data: bytes, seconds: float | None) -> None:
        """Send, and wait while much of it is still here. Raises TimeoutError or ConnectionError."""
        self._transport.write(data)
        if not self._room.is_set():
            async with asyncio.timeout(seconds):
                await self._room.wait()
        self._raise_failure()

    def close(self) -> None:
        self._transport.abort()

    def connection_made(self, transport: Any) -> None:
        self._transport: asyncio.Transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        if len(self._received) > MOST_UNREAD:
            self._transport.pause_reading()
        self._wake()

    def eof_received(self) -> None:
        self._end()

    def connection_lost(self, exc: Exception | None) -> None:
        self._failure = exc
        self._room.set()
        self._end()

    def pause_writing(self) -> None:
        self._room.clear()

    def resume_writing(self) -> None:
        self._room.set()

    def _raise_failure(self) -> None:
        # The system's own TimeoutError, for one, is none of ours.
        if self._failure is not None:
            raise ConnectionError(str(self._failure)) from self._failure

    def _end(self) -> None:
        self._ended = True
        self._wake()

    def _wake(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)


@contextmanager
def _translated(late: type[httpx2.TimeoutException], broken: type[httpx2.NetworkError]) -> Iterator[None]:
    """Errors of asyncio and h11 become httpx's."""
    try:
        yield
    except TimeoutError as error:
        raise late(str(error)) from error
    except (OSError, UnicodeError) as error:
        raise broken(str(error)) from error
    except h11.LocalProtocolError as error:
        raise httpx2.LocalProtocolError(str(error)) from error
    except h11.RemoteProtocolError as error:
        raise httpx2.RemoteProtocolError(str(error)) from error
