"""Transport of the protocol: JSON-RPC messages on two file descriptors, one message per line."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import time
from collections.abc import Iterator
from queue import SimpleQueue
from threading import Thread
from typing import Any, Literal

from agentcli.core.dataclass import dataclass

LINE_BYTES = 32 * 1024 * 1024
"""Size of the longest accepted message, in bytes."""
GARBAGE_SECONDS = 0.5
"""Seconds within which a message must follow a first invalid line, or the connection ends."""
_CHUNK = 65_536

Json = dict[str, Any]
Ending = Literal["", "closed", "garbage"]


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A line that is not a message, with the JSON-RPC error that answers it."""

    code: int
    why: str


class StdioTransport:
    """Messages of a client as they arrive, and messages to it in order. `ending` is why the client ended.

    An invalid line gets an error. If a connection begins with invalid lines, its other side does not speak the
    protocol. Such a connection ends unless a message follows soon. After the first message, invalid lines never end it.

    Two daemon threads read and write, so pipes, terminals and regular files all work. None of them can delay the loop
    or the program's end.
    """

    def __init__(self, source: int, sink: int, patience: float = GARBAGE_SECONDS) -> None:
        self.ending: Ending = ""
        self._source, self._sink, self._patience = source, sink, patience
        self._loop = asyncio.get_running_loop()
        self._incoming: asyncio.Queue[Json | Unreadable | None] = asyncio.Queue()
        self._outgoing: SimpleQueue[tuple[bytes, asyncio.Future[None]] | None] = SimpleQueue()
        self._spoken = False
        self._doubted: float | None = None
        self._gone = False
        for work in (self._read, self._write):
            Thread(target=work, daemon=True, name=f"acp{work.__name__}").start()

    async def receive(self) -> Json | None:
        """Return the next message; None once the client has disconnected, or has sent only invalid lines for `patience`
        seconds.
        """
        while True:
            match await self._next():
                case Unreadable(code, why):
                    if not self._spoken:
                        self._doubted = self._doubted or time.monotonic()
                    answer = {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": why}}
                    with contextlib.suppress(ConnectionError):
                        await self.send(answer)
                case message:
                    self._spoken, self._doubted = True, None
                    return message

    async def send(self, message: Json) -> None:
        """Write a message. Raise ConnectionError if the client no longer reads."""
        if self._gone:
            raise ConnectionError("The client has closed the connection.")
        # ASCII only: half of a surrogate pair in a model's text must not break the line.
        line = json.dumps(message, separators=(",", ":")).encode("ascii") + b"\n"
        written: asyncio.Future[None] = self._loop.create_future()
        self._outgoing.put((line, written))
        await written

    async def close(self) -> None:
        """Stop writing after all messages sent before."""
        self._outgoing.put(None)

    async def _next(self) -> Json | Unreadable | None:
        left = None if self._doubted is None else self._doubted + self._patience - time.monotonic()
        try:
            message = await asyncio.wait_for(self._incoming.get(), None if left is None else max(left, 0.0))
        except TimeoutError:
            self.ending = "garbage"
            return None
        if message is None:
            self.ending = "closed" if self._doubted is None else "garbage"
        return message

    def _read(self) -> None:
        for line in lines(self._source):
            self._post(self._incoming.put_nowait, parsed(line))
        self._post(self._incoming.put_nowait, None)

    def _write(self) -> None:
        while (item := self._outgoing.get()) is not None:
            line, written = item
            error = None if self._gone else _write_all(self._sink, line)
            if error is not None:
                self._gone = True
                self._post(self._incoming.put_nowait, None)
            self._post(_settle, written, self._gone)

    def _post(self, call: Any, *arguments: Any) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed, and with it all waiting tasks
            self._loop.call_soon_threadsafe(call, *arguments)


def lines(source: int, most: int = LINE_BYTES) -> Iterator[bytes | None]:
    """Yield the lines from a descriptor, except blank ones; None for a line longer than `most` bytes."""
    pieces: list[bytes] = []
    size = 0
    while chunk := _chunk(source):
        *ended, rest = chunk.split(b"\n")
        for end in ended:
            size += len(end)
            line = None if size > most else b"".join((*pieces, end))
            pieces, size = [], 0
            if line is None or line.strip():
                yield line
        size += len(rest)
        pieces = [*pieces, rest] if size <= most else []
    last = b"".join(pieces)
    if size > most or last.strip():
        yield None if size > most else last


def parsed(line: bytes | None) -> Json | Unreadable:
    """Parse a line as a message."""
    if line is None:
        return Unreadable(-32600, f"A message may have {LINE_BYTES:,} bytes at most.")
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return Unreadable(-32700, "This line is not JSON.")
    if not isinstance(message, dict) or not ("method" in message or "id" in message):
        return Unreadable(-32600, "This line is not a JSON-RPC message.")
    if not isinstance(message.get("method", ""), str):
        return Unreadable(-32600, "The method of a JSON-RPC message is a string.")
    if not isinstance(message.get("id"), str | int | float | None):
        return Unreadable(-32600, "The id of a JSON-RPC message is a string or a number.")
    if "error" in message and "method" not in message:
        message["error"] = _error(message["error"])
    return message


def _error(given: Any) -> Json:
    """Return an error in JSON-RPC's form: the SDK ends the connection after any other form."""
    if isinstance(given, dict) and isinstance(given.get("code"), int) and isinstance(given.get("message"), str):
        return given
    return {"code": -32603, "message": "The client answered with an error of no known form."}


def _chunk(source: int) -> bytes:
    try:
        return os.read(source, _CHUNK)
    except OSError:
        return b""


def _write_all(sink: int, data: bytes) -> OSError | None:
    view = memoryview(data)
    try:
        while view:
            view = view[os.write(sink, view) :]
    except OSError as error:
        return error
    return None


def _settle(written: asyncio.Future[None], gone: bool) -> None:
    if written.done():
        return
    if gone:
        written.set_exception(ConnectionError("The client has closed the connection."))
    else:
        written.set_result(None)
