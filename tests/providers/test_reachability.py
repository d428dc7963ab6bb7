"""Reachability of an endpoint: a connection, or one request without a key, which costs nothing."""

from __future__ import annotations

import gc
import socket
import threading
import time

import pytest

from agentcli.core.errors import InputError
from agentcli.providers import model_figures, reachability
from agentcli.providers.context_windows import loaded_window, stated_window
from tests.providers.test_endpoint_asking import HEAD, server


def dripped(connection: socket.socket, over: threading.Event) -> None:
    """A server that sends a byte of its head at a time."""
    while not over.wait(0.02):
        connection.sendall(b"H")


@pytest.mark.parametrize("part", [b"", HEAD + b"\r\n"], ids=["head", "body"])
def test_every_question_to_a_server_that_drips_ends_in_time(part: bytes) -> None:
    def serve(connection: socket.socket, over: threading.Event) -> None:
        connection.sendall(part)
        dripped(connection, over)

    with server(serve) as url:
        began = time.monotonic()
        with pytest.raises(InputError, match=r"it took longer than 0\.2 s"):
            model_figures.read(f"{url}/list.json", 0.2)
        assert stated_window(url, "m", None, 0.2) == 0
        if not part:
            assert reachability.answers(url, "/v1/models", 0.2) == (False, "nothing answers in time")
            assert reachability.accepts(url, "/v1/models", {}, 0.2) == (None, "nothing answers in time")
        assert time.monotonic() - began < 10


def test_a_refusal_leaves_no_connection_open() -> None:
    def serve(connection: socket.socket, over: threading.Event) -> None:
        connection.sendall(b"HTTP/1.1 404 Not Found\r\ncontent-length: 9\r\n\r\nnot found")
        connection.settimeout(1)
        closed.append(connection.recv(1))  # nothing, once the other side is closed

    closed: list[bytes] = []
    gc.disable()  # a response that nobody closes is open until the next collection
    try:
        with server(serve) as url:
            with pytest.raises(InputError, match="404"):
                model_figures.read(f"{url}/list.json", 5)
            assert loaded_window(url, "m", None, 5) == 0
    finally:
        gc.enable()
    assert closed == [b"", b""]
