"""Attacks on the proxy of sandboxed commands, and what it lets through."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import pytest

from agentcli.permissions.network.proxy import CONNECTIONS, MOST_SENT, Proxy, server_name

PUBLIC, OTHER = "93.184.215.14", "93.184.215.15"
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"


def hello(name: str, *, names: int = 1, kind: int = 0, more: bytes = b"") -> bytes:
    """A first message of TLS for a host, with these fields behind its name."""
    entry = bytes([kind]) + len(name).to_bytes(2, "big") + name.encode()
    listed = entry * names
    content = len(listed).to_bytes(2, "big") + listed
    extension = b"\0\0" + len(content).to_bytes(2, "big") + content if name else b""
    extension += more
    body = b"\3\3" + bytes(32) + b"\0" + b"\0\2\x13\1" + b"\1\0" + len(extension).to_bytes(2, "big") + extension
    message = b"\1" + len(body).to_bytes(3, "big") + body
    return b"\x16\3\1" + len(message).to_bytes(2, "big") + message


def behind(first: bytes, more: bytes) -> bytes:
    """The first message of TLS with more bytes behind its last field."""
    body = first[9:] + more
    message = b"\1" + len(body).to_bytes(3, "big") + body
    return b"\x16\3\1" + len(message).to_bytes(2, "big") + message


@dataclass
class Net:
    """A network in which names have addresses, and each address is a server that notes what it gets."""

    names: dict[str, Sequence[str]] = field(
        default_factory=lambda: {"good.example.org": [PUBLIC], "evil.example.net": [OTHER]}
    )
    allowed: tuple[str, ...] = ("good.example.org",)
    asked: list[str] = field(default_factory=list)
    resolved: list[str] = field(default_factory=list)
    connected: list[tuple[str, int]] = field(default_factory=list)
    silent: tuple[str, ...] = ()
    servers: list[asyncio.Server] = field(default_factory=list)
    got: bytearray = field(default_factory=bytearray)
    refused: list[str] = field(default_factory=list)
    unreachable: list[str] = field(default_factory=list)
    inward: tuple[str, ...] = ()

    async def permit(self, host: str) -> str:
        self.asked.append(host)
        return "" if host in self.allowed else f"{host} is not allowed"

    async def resolve(self, host: str, _: int) -> Sequence[str]:
        self.resolved.append(host)
        if host not in self.names:
            raise OSError("no such host")
        return self.names[host]

    async def connect(self, address: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        self.connected.append((address, port))
        if address in self.silent:
            raise TimeoutError

        async def served(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            while piece := await reader.read(65_536):
                self.got += piece
                if b"\r\n\r\n" in self.got or port == 443:
                    writer.write(ANSWER)
                    if port != 443:
                        writer.write_eof()
                    break
            while piece := await reader.read(65_536):
                self.got += piece
            writer.close()

        server = await asyncio.start_server(served, "127.0.0.1", 0)
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname()[:2])
        self.servers.append(server)
        return reader, writer


def talk(net: Net, *messages: bytes) -> bytes:
    """What a client gets that sends these messages, one after each answer."""

    async def run() -> bytes:
        proxy = Proxy(net.permit, net.resolve, net.connect, net.refused.append, net.inward, net.unreachable.append)
        listening = socket.create_server(("127.0.0.1", 0))
        await proxy.serve(listening)
        reader, writer = await asyncio.open_connection(*listening.getsockname()[:2])
        answer = b""
        try:
            for message in messages:
                writer.write(message)
                await writer.drain()
                answer += await asyncio.wait_for(reader.read(65_536), 5)
            writer.write_eof()
            while piece := await asyncio.wait_for(reader.read(65_536), 5):
                answer += piece
        except OSError:
            pass
        finally:
            writer.close()
            await asyncio.sleep(0.01)
            proxy.close()
            for server in net.servers:
                server.close()
                await server.wait_closed()
            await asyncio.sleep(0.01)
        return answer

    return asyncio.run(run())


def connect(to: str) -> bytes:
    return f"CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n\r\n".encode()


def get(url: str, fields: str = "", method: str = "GET", body: str = "") -> bytes:
    return f"{method} {url} HTTP/1.1\r\nHost: good.example.org\r\n{fields}\r\n{body}".encode()


def test_an_encrypted_connection_to_an_allowed_host_is_let_through() -> None:
    net = Net()
    answer = talk(net, connect("good.example.org:443"), hello("good.example.org"))
    assert answer == b"HTTP/1.1 200 Connection established\r\n\r\n" + ANSWER
    assert net.connected == [(PUBLIC, 443)]
    assert bytes(net.got) == hello("good.example.org")


def test_a_plain_request_to_an_allowed_host_is_let_through_with_its_body() -> None:
    net = Net()
    answer = talk(
        net,
        get(
            "http://good.example.org/a?b",
            "X-Own: 1\r\nContent-Length: 3\r\nProxy-Connection: keep-alive\r\n",
            "POST",
            "abc",
        ),
    )
    assert answer == ANSWER
    assert (
        bytes(net.got)
        == b"POST /a?b HTTP/1.1\r\nHost: good.example.org\r\nx-own: 1\r\ncontent-length: 3\r\nConnection: close\r\n\r\nabc"
    )


REFUSED = [
    ("two dots behind an allowed host", connect("good.example.org..:443"), 403),
    ("an encoded dot", connect("good.example.org%2eevil.example.net:443"), 403),
    ("a host behind a fragment", get("http://evil.example.net#good.example.org/"), 400),
    ("a host behind a query", get("http://evil.example.net?@good.example.org/"), 403),
    ("wide letters", connect("ｇｏｏｄ.example.org:443"), 403),
    ("two ports", connect("good.example.org:443:25"), 403),
    ("a port without a number", connect("good.example.org:"), 403),
    ("port 0", connect("good.example.org:0"), 403),
    ("an address of a tunnel", connect("http://good.example.org:443"), 403),
    ("HTTP/0.9", b"GET http://good.example.org/\r\n\r\n", 400),
    ("a line end alone", b"GET http://good.example.org/ HTTP/1.1\nHost: evil.example.net\r\n\r\n", 400),
    ("a space before the colon", get("http://good.example.org/", "Content-Length : 5\r\n", "POST", "a"), 400),
    ("a length of another notation", get("http://good.example.org/", "Content-Length: 0x10\r\n", "POST", "a"), 400),
    ("a host that is not allowed", connect("evil.example.net:443"), 403),
    ("a plain request to one", get("http://evil.example.net/"), 403),
    ("an address", connect("93.184.215.14:443"), 403),
    ("an address of this machine", connect("127.0.0.1:443"), 403),
    ("an address in hexadecimal", connect("0x7f000001:443"), 403),
    ("an address as one number", connect("2130706433:443"), 403),
    ("an address in octal", connect("0177.0.0.1:443"), 403),
    ("a short address", connect("127.1:443"), 403),
    ("an address with a dot behind", connect("127.0.0.1.:443"), 403),
    ("IPv6", connect("[::1]:443"), 403),
    ("IPv6 with an address of IPv4", connect("[::ffff:127.0.0.1]:443"), 403),
    ("localhost", connect("localhost:443"), 403),
    ("a name of localhost", connect("x.localhost:443"), 403),
    ("a name without a dot", connect("intranet:443"), 403),
    ("a name inside", connect("db.internal:443"), 403),
    ("a name on the link", connect("printer.local:443"), 403),
    ("the address of cloud metadata", get("http://169.254.169.254/latest/meta-data/"), 403),
    ("cloud metadata by name", get("http://metadata.google.internal/"), 403),
    ("another port", connect("good.example.org:22"), 403),
    ("the port of mail", connect("good.example.org:25"), 403),
    ("CONNECT to the plain port", connect("good.example.org:80"), 403),
    ("a plain request to another port", get("http://good.example.org:8080/"), 403),
    ("a user before the host", connect("good.example.org@evil.example.net:443"), 403),
    ("a user in an address", get("http://good.example.org@evil.example.net/"), 403),
    ("a NUL in the host", connect("good.example.org\0.evil.example.net:443"), 400),
    ("letters that look alike", connect("gооd.example.org:443"), 403),
    ("a host that ends in an allowed one", connect("evilgood.example.org:443"), 403),
    ("a host below an allowed one", connect("a.good.example.org:443"), 403),
    ("a backslash", get("http://good.example.org\\@evil.example.net/"), 403),
    ("another scheme", get("ftp://good.example.org/"), 400),
    ("a file", get("file:///etc/passwd"), 400),
    ("a path without a host", get("/latest/"), 400),
    ("a body without a length", get("http://good.example.org/", "Transfer-Encoding: chunked\r\n", "POST"), 411),
    ("two lengths", get("http://good.example.org/", "Content-Length: 1\r\nContent-Length: 9\r\n", "POST", "a"), 400),
    ("a length that is none", get("http://good.example.org/", "Content-Length: +5\r\n", "POST"), 400),
    ("a large upload", get("http://good.example.org/", f"Content-Length: {MOST_SENT + 1}\r\n", "PUT"), 413),
    (
        "an upload that is too large with its head",
        get("http://good.example.org/", f"Content-Length: {MOST_SENT}\r\n", "PUT"),
        413,
    ),
    ("a line that goes on", get("http://good.example.org/", "X: a\r\n evil: b\r\n"), 400),
    ("a field without a colon", get("http://good.example.org/", "evil\r\n"), 400),
    ("a head without an end", b"GET http://good.example.org/ HTTP/1.1\r\nX: " + b"a" * 20_000 + b"\r\n\r\n", 431),
    ("a transfer encoding without a value", get("http://good.example.org/", "Transfer-Encoding:\r\n", "POST"), 411),
    ("a length without a value", get("http://good.example.org/", "Content-Length:\r\n", "POST", "a"), 400),
    ("a list of lengths", get("http://good.example.org/", "Content-Length: 3, 3\r\n", "POST", "abc"), 400),
    ("a control character in a field", get("http://good.example.org/", "X: a\x0bHost: evil\r\n"), 400),
    ("a NUL in a path", get("http://good.example.org/\0"), 400),
    ("IPv6 with a zone", connect("[fe80::1%25eth0]:443"), 403),
    ("an address in two notations", connect("0177.0x0.0.1:443"), 403),
    ("a port that wraps around", connect("good.example.org:65979"), 403),
    ("no request", b"\x16\3\1\0\0\r\n\r\n", 400),
    ("HTTP/2", b"PRI * HTTP/2.0\r\n\r\n", 400),
    ("a carriage return alone in a field", get("http://good.example.org/", "X: a\rHost: evil.example.net\r\n"), 400),
    ("an address of WebSocket", get("ws://good.example.org/"), 400),
    ("an encrypted address without a tunnel", get("https://good.example.org/"), 400),
    (
        "a transfer encoding that changes nothing",
        get("http://good.example.org/", "Transfer-Encoding: identity\r\n"),
        411,
    ),
    ("an encoded line end in the host", get("http://good.example.org%0d%0aHost:evil.example.net/"), 403),
    ("two hosts with a comma", connect("good.example.org,evil.example.net:443"), 403),
    ("a host as a password", get("http://good.example.org:80@evil.example.net/"), 403),
    ("a sign before the port", connect("good.example.org:+443"), 403),
    ("a small digit in the port", "CONNECT good.example.org:44\xb3 HTTP/1.1\r\n\r\n".encode("latin-1"), 403),
    ("a path behind the port", connect("good.example.org:443/"), 403),
    ("a star for a name", connect("*.example.org:443"), 403),
    ("a label that is too long", connect(f"{'a' * 64}.example.org:443"), 403),
    ("a translated address of IPv4", connect("[64:ff9b::7f00:1]:443"), 403),
    ("IPv6 without brackets", connect("::1:443"), 403),
    ("a last number in hexadecimal", connect("1.2.3.0x4:443"), 403),
    ("a method in small letters", b"connect good.example.org:443 HTTP/1.1\r\n\r\n", 400),
    ("a space behind the version", b"GET http://good.example.org/ HTTP/1.1 \r\n\r\n", 400),
]


@pytest.mark.parametrize(("request_", "status"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_an_attack_is_refused_and_reaches_nothing(request_: bytes, status: int) -> None:
    net = Net()
    assert talk(net, request_).startswith(f"HTTP/1.1 {status} agentcli: ".encode())
    assert net.connected == []
    assert net.resolved == [], "a lookup alone can carry a secret"
    assert bytes(net.got) == b""


@pytest.mark.parametrize(
    "addresses",
    [
        ["127.0.0.1"],
        ["10.0.0.5"],
        ["169.254.169.254"],
        ["::1"],
        ["fd00::1"],
        ["::ffff:10.0.0.1"],
        ["64:ff9b::7f00:1"],
        ["2002:7f00:1::"],
        [PUBLIC, "192.168.0.1"],
        ["0.0.0.0"],
        ["224.0.0.1"],
        ["192.0.0.192"],
        ["168.63.129.16"],
        ["fec0::1"],
        ["fe80::1%eth0"],
        ["::ffff:0:a9fe:a9fe"],
        ["64:ff9b:1::a00:1"],
        ["::7f00:1"],
        ["::ffff:100.64.0.1"],
        ["2001:0:5ef5:79fd::80ff:fffe"],
        ["5f00::1"],
        ["198.18.0.1"],
        ["255.255.255.255"],
        [],
    ],
)
def test_an_allowed_name_that_leads_inward_is_refused(addresses: list[str]) -> None:
    net = Net(names={"good.example.org": addresses})
    assert talk(net, connect("good.example.org:443")).startswith(b"HTTP/1.1 403 agentcli: good.example.org has ")
    assert net.connected == []


@pytest.mark.parametrize(
    ("host", "addresses", "reached"),
    [
        ("good.example.org", ["10.0.0.5"], True),
        ("good.example.org", ["10.0.0.5", "127.0.0.1"], False),
        ("good.example.org", ["10.1.0.5"], False),
        ("evil.example.net", ["10.0.0.5"], False),
    ],
)
def test_an_allowed_name_in_a_network_that_the_user_named_is_reached(
    host: str, addresses: list[str], reached: bool
) -> None:
    net = Net(names={host: addresses}, inward=("10.0.0.0/24",))
    answer = talk(net, connect(f"{host}:443"), hello(host))
    assert answer.endswith(ANSWER) == reached
    assert net.connected == [("10.0.0.5", 443)] * reached
    if host in net.allowed and not reached:
        assert net.refused == [
            f"{host} has an address that is not public; only the user can allow it: "
            f'tools.fetch_addresses = ["{addresses[-1]}"]'
        ]


def test_a_name_is_resolved_once_so_that_a_second_answer_cannot_lead_inward() -> None:
    net = Net()
    talk(net, connect("good.example.org:443"), hello("good.example.org"))
    assert net.resolved == ["good.example.org"]


@pytest.mark.parametrize(
    ("net", "why"),
    [
        (Net(names={}), "its name cannot be found"),
        (Net(silent=(PUBLIC,)), "does not answer"),
    ],
)
def test_an_allowed_host_out_of_reach_is_not_refused(net: Net, why: str) -> None:
    reason = f"good.example.org is allowed, but {why}"
    assert talk(net, connect("good.example.org:443")).startswith(f"HTTP/1.1 502 agentcli: {reason}".encode())
    assert (net.unreachable, net.refused) == ([reason], [])


def test_a_host_that_does_not_answer_by_ipv6_is_reached_by_ipv4() -> None:
    six = "2606:4700:4700::1111"
    net = Net(names={"good.example.org": [six, "2606:4700:4700::1001", PUBLIC]}, silent=(six,))
    assert talk(net, connect("good.example.org:443"), hello("good.example.org")).endswith(ANSWER)
    assert net.connected == [(six, 443), (PUBLIC, 443)]


@pytest.mark.parametrize(
    "first",
    [
        hello("evil.example.net"),
        hello(""),
        hello("good.example.org", names=2),
        hello("good.example.org", kind=1),
        hello("good.example.org", more=b"\xfe\x0d\0\1\0"),
        b"GET / HTTP/1.1\r\nHost: evil.example.net\r\n\r\n",
        b"SSH-2.0-x\r\n",
        hello("good.example.org", more=b"\xff\xce\0\0"),
        hello("good.example.org", more=b"\0\0\0\5\0\3\0\0\0"),
        behind(hello("good.example.org"), b"\0\0\0\5\0\3\0\0\0"),
        hello(" good.example.org"),
        hello("good.example.org\0.evil.example.net"),
        hello("good.example.org:443"),
        b"\x80\x2e\1\3\3" + bytes(44),
        b"\x14\3\1\0\1\1" + hello("good.example.org"),
        connect("evil.example.net:443"),
    ],
    ids=[
        *("another name", "no name", "two names", "another kind", "an encrypted name", "plain HTTP", "SSH"),
        *(
            "a name in an earlier draft's code",
            "two fields of names",
            "a field behind the last",
            "a space",
            "a NUL",
            "a port",
        ),
        *("the first message of SSL 2", "another record before it", "another tunnel"),
    ],
)
def test_what_is_said_inside_must_be_tls_for_that_host(first: bytes) -> None:
    net = Net()
    assert talk(net, connect("good.example.org:443"), first) == b"HTTP/1.1 200 Connection established\r\n\r\n"
    assert bytes(net.got) == b""


def test_the_host_of_a_plain_request_is_that_of_its_address() -> None:
    net = Net()
    talk(net, b"GET http://good.example.org/ HTTP/1.1\r\nHost: evil.example.net\r\n\r\n")
    assert b"Host: good.example.org\r\n" in net.got
    assert b"evil" not in net.got


def test_a_second_request_in_the_same_connection_goes_nowhere() -> None:
    net = Net()
    talk(
        net,
        get("http://good.example.org/") + b"GET http://evil.example.net/ HTTP/1.1\r\nHost: evil.example.net\r\n\r\n",
    )
    assert b"evil" not in net.got


def test_a_connection_does_not_become_another_protocol_after_a_plain_request() -> None:
    net = Net()
    fields = "Connection: Upgrade, X-A\r\nUpgrade: websocket\r\nExpect: 100-continue\r\nContent-Length: 3\r\n"
    talk(net, get("http://good.example.org/", fields, "POST", "abc\x01GET http://evil.example.net/ HTTP/1.1\r\n\r\n"))
    assert net.got.endswith(b"\r\nConnection: close\r\n\r\nabc")
    assert b"pgrade" not in net.got


def test_a_client_that_does_not_wait_for_the_tunnel_gets_the_same_checks() -> None:
    good, evil = Net(), Net()
    assert talk(good, connect("good.example.org:443") + hello("Good.example.org.")).endswith(ANSWER)
    talk(evil, connect("good.example.org:443") + hello("evil.example.net"))
    assert (bool(good.got), bytes(evil.got)) == (True, b"")


def test_waiting_connections_close_the_proxy_for_others_only_up_to_a_limit() -> None:
    async def run() -> tuple[bytes, bytes]:
        net = Net()
        proxy = Proxy(net.permit, net.resolve, net.connect)
        listening = socket.create_server(("127.0.0.1", 0), backlog=256)
        await proxy.serve(listening)
        there = listening.getsockname()[:2]
        waiting = [await asyncio.open_connection(*there) for _ in range(CONNECTIONS)]

        async def asked() -> bytes:
            reader, writer = await asyncio.open_connection(*there)
            answer = b""
            with suppress(OSError):
                writer.write(get("http://good.example.org/"))
                answer = await asyncio.wait_for(reader.read(), 5)
            writer.close()
            return answer[:12]

        full = await asked()
        for _, writer in waiting:
            writer.close()
        await asyncio.sleep(0.1)
        free = await asked()
        proxy.close()
        for server in net.servers:
            server.close()
        return full, free

    full, free = asyncio.run(run())
    assert full in (b"HTTP/1.1 503", b"")
    assert free == b"HTTP/1.1 200"


def test_an_encrypted_upload_ends_at_the_limit_and_counts_over_connections() -> None:
    net = Net()
    talk(net, connect("good.example.org:443"), hello("good.example.org"), bytes(MOST_SENT + 100_000))
    assert len(net.got) <= MOST_SENT
    assert net.refused == [f"more than {MOST_SENT:,} bytes would go to good.example.org"]


def test_an_upload_that_is_refused_does_not_close_its_host() -> None:
    async def run() -> list[bytes]:
        net, answers = Net(), []
        proxy = Proxy(net.permit, net.resolve, net.connect)
        listening = socket.create_server(("127.0.0.1", 0))
        await proxy.serve(listening)
        for request in (
            get("http://good.example.org/", "Content-Length: 50000000\r\n", "PUT"),
            get("http://good.example.org/"),
        ):
            reader, writer = await asyncio.open_connection(*listening.getsockname()[:2])
            writer.write(request)
            answers.append((await asyncio.wait_for(reader.read(), 5))[:12])
            writer.close()
        proxy.close()
        return answers

    assert asyncio.run(run()) == [b"HTTP/1.1 413", b"HTTP/1.1 200"]


def test_a_hello_in_pieces_is_read_to_its_end() -> None:
    whole = hello("good.example.org")
    assert [server_name(whole[:at]) for at in range(len(whole))] == [None] * len(whole)
    assert server_name(whole) == "good.example.org"


@pytest.mark.parametrize(
    ("first", "why"),
    [
        (hello("evil.example.net"), "a connection to good.example.org asked for evil.example.net"),
        (hello(""), "a connection to good.example.org is not TLS, or does not name one host openly"),
        (b"SSH-2.0-x\r\n" + bytes(9), "a connection to good.example.org is not TLS, or does not name one host openly"),
    ],
)
def test_an_encrypted_connection_that_is_cut_has_a_reason(first: bytes, why: str) -> None:
    net = Net()
    assert talk(net, connect("good.example.org:443"), first) == b"HTTP/1.1 200 Connection established\r\n\r\n"
    assert net.refused == [why]
