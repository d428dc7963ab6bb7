"""Our transport does what httpx's own does: every test here holds for both."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import httpx2
import pytest

from agentcli.providers.http import http_client, tls_context
from agentcli.providers.settings import ProviderSettings
from agentcli.providers.transport import MOST_UNREAD, AsyncioTransport
from tests.loopback.server import black_hole

Play = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
TRANSPORTS = {
    "own": lambda: AsyncioTransport(tls_context()),
    "httpx": lambda: httpx2.AsyncHTTPTransport(verify=tls_context()),
}
both = pytest.mark.parametrize("transport", TRANSPORTS)


class Server:
    """A server that reads requests, whole or only their heads; `play` answers each, and may close the connection."""

    def __init__(self, play: Play, reads_bodies: bool = True) -> None:
        self._play, self._reads_bodies = play, reads_bodies
        self.connections = 0
        self.requests: list[bytes] = []
        self.asked, self.gone = asyncio.Event(), asyncio.Event()

    @asynccontextmanager
    async def at(self) -> AsyncIterator[str]:
        """Its address while it runs."""
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0, limit=1 << 24)
        try:
            yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1?x=1"
        finally:
            server.close()
            await server.wait_closed()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while not writer.is_closing():
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0] or 0)
                self.requests.append(head + await reader.readexactly(length * self._reads_bodies))
                self.asked.set()
                await self._play(reader, writer)
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self.gone.set()
            writer.close()


def saying(*answers: bytes, close: bool = False) -> Play:
    """Gives these answers in turn, the last one from then on; with `close` it closes the connection after each."""
    left = list(answers)

    async def play(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(left.pop(0) if len(left) > 1 else left[0])
        if close:
            writer.close()

    return play


def run(
    transport: str,
    play: Play,
    work: Callable[[httpx2.AsyncClient, str, Server], Awaitable[None]],
    reads_bodies: bool = True,
) -> Server:
    """Have a client with this transport do some work with a server."""

    async def main() -> Server:
        server = Server(play, reads_bodies)
        async with server.at() as url, httpx2.AsyncClient(transport=TRANSPORTS[transport](), timeout=5) as client:
            await asyncio.wait_for(work(client, url, server), 20)
        return server

    return asyncio.run(main())


async def ask_twice(client: httpx2.AsyncClient, url: str, _: Server) -> None:
    for _time in range(2):
        response = await client.post(url, content=b"body", headers={"x-own": "1"})
        assert (response.status_code, response.reason_phrase, response.content) == (200, "OK", b"ok")
        assert response.http_version == "HTTP/1.1"


@both
@pytest.mark.parametrize(
    "answer",
    [
        OK,
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\no\r\n1;x=y\r\nk\r\n0\r\nx-trailer: 1\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n" + OK,
    ],
)
def test_a_connection_serves_one_request_after_the_other(transport: str, answer: bytes) -> None:
    server = run(transport, saying(answer), ask_twice)
    assert server.connections == 1
    first, second = server.requests
    assert first == second
    assert first.startswith(b"POST /v1?x=1 HTTP/1.1\r\n")
    assert b"x-own: 1\r\n" in first.lower()
    assert first.endswith(b"\r\n\r\nbody")


@both
@pytest.mark.parametrize(
    ("answer", "close"),
    [
        (OK.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n"), False),
        (b"HTTP/1.1 200 OK\r\n\r\nok", True),
        (b"HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok", True),
    ],
)
def test_a_connection_that_the_server_ends_is_not_used_again(transport: str, answer: bytes, close: bool) -> None:
    async def work(client: httpx2.AsyncClient, url: str, _: Server) -> None:
        for _time in range(2):
            assert (await client.post(url, content=b"x")).content == b"ok"

    assert run(transport, saying(answer, close=close), work).connections == 2


@both
@pytest.mark.parametrize("farewell", [b"", b"HTTP/1.1 408 Timeout\r\ncontent-length: 0\r\n\r\n"])
def test_an_idle_connection_that_the_server_gave_up_is_not_used_again(transport: str, farewell: bytes) -> None:
    """What came meanwhile would count as the answer to the next request."""

    async def play(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(OK)
        await writer.drain()
        await asyncio.sleep(0.05)
        writer.write(farewell)
        writer.close()

    async def work(client: httpx2.AsyncClient, url: str, server: Server) -> None:
        assert (await client.post(url, content=b"x")).status_code == 200
        await server.gone.wait()
        await asyncio.sleep(0.05)
        assert (await client.post(url, content=b"x")).status_code == 200

    assert run(transport, play, work).connections == 2


@both
@pytest.mark.parametrize(
    ("answer", "error", "words"),
    [
        (b"", httpx2.RemoteProtocolError, "Server disconnected without sending a response."),
        (b"HTTP/1.1 200 OK\r\ncontent-le", httpx2.RemoteProtocolError, "Server disconnected"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nok", httpx2.RemoteProtocolError, "peer closed connection"),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n", httpx2.RemoteProtocolError, "illegal chunk"),
        (b"SSH-2.0-OpenSSH\r\n\r\n", httpx2.RemoteProtocolError, "illegal status line"),
    ],
)
def test_an_answer_that_is_none_or_breaks_off_is_a_protocol_error(
    transport: str, answer: bytes, error: type[Exception], words: str
) -> None:
    async def work(client: httpx2.AsyncClient, url: str, _: Server) -> None:
        with pytest.raises(error, match=words):
            await client.post(url, content=b"x")

    run(transport, saying(answer, close=True), work)


@both
@pytest.mark.parametrize("sent", [b"", b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nok"])
def test_a_server_that_falls_silent_is_a_timeout_of_reading(transport: str, sent: bytes) -> None:
    async def work(client: httpx2.AsyncClient, url: str, server: Server) -> None:
        with pytest.raises(httpx2.ReadTimeout):
            await client.post(url, content=b"x", timeout=0.1)
        await server.gone.wait()

    run(transport, saying(sent), work)


@both
def test_nobody_at_an_address_and_an_unknown_protocol_are_told_apart(transport: str) -> None:
    async def work(client: httpx2.AsyncClient, _url: str, _: Server) -> None:
        for url, error in (
            ("http://127.0.0.1:1/", httpx2.ConnectError),
            ("http://nobody.invalid/", httpx2.ConnectError),
            ("ftp://127.0.0.1/", httpx2.UnsupportedProtocol),
            ("/v1", httpx2.UnsupportedProtocol),
        ):
            with pytest.raises(error):
                await client.post(url, content=b"x")
        with black_hole() as silent, pytest.raises(httpx2.ConnectTimeout):
            await client.post(silent, content=b"x", timeout=0.1)

    run(transport, saying(OK), work)


@both
def test_the_answer_of_a_server_that_refuses_a_long_body_is_read(transport: str) -> None:
    body = b"x" * 20_000_000

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 413 Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        await writer.drain()
        await reader.readexactly(len(body))
        writer.close()

    async def work(client: httpx2.AsyncClient, url: str, _: Server) -> None:
        assert (await client.post(url, content=body)).status_code == 413

    run(transport, refuse, work, reads_bodies=False)


@both
def test_a_long_answer_arrives_whole_however_slowly_it_is_read(transport: str) -> None:
    size = 20 * MOST_UNREAD

    async def work(client: httpx2.AsyncClient, url: str, _: Server) -> None:
        for _time in range(2):
            got = 0
            async with client.stream("POST", url, content=b"x") as response:
                async for piece in response.aiter_raw():
                    got += len(piece)
                    await asyncio.sleep(0.001)
            assert got == size

    server = run(transport, saying(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (size, b"a" * size)), work)
    assert server.connections == 1


@both
@pytest.mark.parametrize("how", ["closed", "cancelled"])
def test_a_response_that_nobody_reads_on_closes_its_connection(transport: str, how: str) -> None:
    async def work(client: httpx2.AsyncClient, url: str, server: Server) -> None:
        async def read() -> None:
            async with client.stream("POST", url, content=b"x") as response:
                async for _piece in response.aiter_raw():
                    if how == "closed":
                        return

        reading = asyncio.create_task(read())
        if how == "cancelled":
            await server.asked.wait()
            reading.cancel()
        await asyncio.wait((reading,))
        await server.gone.wait()

    run(transport, saying(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nok"), work)


@both
def test_requests_at_a_time_have_connections_of_their_own(transport: str) -> None:
    async def work(client: httpx2.AsyncClient, url: str, _: Server) -> None:
        answers = await asyncio.gather(*(client.post(url, content=b"x") for _ in range(3)))
        assert [answer.content for answer in answers] == [b"ok"] * 3

    assert run(transport, saying(OK), work).connections == 3


@pytest.mark.parametrize(
    ("variable", "own"), [("HTTPS_PROXY", False), ("http_proxy", False), ("ALL_PROXY", False), ("NO_PROXY", True)]
)
def test_behind_a_proxy_httpx_does_it_itself(variable: str, own: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setenv(variable, "http://127.0.0.1:1")
    seen: list[str] = []

    async def run() -> None:
        async with http_client(ProviderSettings("anthropic", "anthropic")) as client:
            try:
                await client.get("http://127.0.0.1:2/")
            except httpx2.ConnectError as error:
                seen.append(str(error))

    asyncio.run(run())
    assert ("Connect call failed" in seen[0]) is own
