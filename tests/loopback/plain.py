"""A server that gives every request the same answer."""

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


@contextmanager
def answering(status: int, body: bytes = b"{}") -> Iterator[tuple[str, list[Heard]]]:
    """The server's address, and the requests so far."""
    asked: list[Heard] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(Heard(self.path, {name.lower(): value for name, value in self.headers.items()}))
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
