"""Proxy of sandboxed commands: forwards CONNECT and plain HTTP to allowed hosts, without decrypting anything.

Commands have no other network, and no DNS. The proxy resolves a host once, and connects to exactly that address.
"""

from __future__ import annotations

import asyncio
import re
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

from agentcli.core.dataclass import dataclass
from agentcli.core.tasks import start_task
from agentcli.permissions.network.hosts import PORTS, host_name
from agentcli.system.network import permitted

HEAD = 16_384
"""Maximum bytes of a request's head, and of the first message of TLS."""
HEAD_SECONDS = 10.0
IDLE_SECONDS = 300.0
CONNECTIONS = 128
"""Maximum connections at once."""
MOST_SENT = 8_000_000
"""Maximum bytes that a session's commands send to one host: enough for the requests of package managers."""
INWARD = '{host} has an address that is not public; only the user can allow it: tools.fetch_addresses = ["{address}"]'
_PIECE = 65_536
_HOP = frozenset(
    [
        "connection",
        "proxy-connection",
        "proxy-authorization",
        "proxy-authenticate",
        "keep-alive",
        "te",
        "trailer",
        "upgrade",
        "host",
    ]
)
_REQUEST = re.compile(rb"([A-Z]{3,10}) ([^\0-\x20\x7f]{1,8000}) HTTP/1\.[01]")
_VALUE = re.compile(rb"[^\0-\x08\n-\x1f\x7f]*")
_TOKEN = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HANDSHAKE, _HELLO, _NAMES, _HIDDEN = 22, 1, 0, (0xFE0D, 0xFFCE)
"""Numbers of TLS: a record of the handshake, its first message, and that message's fields of open and encrypted names.

The last is an earlier draft's.
"""


class Refused(Exception):
    """A refused request: an HTTP status, and the reason for the command."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


class Unreachable(Refused):
    """An allowed host that has no address or does not answer."""

    def __init__(self, host: str, why: str) -> None:
        super().__init__(502, f"{host} is allowed, but {why}")


Allowed = Callable[[str], Awaitable[str]]
"""Decides about a host, and asks a person if necessary: returns why it is refused; empty if it is allowed."""
Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
Connect = Callable[[str, int], Awaitable[tuple[asyncio.StreamReader, asyncio.StreamWriter]]]


async def resolved_here(host: str, port: int) -> Sequence[str]:
    """Return the addresses of a host from the system's resolver."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(entry[4][0]) for entry in found]


