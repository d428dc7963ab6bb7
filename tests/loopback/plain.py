"""A server that gives every request the same answer, and what other small servers are made of."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True, slots=True)
class Heard:
    """A request: its path, and its headers by lower-case name."""

    path: str
    headers: Mapping[str, str]


class Answering(BaseHTTPRequestHandler):
    """A handler that can answer with a text, and prints nothing."""

    def answer(self, status: int, text: str | bytes, kind: str = "application/json") -> None:
        """Send a whole answer."""
        body = text.encode() if isinstance(text, str) else text
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def running(server: ThreadingHTTPServer) -> Iterator[None]:
    """Serve in a thread, and close the server at the end."""
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def answering(status: int, body: bytes = b"{}") -> Iterator[tuple[str, list[Heard]]]:
    """The server's address, and the requests so far."""
    asked: list[Heard] = []

    class Handler(Answering):
        def do_GET(self) -> None:
            asked.append(Heard(self.path, {name.lower(): value for name, value in self.headers.items()}))
            self.answer(status, body)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    with running(server):
        yield f"http://127.0.0.1:{server.server_address[1]}", asked
