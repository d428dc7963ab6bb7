"""Questions to endpoints for their models end in time, whatever the endpoint does."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from agentcli.core.errors import InputError
from agentcli.providers import model_figures, reachability
from agentcli.providers.context_windows import stated_window
from agentcli.providers.endpoint_asking import ask_all
from agentcli.providers.settings import ProviderSettings

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


@contextmanager
def server(serve: Callable[[socket.socket, threading.Event], None]) -> Iterator[str]:
    """The base URL of a server that handles each connection so, until the event is set."""
    over = threading.Event()

    def accept() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listening.accept()
                with connection, suppress(OSError):
                    connection.recv(4096)
                    serve(connection, over)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        over.set()
        listening.shutdown(socket.SHUT_RDWR)
        thread.join(5)


def silent(connection: socket.socket, over: threading.Event) -> None:
    over.wait(20)


def dribbles_its_head(connection: socket.socket, over: threading.Event) -> None:
    while not over.wait(0.05):
        connection.sendall(b"H")


def dribbles_its_body(connection: socket.socket, over: threading.Event) -> None:
    connection.sendall(HEAD + b"\r\n")
    while not over.wait(0.05):
        connection.sendall(b" ")


@pytest.mark.parametrize("serve", [silent, dribbles_its_head, dribbles_its_body])
def test_a_question_that_is_not_answered_ends_in_time_with_the_name_of_the_endpoint(
    serve: Callable[[socket.socket, threading.Event], None],
) -> None:
    with server(serve) as url:
        begun = time.monotonic()
        [asked] = ask_all([ProviderSettings("own", "openai", base_url=url)], {}, 0.5)
        asked.wait()
        assert time.monotonic() - begun < 5
        assert asked.found is None
        assert asked.trouble.startswith("own ")


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
