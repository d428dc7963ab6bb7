"""The page's server ends soon and without a word at any signal, whatever waits in its connections."""

from __future__ import annotations

import contextlib
import signal
import socket
import time
from pathlib import Path

import pytest

from agentcli.frontends.serve.app import READERS
from tests.bench.bench_serve import reply
from tests.e2e.program import Program
from tests.frontends.serve.server import Serving
from tests.loopback import Bytes, Loopback

SECONDS = 2.0 + 2.0
"""What is promised, and as much again for a machine at work."""


def asking(server: Serving, request: str, body: str = "") -> socket.socket:
    """A connection that has sent a request, and reads nothing."""
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)  # else the system keeps all events for it
    made.connect(("127.0.0.1", server.port))
    made.sendall(f"{request} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {server.token}\r\n{body}".encode())
    return made


@pytest.mark.full
@pytest.mark.parametrize("numbers", [("SIGINT", "SIGINT"), ("SIGTERM", "SIGTERM", "SIGINT"), ("SIGHUP",)])
def test_a_signal_ends_the_server_amid_a_reply_that_many_do_not_read(tmp_path: Path, numbers: tuple[str, ...]) -> None:
    body = reply(100_000)
    with Loopback(lambda _: Bytes(body), strict=False) as loopback, contextlib.ExitStack() as held:
        program = Program(tmp_path, more=loopback.env)
        program.config('model = "anthropic/claude-haiku-5-5"\n')
        with Serving(program) as server:
            server.log_in()
            session = server.post("/api/sessions", {"folder": str(program.work), "mode": "auto"}).json["session"]
            cursor = server.get(f"/api/sessions/{session}").json["cursor"]
            events = f"GET /api/sessions/{session}/events?after={cursor}"
            for _ in range(READERS - 5):
                held.enter_context(asking(server, events, "\r\n"))
            half = "Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"
            held.enter_context(asking(server, "POST /api/sessions", half))
            server.post(f"/api/sessions/{session}/say", {"text": "go"})
            time.sleep(1)
            for number in numbers:
                server.process.send_signal(signal.Signals[number])
                time.sleep(0.05)
            assert server.process.wait(SECONDS) == 0
            assert server.process.stdout is not None
            assert not server.process.stdout.read()
