"""Checks of every request, and headers of every response, that keep other origins and hosts out."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

BODY = 500_000
"""Bytes of a request's body."""
BODY_SECONDS = 10.0
"""Seconds in which the body of a request must arrive."""
OWN_NAMES = ("127.0.0.1", "localhost", "[::1]")
"""Host names with which a browser on this machine, or behind a tunnel, reaches the server."""
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "img-src data:",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
_HEADERS = tuple(
    (name.encode(), value.encode())
    for name, value in {
        "content-security-policy": POLICY,
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "x-frame-options": "DENY",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
        "permissions-policy": "camera=(), geolocation=(), microphone=()",
        "cache-control": "no-store",
    }.items()
)


class Guard:
    """Refuses requests of other hosts and origins, and large bodies; adds the strictest headers to each response.

    `names` are further host names of the server, such as a tunnel's. A body must arrive within `body_seconds`.
    """

    def __init__(self, app: App, names: Iterable[str] = (), body_seconds: float = BODY_SECONDS) -> None:
        self._app, self._names = app, frozenset((*OWN_NAMES, *(name.lower() for name in names)))
        self._body_seconds = body_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            return  # no web sockets: the server closes the connection

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *_HEADERS]
            await send(message)

        if refusal := self._refusal(scope):
            await _refuse(with_headers, *refusal)
            return
        await self._app(scope, _Bounded(receive, self._body_seconds).receive, with_headers)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        hosts, origins, sites = (_values(scope, name) for name in (b"host", b"origin", b"sec-fetch-site"))
        if len(hosts) != 1 or _name(hosts[0]) not in self._names:
            return 421, "This server does not answer to that host name."
        if any(origin.partition("://")[2] != hosts[0] for origin in origins) or len(origins) > 1:
            return 403, "Requests of other pages are refused."
        api = scope["path"].startswith("/api/")
        if api and any(site not in ("same-origin", "none") for site in sites):
            return 403, "Requests of other pages are refused."
        if scope["method"] not in ("GET", "POST"):
            return 405, "Only GET and POST."
        if scope["method"] == "POST":
            if [kind.partition(";")[0].strip().lower() for kind in _values(scope, b"content-type")] != [
                "application/json"
            ]:
                return 415, "The body must be JSON."
            length = _values(scope, b"content-length")
            if len(length) != 1 or not length[0].isdecimal():
                return 411, "The length of the body is missing."
            if int(length[0][:20]) > BODY:
                return 413, "The body is too large."
        return None


class _Bounded:
    """Body of a request, cut off if it is longer than allowed, or late."""

    def __init__(self, receive: Receive, seconds: float) -> None:
        self._receive, self._read, self._whole = receive, 0, False
        self._ends = asyncio.get_running_loop().time() + seconds

    async def receive(self) -> Message:
        try:
            async with asyncio.timeout_at(None if self._whole else self._ends):
                message = await self._receive()
        except TimeoutError:
            return {"type": "http.disconnect"}
        self._read += len(message.get("body", b""))
        self._whole = not message.get("more_body", False)
        return message if self._read <= BODY else {"type": "http.disconnect"}


def _values(scope: Scope, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key == name]


def _name(host: str) -> str:
    """Return the name in a Host header, without its port."""
    name, colon, port = host.lower().rpartition(":")
    return name if colon and port.isdecimal() else host.lower()


async def _refuse(send: Send, status: int, text: str) -> None:
    body = text.encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
