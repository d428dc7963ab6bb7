"""A small server of the Model Context Protocol over HTTP, without the SDK, which can go away and come back."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import SimpleQueue
from typing import Any

from tests.features.mcp.fake_server import TOOLS

Json = dict[str, Any]


class _Handler(BaseHTTPRequestHandler):
    """`/mcp` is moved to `/mcp/`, `/away` to another host, `/plain` takes a GET alone; `/mcp/` is the server.

    `/guarded/` is it for those who have renewed their token at `/token`, `/locked/` until the first call of a tool. A GET
    of `/sse` gets the answers to what is sent to `/sent`. The tool `flood` answers with so many megabytes, in the form
    of its argument `how`.
    """

    protocol_version = "HTTP/1.1"
    waiting: list[SimpleQueue[bytes | None]]
    """The answers for each GET of `/sse`, the newest last."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        if self.path == "/token":
            renewed = b"grant_type=refresh_token" in body
            fresh = {"access_token": "fresh", "token_type": "Bearer", "expires_in": 3600, "refresh_token": "again"}
            self._answer(200 if renewed else 400, fresh if renewed else {"error": "invalid_grant"})
            return
        message = json.loads(body)
        match self.path:
            case "/guarded/" if self.headers.get("Authorization") != "Bearer fresh":
                self._answer(401)
            case "/locked/" if message["method"] == "tools/call":
                self._answer(401)
            case "/mcp":
                self._answer(307, location="/mcp/")
            case "/away":
                self._answer(307, location="http://other.invalid/mcp/")
            case "/mcp/" | "/guarded/" | "/locked/" if "id" not in message:
                self._answer(202)
            case "/sent":
                if "id" in message:
                    self.waiting[-1].put(_event(_answer_to(message)))
                self._answer(202)
            case "/mcp/" if message.get("params", {}).get("name") == "flood":
                self._flood(_answer_to(message), message["params"]["arguments"]["how"])
            case "/mcp/" | "/guarded/" | "/locked/":
                self._answer(200, _answer_to(message))
            case _:
                self._answer(405)

    def do_GET(self) -> None:
        if self.path != "/sse":
            self._answer(405)
            return
        events: SimpleQueue[bytes | None] = SimpleQueue()
        self.waiting.append(events)
        self._begin("text/event-stream")
        self.wfile.write(b"event: endpoint\ndata: /sent\n\n")
        with suppress(OSError):  # the client hangs up
            while (event := events.get()) is not None:
                self.wfile.write(event)

    def do_DELETE(self) -> None:
        self._answer(405)

    def _flood(self, value: Json, how: str) -> None:
        whole = _event(value) if "events" in how else json.dumps(value).encode()
        packed = gzip.compress(whole, 1) if "gzip" in how else whole
        headers = {"Content-Encoding": "gzip"} if "gzip" in how else {}
        self._begin("text/event-stream" if "events" in how else "application/json", headers)
        with suppress(OSError):  # the client hangs up
            self.wfile.write(packed)

    def _begin(self, kind: str, headers: Mapping[str, str] | None = None) -> None:
        self.send_response(200)
        for name, value in {"Content-Type": kind, "Connection": "close", **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.close_connection = True

    def _answer(self, status: int, value: Json | None = None, location: str = "") -> None:
        data = json.dumps(value).encode() if value is not None else b""
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        if location:
            self.send_header("Location", location)
        # Each request has a connection of its own: what is shut down takes no more.
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(data)
        self.close_connection = True

    def log_message(self, *_: object) -> None:
        pass


def _event(value: Json) -> bytes:
    return b"event: message\ndata: %b\n\n" % json.dumps(value).encode()


def _answer_to(message: Json) -> Json:
    return {"jsonrpc": "2.0", "id": message["id"], **_answered(message)}


def _answered(message: Json) -> Json:
    match message["method"]:
        case "initialize":
            info = {"name": "fake", "version": "1"}
            return {"result": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}}
        case "tools/list":
            return {"result": {"tools": [*TOOLS, {"name": "flood", "inputSchema": {"type": "object"}}]}}
        case "tools/call":
            given = message["params"].get("arguments", {})
            text = "x" * 1_000_000 * given["mb"] if "mb" in given else str(given.get("text", "done"))
            return {"result": {"content": [{"type": "text", "text": text}]}}
        case _:
            return {"error": {"code": -32601, "message": "Method not found"}}


@contextmanager
def serving(port: int = 0) -> Iterator[int]:
    """The port of a server that listens until the end of the block."""
    waiting: list[SimpleQueue[bytes | None]] = []
    server = ThreadingHTTPServer(("127.0.0.1", port), type("Handler", (_Handler,), {"waiting": waiting}))
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        for events in waiting:
            events.put(None)
        server.shutdown()
        server.server_close()
        thread.join()