async def connected(address: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connect to an address."""
    return await asyncio.wait_for(asyncio.open_connection(address, port), HEAD_SECONDS)


@dataclass(frozen=True, slots=True)
class _Head:
    method: str
    target: str
    fields: tuple[tuple[str, str], ...]

    def one(self, name: str) -> str | None:
        """Return the value of a field; None if it is missing. Raises Refused if it is repeated."""
        found = [value for each, value in self.fields if each == name]
        if len(found) > 1:
            raise Refused(400, f"the field {name} is there twice")
        return found[0] if found else None


class Proxy:
    """Proxy of one session, on a listening socket that sandboxed commands can reach."""

    def __init__(
        self,
        allowed: Allowed,
        resolve: Resolve = resolved_here,
        connect: Connect = connected,
        refused: Callable[[str], object] = lambda _: None,
        inward: Sequence[str] = (),
        unreachable: Callable[[str], object] = lambda _: None,
    ) -> None:
        """`refused` is called with the reason for each refused request, `unreachable` with that of an allowed host.

        `inward`: networks that are reached, although not public.
        """
        self._allowed, self._resolve, self._connect, self._refused = allowed, resolve, connect, refused
        self._unreachable = unreachable
        self._inward = inward
        self._sent: Counter[str] = Counter()
        self._open: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def serve(self, listening: socket.socket) -> None:
        """Begin to serve."""
        self._server = await asyncio.start_server(self._accept, sock=listening, limit=HEAD)

    def close(self) -> None:
        """End all connections."""
        if self._server is not None:
            self._server.close()
        for task in self._open:
            task.cancel()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.CancelledError):  # the session has ended
            await self._answered(reader, writer)

    async def _answered(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            if len(self._open) > CONNECTIONS:
                raise Refused(503, "too many connections at once")
            await self._served(reader, writer)
        except Refused as refused:
            (self._unreachable if isinstance(refused, Unreachable) else self._refused)(str(refused))
            await _answer(writer, refused)
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError):
            pass  # either side has gone, or said what no client says
        finally:
            self._open.discard(task)
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    async def _served(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await asyncio.wait_for(_head(reader), HEAD_SECONDS)
        if head.method == "CONNECT":
            host, port = _authority(head.target, 443)
            if port != 443:
                raise Refused(403, f"port {port} is not let through")
            upstream = await self._reach(host, port)
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            await writer.drain()
            await self._encrypted(host, reader, writer, upstream)
        else:
            await self._plain(head, reader, writer)

    async def _reach(self, host: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Connect to an allowed host, at the address that was checked."""
        if why := await self._allowed(host):
            raise Refused(403, why)
        try:
            addresses = await self._resolve(host, port)
        except (OSError, UnicodeError) as error:
            raise Unreachable(host, "its name cannot be found") from error
        if not addresses:
            raise Refused(403, f"{host} has no address")
        for address in addresses:
            if not permitted(address, self._inward):
                raise Refused(403, INWARD.format(host=host, address=address))
        first: dict[bool, str] = {}
        for address in addresses:
            first.setdefault(":" in address, address)
        for address in first.values():  # one of each family
            with suppress(OSError, TimeoutError):
                return await self._connect(address, port)
        raise Unreachable(host, "does not answer")

    async def _encrypted(
        self,
        host: str,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        upstream: tuple[asyncio.StreamReader, asyncio.StreamWriter],
    ) -> None:
        """Copy both ways after the first message named the host. Another name could reach another server at that address."""
        first = b""
        try:
            while (name := server_name(first)) is None and len(first) < HEAD:
                piece = await asyncio.wait_for(reader.read(_PIECE), HEAD_SECONDS)
                if not piece:
                    return
                first += piece
            if name is None or name.lower().removesuffix(".") != host:
                other = f"asked for {name}" if name else "is not TLS, or does not name one host openly"
                self._refused(f"a connection to {host} {other}")  # an answer in plain text would be no TLS
                return
            self._count(host, len(first))
            upstream[1].write(first)
            await self._copied(host, reader, writer, upstream)
        finally:
            upstream[1].close()

    async def _plain(self, head: _Head, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Forward one plain request to the host in its URL, and return the answer."""
        found = re.fullmatch(r"http://([^/?#\s]+)([/?][^#\s]*)?", head.target)
        if found is None:
            raise Refused(400, "only addresses with http:// and CONNECT are let through")
        host, port = _authority(found[1], 80)
        if port != 80:
            raise Refused(403, f"port {port} is not let through")
        if head.one("transfer-encoding") is not None:
            raise Refused(411, "a body needs its length")
        given = head.one("content-length")
        length = "0" if given is None else given
        if not re.fullmatch(r"[0-9]{1,12}", length):
            raise Refused(400, "the length is not a number")
        kept = "".join(f"{name}: {value}\r\n" for name, value in head.fields if name not in _HOP)
        path = found[2] or "/"
        path = f"/{path}" if path.startswith("?") else path
        request = f"{head.method} {path} HTTP/1.1\r\nHost: {host}\r\n{kept}Connection: close\r\n\r\n".encode("latin-1")
        self._count(host, len(request) + int(length))
        remote, sender = await self._reach(host, port)
        try:
            sender.write(request)
            left = int(length)
            while left and (piece := await asyncio.wait_for(reader.read(min(left, _PIECE)), IDLE_SECONDS)):
                sender.write(piece)
                left -= len(piece)
                await sender.drain()
            while piece := await asyncio.wait_for(remote.read(_PIECE), IDLE_SECONDS):
                writer.write(piece)
                await writer.drain()
        finally:
            sender.close()

    async def _copied(
        self,
        host: str,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        upstream: tuple[asyncio.StreamReader, asyncio.StreamWriter],
    ) -> None:
        async def copy(source: asyncio.StreamReader, target: asyncio.StreamWriter, counted: bool) -> None:
            while piece := await asyncio.wait_for(source.read(_PIECE), IDLE_SECONDS):
                if counted:
                    self._count(host, len(piece))
                target.write(piece)
                await target.drain()
            with suppress(OSError):
                target.write_eof()

        remote, sender = upstream
        ways = [start_task(copy(reader, sender, True)), start_task(copy(remote, writer, False))]
        try:
            done, _ = await asyncio.wait(ways, return_when=asyncio.FIRST_EXCEPTION)
            for way in done:
                error = way.exception()
                if isinstance(error, Refused):
                    self._refused(str(error))
                elif error is not None:
                    raise error
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)

    def _count(self, host: str, size: int) -> None:
        """Count bytes that go to a host. Raises Refused beyond the limit; what is refused does not count."""
        if self._sent[host] + size > MOST_SENT:
            raise Refused(413, f"more than {MOST_SENT:,} bytes would go to {host}")
        self._sent[host] += size


async def _head(reader: asyncio.StreamReader) -> _Head:
    """Read the head of a request. Raises Refused if it is malformed."""
    try:
        text = await reader.readuntil(b"\r\n\r\n")
    except asyncio.LimitOverrunError as error:
        raise Refused(431, "the head is too long") from error
    first, *lines = text[:-4].split(b"\r\n")
    found = _REQUEST.fullmatch(first)
    if found is None:
        raise Refused(400, "a proxy does not understand this request")
    fields = []
    for line in lines:
        name, colon, value = line.partition(b":")
        if not colon or not _TOKEN.fullmatch(name) or not _VALUE.fullmatch(value):
            raise Refused(400, "a field is not well formed")
        fields.append((name.decode("ascii").lower(), value.strip().decode("latin-1")))
    return _Head(found[1].decode("ascii"), found[2].decode("latin-1"), tuple(fields))


def _authority(text: str, port: int) -> tuple[str, int]:
    """Return host and port of `host:port`. Raises Refused for anything but a public name."""
    name, colon, number = text.rpartition(":") if re.search(r":\d+$", text) else (text, "", "")
    host = host_name(name)
    if not host:
        raise Refused(403, f"{text[:80]} is not the name of a public host")
    chosen = int(number) if colon else port
    if chosen not in PORTS:
        raise Refused(403, f"port {chosen} is not let through")
    return host, chosen


async def _answer(writer: asyncio.StreamWriter, refused: Refused) -> None:
    why = re.sub(r"[^\x20-\x7e]", "?", str(refused))[:200]
    body = f"agentcli: {why}\n".encode()
    head = f"HTTP/1.1 {refused.status} agentcli: {why}\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    with suppress(OSError):
        writer.write(head.encode() + body)
        await writer.drain()


_ENTRY_SECONDS = 10.0
_MAKE_SOCKET = (
    "import socket, sys; s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen(64); "
    "socket.send_fds(socket.socket(fileno=0), [b'.'], [s.fileno()])"
)
"""The whole helper. A socket stays in the network in which it was created, whichever process accepts its connections."""


def listening_in(entering: Sequence[str]) -> socket.socket | None:
    """Return a socket that listens on the loopback of the network that `entering` enters; None if that fails."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.settimeout(_ENTRY_SECONDS)
        with suppress(OSError, subprocess.SubprocessError):
            subprocess.run(
                [*entering, sys.executable, "-I", "-S", "-c", _MAKE_SOCKET],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=_ENTRY_SECONDS,
                check=True,
            )
            _, descriptors, _, _ = socket.recv_fds(ours, 1, 1)
            if descriptors:
                found = socket.socket(fileno=descriptors[0])
                found.setblocking(False)
                return found
    return None


def server_name(data: bytes) -> str | None:
    """Return the host in the first message of TLS, or None while the message is incomplete.

    The result is empty if the message does not name one host openly, or is no first message of TLS.
    """
    message = b""
    at = 0
    while at < len(data):
        if data[at] != _HANDSHAKE:
            return ""
        if at + 5 > len(data):
            return None
        size = int.from_bytes(data[at + 3 : at + 5], "big")
        message += data[at + 5 : at + 5 + size]
        if at + 5 + size > len(data):
            break
        at += 5 + size
        if len(message) >= 4 and len(message) >= 4 + int.from_bytes(message[1:4], "big"):
            break
    if len(message) < 4:
        return None
    if message[0] != _HELLO:
        return ""
    whole = int.from_bytes(message[1:4], "big")
    if len(message) < 4 + whole:
        return None
    try:
        return _first_name(message[4 : 4 + whole])
    except IndexError:
        return ""


def _first_name(hello: bytes) -> str:
    at = 2 + 32
    at += 1 + hello[at]
    at += 2 + int.from_bytes(hello[at : at + 2], "big")
    at += 1 + hello[at]
    if at + 2 + int.from_bytes(hello[at : at + 2], "big") != len(hello):
        return ""  # fields behind the last one
    at += 2
    found = ""
    while at + 4 <= len(hello):
        kind, size = int.from_bytes(hello[at : at + 2], "big"), int.from_bytes(hello[at + 2 : at + 4], "big")
        content = hello[at + 4 : at + 4 + size]
        at += 4 + size
        if kind in _HIDDEN:
            return ""
        if kind != _NAMES:
            continue
        length = int.from_bytes(content[3:5], "big")
        if found or len(content) != 5 + length or content[2] != 0:
            return ""  # more than one name, or another kind of name
        found = content[5 : 5 + length].decode("ascii", "replace")
    return found
