"""The HTTP side: one thread, one event loop, chunked streaming, and an eye on whether the client is still there."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import ssl
import struct
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, NoReturn, Self

from agentcli.context.cache_model import PrefixCache
from agentcli.providers.scripted.model import Reply, say
from agentcli.providers.scripted.summary import state_snapshot
from tests.loopback import (
    anthropic_rules,
    anthropic_wire,
    chat_rules,
    chat_wire,
    google_rules,
    google_wire,
    openai_rules,
    openai_wire,
    web_search,
)
from tests.loopback.listening import listening
from tests.loopback.plan import (
    Answer,
    Asked,
    Bytes,
    Cut,
    Dribble,
    Endless,
    Fail,
    Gone,
    Idle,
    Plan,
    Raw,
    Refuse,
    Searches,
    Wire,
)
from tests.loopback.refusal import Refused, body_of, error_of
from tests.loopback.seals import Seals

KEY = "loopback-key"
UNKNOWN = b'{"type": "error", "error": {"type": "not_found_error", "message": "Not found"}}'
RULES: dict[Wire, Any] = {
    "anthropic": anthropic_rules,
    "google": google_rules,
    "openai": openai_rules,
    "chat": chat_rules,
}
WIRES: dict[Wire, Any] = {"anthropic": anthropic_wire, "google": google_wire, "openai": openai_wire, "chat": chat_wire}
SEARCHING: dict[Wire, Any] = {
    "anthropic": web_search.anthropic,
    "google": web_search.google,
    "openai": web_search.openai,
}
COUNTED: dict[Wire, str] = {"anthropic": "input_tokens", "google": "totalTokens", "openai": "input_tokens"}
"""The field of an answer that tells a count of tokens."""


class Loopback:
    """`with Loopback([say("hello")]) as server:` then point either SDK at `server.url`.

    The plan is a list of answers, one a request, or a function of the request. Requests for a state snapshot are answered with one without
    using up the plan, unless `summaries` is false. `window` replaces every model's context window. `strict` false takes any request; `tls` makes it an https server. `keep`: so many of the last requests are kept in memory; all if None.
    """

    def __init__(
        self,
        plan: Plan = (),
        *,
        summaries: bool = True,
        window: int | None = None,
        strict: bool = True,
        preserved: bool = True,
        tls: ssl.SSLContext | None = None,
        clock: Callable[[], float] = time.monotonic,
        keep: int | None = None,
    ) -> None:
        self.plan = plan
        self.asked: list[Asked] = []
        self.window = window
        self.strict = strict
        self.tls = tls
        self.clock = clock
        self.counts = True
        """False for a server without an endpoint that counts tokens."""
        self.cache = PrefixCache()
        self.seals = Seals(bound=preserved)
        self.connections = 0
        """Connections that were ever made."""
        self.open = 0
        """Connections that are not closed."""
        self._summaries = summaries
        self._played = 0
        self._received, self._keep = 0, keep
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._run, name="loopback", daemon=True)
        self._ready = threading.Event()
        self._stop = asyncio.Event()
        self.port = 0
        """Set before the start, the port to listen on; 0 for any that is free."""

    @property
    def url(self) -> str:
        """The base URL for the SDKs."""
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}"

    @property
    def env(self) -> dict[str, str]:
        """Environment variables that lead the SDKs here."""
        return {
            "ANTHROPIC_BASE_URL": self.url,
            "ANTHROPIC_API_KEY": KEY,
            "GOOGLE_GEMINI_BASE_URL": self.url,
            "GEMINI_API_KEY": KEY,
            "OPENAI_BASE_URL": f"{self.url}/v1",
            "OPENAI_API_KEY": KEY,
            "NO_PROXY": "127.0.0.1",
        }

    @property
    def requests(self) -> list[Asked]:
        """The requests that asked for a reply, without those that asked for a count."""
        return [asked for asked in self.asked if not asked.counting]

    def __enter__(self) -> Self:
        self._loop = asyncio.new_event_loop()
        self._thread.start()
        self._ready.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        assert self._loop
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)

    @contextlib.asynccontextmanager
    async def in_this_loop(self) -> AsyncIterator[Self]:
        """The same without a thread of its own, for a loop with a clock of its own."""
        async with self._listening():
            yield self

    def _run(self) -> None:
        assert self._loop
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._serve())
        self._loop.close()

    async def _serve(self) -> None:
        async with self._listening():
            self._ready.set()
            await self._stop.wait()

    @contextlib.asynccontextmanager
    async def _listening(self) -> AsyncIterator[None]:
        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self.connections += 1
            self.open += 1
            try:
                await self._connection(reader, writer)
            except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                pass
            finally:
                self.open -= 1
                writer.close()
                with contextlib.suppress(ConnectionError):
                    await writer.wait_closed()

        async with listening(connected, self.port, self.tls, limit=1 << 26) as self.port:
            yield

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ahead: bytes | None = b""
        while ahead is not None:
            head = ahead + await reader.readuntil(b"\r\n\r\n")
            line, *rest = head.decode("latin-1").split("\r\n")
            headers = {
                name.lower(): value.strip() for name, _, value in (entry.partition(":") for entry in rest if entry)
            }
            body = await reader.readexactly(int(headers.get("content-length", "0")))
            method, target, _ = line.split(" ")
            asked = self._note(target, headers, body) if method == "POST" else None
            if asked is None:
                known = self.beside(method, target.partition("?")[0])
                await _send(writer, 404 if known is None else 200, UNKNOWN if known is None else known)
                ahead = b""
            else:
                ahead = await self._answer(asked, reader, writer)

    def beside(self, method: str, path: str) -> bytes | None:
        """The JSON that answers a request for something else than a reply; None where there is nothing at this path."""
        return None

    def _note(self, target: str, headers: dict[str, str], body: bytes) -> Asked | None:
        path = target.partition("?")[0]
        wire: Wire
        if path.endswith(
            ("/v1/messages", "/v1/messages/count_tokens", "/invoke-with-response-stream", ":streamRawPredict")
        ):
            wire, counting = "anthropic", path.endswith("count_tokens")
        elif ":streamGenerateContent" in path or ":countTokens" in path:
            wire, counting = "google", path.endswith(":countTokens")
        elif path.endswith(("/responses", "/responses/input_tokens", "/responses/compact")):
            wire, counting = "openai", path.endswith("/input_tokens")
        elif path.endswith("/chat/completions"):
            wire, counting = "chat", False
        else:
            return None
        with self._lock:
            asked = Asked(wire, path, headers, body, self._received, counting)
            self._received += 1
            self.asked.append(asked)
            if self._keep is not None:
                del self.asked[: -self._keep]
        return asked

    async def _answer(self, asked: Asked, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes | None:
        """Answer one request; what was already read of the next one, or None when the connection is over."""
        try:
            return await self._answered(asked, reader, writer)
        finally:
            asked.forget()

    async def _answered(self, asked: Asked, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes | None:
        rules = RULES[asked.wire]
        try:
            if self.strict:
                rules.check(asked, self.seals, self.window)
            if asked.counting and not self.counts:
                raise Refused("Not found", 404)
            if asked.counting:
                count = (
                    rules.count(asked)
                    if asked.wire == "anthropic"
                    else {COUNTED[asked.wire]: rules.prompt_tokens(asked)}
                )
                await _send(writer, 200, json.dumps(count).encode())
                return b""
            answer = self._next(asked)
        except Refused as refused:
            asked.refused = str(refused)
            answer = Refuse(refused.status, refused.code, message=str(refused))
        if asked.path.endswith("/responses/compact") and isinstance(answer, Reply):
            await _send(writer, 200, json.dumps(openai_wire.compacted(asked, answer, self)).encode())
            asked.answered.set()
            return b""
        if isinstance(answer, Refuse):
            kind = "text/html" if answer.body is not None and answer.body.startswith(b"<") else "application/json"
            await _send(writer, answer.status, body_of(answer, asked.wire), dict(answer.headers), kind)
            asked.answered.set()
            return b""
        if isinstance(answer, Bytes):
            packed = {"content-encoding": answer.encoding} if answer.encoding else {}
            await _send(writer, answer.status, answer.body, packed, answer.kind)
            asked.answered.set()
            return b""
        if isinstance(answer, Gone):
            await _go(writer, answer)
            return None
        if isinstance(answer, Endless):
            await _repeat(writer, answer)
        return await self._stream(asked, answer, reader, writer)

    def _next(self, asked: Asked) -> Answer:
        if self._summaries and "generate the <state_snapshot>" in asked.last_text:
            return say(state_snapshot([asked.last_text[:80]], [], []))
        if callable(self.plan):
            return self.plan(asked)
        with self._lock:
            number, self._played = self._played, self._played + 1
        if number >= len(self.plan):
            raise Refused("The loopback plan is used up.")
        return self.plan[number]

    def events(self, asked: Asked, answer: Reply | Raw | Searches) -> list[bytes]:
        """The body of an answer, event by event."""
        wire = WIRES[asked.wire]
        if isinstance(answer, Searches):
            answer = Raw(SEARCHING[asked.wire](asked, answer, self.seals))
        if isinstance(answer, Raw):
            return [wire.line(event) for event in answer.events]
        return list(wire.events(asked, answer, self))

    async def _stream(
        self,
        asked: Asked,
        answer: Reply | Raw | Searches | Cut | Fail | Idle | Dribble,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> bytes | None:
        inner = answer.reply if isinstance(answer, Cut | Fail | Idle | Dribble) else answer
        events = self.events(asked, inner)
        usage = inner.usage if isinstance(inner, Reply) else None
        tier = f"x-gemini-service-tier: {usage.tier or 'standard'}\r\n" if usage and asked.wire == "google" else ""
        writer.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\n"
            b"request-id: req_loopback\r\n%btransfer-encoding: chunked\r\n\r\n" % tier.encode()
        )
        next_byte = asyncio.ensure_future(reader.read(1))
        try:
            for pause, data in _paced(events, answer, inner, asked.wire):
                await asyncio.wait([next_byte], timeout=pause)
                if next_byte.done():
                    raise ConnectionResetError
                writer.write(b"%x\r\n%b\r\n" % (len(data), data))
                await writer.drain()
            if isinstance(answer, Cut) and answer.how != "end":
                writer.write(b"zz\r\nbroken" if answer.how == "chunk" else b"")
                await writer.drain()
                return None
            writer.write(b"0\r\n\r\n")
            await writer.drain()
            asked.answered.set()
            return await next_byte or None
        except ConnectionError:
            asked.gone.set()
            return None
        finally:
            next_byte.cancel()


def _paced(events: list[bytes], answer: Any, inner: Any, wire: Wire) -> Iterator[tuple[float, bytes]]:
    """Each piece of the body with the seconds to wait before it."""
    if isinstance(answer, Cut):
        whole = b"".join(events)[: answer.at]
        yield from ((0, whole[start : start + 4096]) for start in range(0, len(whole), 4096))
        return
    if isinstance(answer, Dribble):
        whole = b"".join(events).replace(b"\r\n", b"\n").replace(b"\n", answer.line_end)
        yield from ((0, whole[start : start + answer.size]) for start in range(0, len(whole), answer.size))
        return
    for number, data in enumerate(events):
        if isinstance(answer, Fail) and number == answer.after:
            refusal = Refuse(answer.code, answer.kind, answer.message)
            yield 0, _error_line(error_of(refusal, wire), wire, answer.bare)
            return
        silent = answer.seconds if isinstance(answer, Idle) and number == answer.after else 0.0
        yield silent + _pace(inner, number, len(data)), data


def _error_line(error: dict[str, Any], wire: Wire, bare: bool) -> bytes:
    if bare:
        return json.dumps(error, indent=2).encode()
    if wire == "openai":
        error = {"type": "response.failed", "response": {"status": "failed", **error}}
    line: bytes = WIRES[wire].line(error)
    return line


def _pace(inner: Any, number: int, size: int) -> float:
    if not isinstance(inner, Reply):
        return 0.0
    # An event is about ten times as long as the text in it.
    return (inner.delay if number == 0 else 0.0) + (size / 10 / inner.rate if inner.rate else 0.0)


async def _repeat(writer: asyncio.StreamWriter, answer: Endless) -> NoReturn:
    """Send a body without end: the connection that the client closes raises ConnectionError."""
    writer.write(
        b"HTTP/1.1 %d x\r\ncontent-type: %b\r\ntransfer-encoding: chunked\r\n\r\n"
        % (answer.status, answer.kind.encode())
    )
    while True:
        writer.write(b"%x\r\n%b\r\n" % (len(answer.piece), answer.piece))
        await writer.drain()
        await asyncio.sleep(answer.pause)


async def _go(writer: asyncio.StreamWriter, answer: Gone) -> None:
    writer.write(answer.after)
    await writer.drain()
    if answer.reset:
        # Closing with this option on sends a reset instead of a farewell.
        hard = struct.pack("ii", 1, 0)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, hard)
        writer.transport.abort()


async def _send(
    writer: asyncio.StreamWriter,
    status: int,
    body: bytes,
    headers: dict[str, str] | None = None,
    kind: str = "application/json",
) -> None:
    lines = [
        f"HTTP/1.1 {status} Loopback",
        f"content-type: {kind}",
        f"content-length: {len(body)}",
        "request-id: req_loopback",
    ]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    writer.write("\r\n".join([*lines, "", ""]).encode() + body)
    await writer.drain()


@contextlib.contextmanager
def black_hole() -> Iterator[str]:
    """A port that never answers the first packet, since its queue is full."""
    with socket.socket() as server, contextlib.ExitStack() as waiting:
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        for _ in range(3):
            client = waiting.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(server.getsockname())
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
