"""JSON-RPC over a language server's pipes, with limits: a server that floods or breaks the protocol is ended.

Threads read and write, so an unresponsive server blocks nothing, and one started in one event loop serves the next.
"""

from __future__ import annotations

import asyncio
import json
import os
import queue
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from agentcli.core.errors import ToolError

MESSAGE = 32_000_000
"""Maximum bytes of one message."""
FLOOD = 100_000_000
"""Maximum bytes that a server may send without a message to it."""
_HEADER = 4_096
_TAIL = 1_000
_LAST_WORDS = 1.0
"""Seconds to wait for the last words of a server that has ended: a child may keep the pipe open."""
_METHOD_NOT_FOUND = -32601
Process = subprocess.Popen[bytes]


class Connection:
    """A running server. `answer` gives the results of its requests, `notified` gets its notifications; a thread calls
    both.
    """

    def __init__(
        self, process: Process, answer: Callable[[str, Any], Any], notified: Callable[[str, Any], None]
    ) -> None:
        self._process, self._answer, self._notified = process, answer, notified
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._listening: list[asyncio.Future[None]] = []
        self._outgoing: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._next, self._unasked, self._tail = 0, 0, b""
        self.ended = ""
        """The reason of its end; empty while it runs."""
        self._errors, *others = (
            threading.Thread(target=work, name="language server", daemon=True)
            for work in (self._read_errors, self._read, self._write)
        )
        for thread in (self._errors, *others):
            thread.start()

    async def request(self, method: str, params: Any, seconds: float) -> Any:
        """Return the result of a request. Raises ToolError if the server refuses it, does not answer in time, or ends."""
        self._next += 1
        number, answer = self._next, asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        try:
            self._send({"id": number, "method": method, "params": params})
            return await asyncio.wait_for(answer, seconds)
        except TimeoutError:
            with suppress(ToolError):
                self.notify("$/cancelRequest", {"id": number})
            raise ToolError(f"The language server did not answer within {seconds:g} s.") from None
        finally:
            self._waiting.pop(number, None)

    def notify(self, method: str, params: Any) -> None:
        """Send a notification. Raises ToolError if the server has ended."""
        self._send({"method": method, "params": params})

    async def news(self, seconds: float) -> None:
        """Wait for a notification, for the server's end, or for so many seconds."""
        came = asyncio.get_running_loop().create_future()
        self._listening.append(came)
        if not self.ended:
            with suppress(TimeoutError):
                await asyncio.wait_for(came, seconds)

    def close(self, why: str = "closed") -> None:
        """End the server and all that it started."""
        if self.ended:
            return
        self.ended = why
        with suppress(OSError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._outgoing.put(b"")
        for future in [*self._waiting.values()]:
            _settle(future, ToolError(f"The language server ended: {why}."))
        self._wake()

    def _send(self, message: Mapping[str, Any]) -> None:
        if self.ended:
            raise ToolError(f"The language server ended: {self.ended}.")
        self._unasked = 0
        self._put(message)

    def _put(self, message: Mapping[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self._outgoing.put(b"Content-Length: %d\r\n\r\n" % len(body) + body)

    def _write(self) -> None:
        assert self._process.stdin is not None
        with suppress(OSError), self._process.stdin as stream:
            while data := self._outgoing.get():
                stream.write(data)
                stream.flush()

    def _read(self) -> None:
        assert self._process.stdout is not None
        why = "it breaks the protocol"
        with self._process.stdout as stream:
            try:
                while size := _size(stream):
                    if size > MESSAGE or self._unasked + size > FLOOD:
                        why = "it sends too much"
                        break
                    self._unasked += size
                    self._take(json.loads(stream.read(size)))
                else:
                    why = ""
            except (ValueError, TypeError, KeyError, AttributeError, OSError, RecursionError):
                pass
            if why:
                self.close(why)
        code = self._process.wait()
        self._errors.join(_LAST_WORDS)
        said = self._tail.decode("utf-8", "replace").strip().rpartition("\n")[2]
        self.close(f"exit code {code}{f', {said}' if said else ''}")

    def _take(self, message: Any) -> None:
        if "method" in message and "id" in message:
            try:
                reply = {"result": self._answer(message["method"], message.get("params"))}
            except KeyError:
                reply = {"error": {"code": _METHOD_NOT_FOUND, "message": "not supported"}}
            self._put({"id": message["id"], **reply})
        elif "method" in message:
            self._notified(message["method"], message.get("params"))
            self._wake()
        elif (future := self._waiting.get(message.get("id"))) is not None:
            error = message.get("error")
            text = f"The language server refuses: {error.get('message')}" if error else ""
            _settle(future, ToolError(text) if error else message.get("result"))

    def _wake(self) -> None:
        listening, self._listening = self._listening, []
        for future in listening:
            _settle(future, None)

    def _read_errors(self) -> None:
        assert self._process.stderr is not None
        with suppress(OSError), self._process.stderr as stream:
            while piece := os.read(stream.fileno(), 65_536):
                self._tail = (self._tail + piece)[-_TAIL:]


def _size(stream: Any) -> int:
    """Read a header and return the size of the message; 0 at the end. Raises ValueError for an invalid one."""
    size, lines = -1, 0
    while line := stream.readline(_HEADER):
        lines += 1
        if not line.strip() and size > 0:
            return size
        name, colon, value = line.partition(b":")
        if lines > 16 or (line.strip() and not colon):
            raise ValueError("no header")
        if name.strip().lower() == b"content-length":
            size = int(value)
    return 0


def _settle(future: asyncio.Future[Any], outcome: Any) -> None:
    """Set a future's result, from any thread; a future of a closed event loop stays open."""

    def settle() -> None:
        if future.done():
            return
        if isinstance(outcome, ToolError):
            future.set_exception(outcome)
        else:
            future.set_result(outcome)

    with suppress(RuntimeError):
        future.get_loop().call_soon_threadsafe(settle)
