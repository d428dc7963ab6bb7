"""One HTTP request to a checked address, with a limit on the response, which must be text."""

from __future__ import annotations

import re
import zlib
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import field
from typing import TYPE_CHECKING, Literal
from urllib.parse import urljoin

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import ToolError
from agentcli.core.streams import closing
from agentcli.system.network import Target

if TYPE_CHECKING:
    import httpx2

_TEXTUAL = r"(?i)text/|application/(?:[\w.-]+\+)?(?:json|xml|javascript|yaml|toml)|application/x-(?:sh|yaml)"
_MOVED = (301, 302, 303, 307, 308)


class Unreadable(ToolError):
    """A page that another program could read: it is not text, or too large."""


@dataclass(frozen=True, slots=True)
class Page:
    """A server's response, unpacked. `kind` is its content type."""

    url: str
    status: int
    kind: str
    body: bytes


@dataclass(frozen=True, slots=True)
class WebRequest:
    """A request without its address."""

    method: Literal["GET", "POST"] = "GET"
    headers: Mapping[str, str] = field(default_factory=dict)
    content: bytes | None = None


def client_for(seconds: float) -> AbstractAsyncContextManager[httpx2.AsyncClient]:
    """Return a client that connects directly, with this time limit for each step."""
    import httpx2

    # The transport reads only SSL_CERT_FILE and SSL_CERT_DIR; the client handles proxies, and ignores them.
    transport = httpx2.AsyncHTTPTransport(retries=0)
    return httpx2.AsyncClient(transport=transport, trust_env=False, timeout=seconds)


async def exchanged(client: httpx2.AsyncClient, goal: Target, request: WebRequest, most: int) -> Page | str:
    """Send a request to a checked address; return the page, of at most so many bytes, or the redirect's URL."""
    headers = {
        "Host": goal.authority,
        "User-Agent": "agentcli",
        **request.headers,
        "Accept-Encoding": "gzip",
    }
    extensions = {"sni_hostname": goal.host}
    async with client.stream(
        request.method,
        goal.literal,
        headers=headers,
        content=request.content,
        extensions=extensions,
        follow_redirects=False,
    ) as reply:
        where = reply.headers.get("location")
        if reply.status_code in _MOVED and where:
            return _joined(goal.url, where)
        kind = reply.headers.get("content-type", "")
        if kind and not re.match(_TEXTUAL, kind):
            raise Unreadable(f"{goal.url} is {kind}, not text.")
        if int(reply.headers.get("content-length") or 0) > most:
            raise _too_large(most)
        packed = reply.headers.get("content-encoding", "identity").lower()
        body = await _unpacked(reply.aiter_raw(), packed, most)
        return Page(goal.url, reply.status_code, kind, body)


def _joined(url: str, where: str) -> str:
    try:
        return urljoin(url, where)
    except ValueError as error:
        raise ToolError(f"{url} redirects to {where!r}, which is not a URL: {error}.") from error


async def _unpacked(pieces: AsyncIterator[bytes], packed: str, most: int) -> bytes:
    """Unpack the body, stopping as soon as it exceeds the limit, however small it was on the wire."""
    if packed not in ("identity", "", "gzip", "x-gzip", "deflate"):
        raise ToolError(f"The page is packed with {packed}, which was not asked for.")
    unpack = None if packed in ("identity", "") else zlib.decompressobj(zlib.MAX_WBITS | 32)
    body = bytearray()
    received = 0
    async with closing(pieces) as pieces:
        async for piece in pieces:
            received += len(piece)
            try:
                body += unpack.decompress(piece, most + 1 - len(body)) if unpack else piece
            except zlib.error as error:
                raise ToolError(f"The page is damaged: {error}.") from error
            if received > most or len(body) > most:
                raise _too_large(most)
    if unpack and received and not unpack.eof:
        raise ToolError("The page is damaged: it ends too early.")
    return bytes(body)


def _too_large(most: int) -> Unreadable:
    return Unreadable(f"The page is larger than {most:,} bytes.")
