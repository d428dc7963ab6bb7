"""Pages over TLS at names that we resolve ourselves: the name is asked for, the checked address is talked to, the certificate counts."""

from __future__ import annotations

import asyncio
import gzip
import shutil
import socket
import ssl
import subprocess
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from agentcli.core.tool import ToolLimits, ToolOutput
from agentcli.tools.registry import run, tools
from tests.loopback.listening import Reply, listening, sends
from tests.tools.workplace import Bench

FETCH = tools({"web_fetch"})[0]
OURS = ["127.0.0.1"]
pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="certificates are made with openssl")


@dataclass(frozen=True)
class Certificates:
    """A throw-away authority, and what it has signed: files by name."""

    folder: Path

    @property
    def authority(self) -> str:
        return str(self.folder / "ca.pem")

    def server(self, name: str) -> ssl.SSLContext:
        """A server that shows the certificate of that name."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.folder / f"{name}.pem", self.folder / f"{name}.key")
        return context


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    folder = tmp_path_factory.mktemp("certificates")

    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)

    def signed(name: str, alternative: str, *, days: str = "2") -> None:
        openssl(
            "req",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-keyout",
            f"{name}.key",
            "-out",
            f"{name}.csr",
            "-subj",
            f"/CN={name}",
        )
        # From Python 3.13 on, a certificate must name its authority's key, and an authority what its key is for.
        (folder / f"{name}.ext").write_text(f"subjectAltName={alternative}\nauthorityKeyIdentifier=keyid\n")
        authority = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial")
        openssl(
            "x509",
            "-req",
            "-in",
            f"{name}.csr",
            *authority,
            "-days",
            days,
            "-extfile",
            f"{name}.ext",
            "-out",
            f"{name}.pem",
        )

    openssl(
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-keyout",
        "ca.key",
        "-out",
        "ca.pem",
        "-days",
        "2",
        "-subj",
        "/CN=Throw-away",
        "-addext",
        "keyUsage=critical,keyCertSign,cRLSign",
    )
    signed("site", "DNS:site.test")
    signed("address", "IP:127.0.0.1")
    signed("other", "DNS:other.test")
    signed("expired", "DNS:site.test", days="-1")
    openssl(
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-keyout",
        "self.key",
        "-out",
        "self.pem",
        "-days",
        "2",
        "-subj",
        "/CN=site.test",
        "-addext",
        "subjectAltName=DNS:site.test",
    )
    return Certificates(folder)


@dataclass
class Names:
    """What names resolve to: each entry is the answer to one more look-up, the last one for all that follow."""

    table: Mapping[str, Sequence[Sequence[str]]]
    asked: list[str] = field(default_factory=list)

    def loop(self) -> asyncio.AbstractEventLoop:
        """An event loop that asks us instead of the system."""
        names = self

        class Loop(asyncio.SelectorEventLoop):
            async def getaddrinfo(self, host: Any, port: Any, **more: Any) -> list[Any]:
                if host not in names.table:
                    return await super().getaddrinfo(host, port, **more)
                answers = names.table[host]
                found = answers[min(names.asked.count(host), len(answers) - 1)]
                names.asked.append(host)
                if not found:
                    raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
                return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in found]

        return Loop()


@dataclass
class Visit:
    """What came of a fetch: the outcome, the requests, and the names that TLS asked the server for."""

    outcome: ToolOutput
    requests: list[str]
    names: list[str | None]


def visit(
    ctx: Bench,
    reply: Reply,
    context: ssl.SSLContext | None,
    *,
    names: Names | None = None,
    host: str = "site.test",
    path: str = "/",
) -> Visit:
    """Fetch a page from a server of our own, over TLS where it has a context. `{port}` in a reply's Location is the server's."""
    requests: list[str] = []
    asked_for: list[str | None] = []
    ctx.limits = replace(ctx.limits, fetch_addresses=ctx.limits.fetch_addresses or tuple(OURS))
    if context is not None:
        context.sni_callback = lambda _, name, __: asked_for.append(name)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            request = (await reader.readuntil(b"\r\n\r\n")).decode()
            requests.append(request)
            await reply(request.split(" ")[1], writer)
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def story() -> ToolOutput:
        async with listening(serve, tls=context) as port:
            return await run(FETCH, ctx, "c1", {"url": f"http{'s' if context else ''}://{host}:{port}{path}"})

    with asyncio.Runner(loop_factory=(names or Names({"site.test": [OURS]})).loop) as runner:
        return Visit(runner.run(story()), requests, asked_for)


@pytest.fixture
def trusting(monkeypatch: pytest.MonkeyPatch, certificates: Certificates) -> Certificates:
    """The authority is one that the user trusts."""
    monkeypatch.setenv("SSL_CERT_FILE", certificates.authority)
    return certificates


def test_the_server_is_asked_by_name_at_the_address_that_was_checked(ctx: Bench, trusting: Certificates) -> None:
    names = Names({"site.test": [OURS, ["127.0.0.2"]]})
    seen = visit(ctx, sends(b"hello"), trusting.server("site"), names=names)
    assert seen.outcome.output.endswith("hello")
    assert names.asked == ["site.test"], "looked up once: the second answer would have been another machine"
    assert seen.names == ["site.test"]
    assert "Host: site.test:" in seen.requests[0]


@pytest.mark.parametrize("shown", ["other", "expired", "self", "address"])
def test_a_certificate_that_is_not_the_sites_is_refused(ctx: Bench, trusting: Certificates, shown: str) -> None:
    seen = visit(ctx, sends(b"secret"), trusting.server(shown))
    assert seen.outcome.status == "error"
    assert "certificate" in seen.outcome.output.lower()
    assert seen.requests == []


@pytest.mark.full
def test_an_authority_that_nobody_trusts_is_refused(ctx: Bench, certificates: Certificates) -> None:
    seen = visit(ctx, sends(b"secret"), certificates.server("site"))
    assert seen.outcome.status == "error"
    assert "certificate" in seen.outcome.output.lower()
    assert seen.requests == []


def test_an_address_in_the_url_is_checked_against_the_certificate_too(ctx: Bench, trusting: Certificates) -> None:
    assert visit(ctx, sends(b"hello"), trusting.server("address"), host="127.0.0.1").outcome.output.endswith("hello")
    assert visit(ctx, sends(b"hello"), trusting.server("site"), host="127.0.0.1").requests == []


def test_a_server_without_tls_is_no_https_server(ctx: Bench) -> None:
    async def reply(path: str, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    async def story() -> ToolOutput:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read(100)
            await reply("", writer)
            writer.close()

        async with listening(serve) as port:
            ctx.limits = ToolLimits(fetch_addresses=tuple(OURS))
            return await run(FETCH, ctx, "c1", {"url": f"https://127.0.0.1:{port}/"})

    assert "Can't fetch" in asyncio.run(story()).output


@pytest.mark.parametrize(
    "where",
    ["http://127.0.0.2/", "http://169.254.169.254/latest/", "http://[::ffff:10.0.0.1]/", "http://0x7f000002/",
     "http://2130706434/", "http://0177.0.0.2/", "http://100.64.0.1/", "file:///etc/passwd", "http://user:pw@site.test/", "https://["],
)  # fmt: skip
def test_a_redirect_from_tls_to_what_lies_inside_is_refused(ctx: Bench, trusting: Certificates, where: str) -> None:
    seen = visit(
        ctx,
        sends(b"", "text/plain", f"Location: {where}", status="302 Found"),
        trusting.server("site"),
        names=Names({"site.test": [OURS]}),
    )
    assert seen.outcome.status == "error"
    assert "not a public address" in seen.outcome.output or "URL" in seen.outcome.output
    assert len(seen.requests) == 1


@pytest.mark.full
@pytest.mark.parametrize("where", ["http://inside.test/", "http://mixed.test/"])
def test_a_redirect_from_tls_to_a_name_of_what_lies_inside_is_not_followed(
    ctx: Bench, trusting: Certificates, where: str
) -> None:
    names = Names({"site.test": [OURS], "inside.test": [["10.0.0.1"]], "mixed.test": [["1.1.1.1", "192.168.0.1"]]})
    reply = sends(b"", "text/plain", f"Location: {where}", status="302 Found")
    seen = visit(ctx, reply, trusting.server("site"), names=names)
    assert where in seen.outcome.output
    assert len(seen.requests) == 1


def test_a_name_that_is_bound_anew_between_redirects_is_checked_anew(ctx: Bench, trusting: Certificates) -> None:
    async def reply(path: str, writer: asyncio.StreamWriter) -> None:
        await sends(b"", "text/plain", "Location: /again", status="307 Temporary Redirect")(path, writer)

    names = Names({"site.test": [OURS, ["10.0.0.1"]]})
    seen = visit(ctx, reply, trusting.server("site"), names=names)
    assert "10.0.0.1, which is not a public address" in seen.outcome.output
    assert len(seen.requests) == 1


def test_a_name_that_nobody_knows_is_told(ctx: Bench) -> None:
    seen = visit(ctx, sends(b"x"), None, names=Names({"site.test": [[]]}))
    assert "site.test cannot be found" in seen.outcome.output


BOMB = b"x" * 40_000_000


@pytest.mark.parametrize(
    ("pack", "data", "encoding", "told"),
    [
        (gzip.compress, BOMB, "gzip", "larger than"),
        (lambda data: gzip.compress(gzip.compress(data)), BOMB, "gzip, gzip", "not asked for"),
        (zlib.compress, BOMB, "deflate", "larger than"),
        (bytes, b"\x8b\x03", "br", "not asked for"),
        (bytes, b"(\xb5/\xfd", "zstd", "not asked for"),
        (gzip.compress, BOMB[:99_999], "gzip", "x" * 99),
        (lambda data: gzip.compress(data)[:-12], b"hello" * 999, "gzip", "damaged"),
        (lambda data: gzip.compress(data) + b"garbage", b"hello", "gzip", "hello"),
        (bytes, b"", "gzip", ""),
    ],
    ids=["bomb", "twice", "deflate", "br", "zstd", "fits", "cut", "garbage", "empty"],
)
def test_what_is_packed_never_takes_more_than_the_limit(
    ctx: Bench, pack: Callable[[bytes], bytes], data: bytes, encoding: str, told: str
) -> None:
    ctx.limits = ToolLimits(fetch_bytes=1_000_000)
    assert told in visit(ctx, sends(pack(data), "text/plain", f"Content-Encoding: {encoding}"), None).outcome.output


@pytest.mark.parametrize(
    "charset",
    [
        "utf-8",
        "UTF8",
        "latin-1",
        "none",
        "hex",
        "base64",
        "idna",
        "punycode",
        "undefined",
        "rot13",
        "utf-7",
        "'",
        "\xe9",
        "x" * 5000,
    ],
)
def test_any_charset_yields_text(ctx: Bench, charset: str) -> None:
    seen = visit(ctx, sends(b"caf\xe9 \xc3\xa9 xn-- text", f"text/plain; charset={charset}"), None)
    assert seen.outcome.status == "success"
    assert "text" in seen.outcome.output


def test_a_byte_order_mark_is_no_text(ctx: Bench) -> None:
    assert visit(ctx, sends(b"\xef\xbb\xbf# Title"), None).outcome.output.endswith("\n\n# Title")


@pytest.mark.parametrize(
    "headers", [["Content-Length: x"], ["Transfer-Encoding: chunked"], ["X: " + "y" * 200_000], ["Location: \xff"]]
)
def test_headers_that_make_no_sense_end_in_a_sentence(ctx: Bench, headers: list[str]) -> None:
    seen = visit(ctx, sends(b"body", "text/plain", *headers), None)
    assert "The tool failed" not in seen.outcome.output
    assert seen.outcome.output


def test_drops_of_header_after_header_are_not_waited_for(ctx: Bench) -> None:
    ctx.limits = ToolLimits(fetch_seconds=0.3)

    async def drip(path: str, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n")
        for number in range(400):
            writer.write(f"X-{number}: y\r\n".encode())
            await writer.drain()
            await asyncio.sleep(0.05)

    assert "took longer than 0.3 s" in visit(ctx, drip, None).outcome.output
