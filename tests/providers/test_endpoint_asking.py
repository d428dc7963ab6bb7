"""Questions to endpoints for their models end in time, whatever the endpoint does."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace

import pytest

from agentcli.providers.endpoint_asking import ask_all
from agentcli.providers.settings import ProviderSettings
from tests.tables import each_row

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


@contextmanager
def server(
    serve: Callable[[socket.socket, threading.Event], None], got: Callable[[bytes], None] = lambda _: None
) -> Iterator[str]:
    """The base URL of a server that handles each connection so, until the event is set; `got` takes its requests."""
    over = threading.Event()

    def accept() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listening.accept()
                with connection, suppress(OSError):
                    got(connection.recv(4096))
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


@each_row(
    ("settings", "header"),
    [
        (ProviderSettings("own", "openai", api_key_env="KEY"), "Authorization: Bearer s3cret"),
        (ProviderSettings("own", "openai", api_key_env="KEY", auth="api-key"), "api-key: s3cret"),
        (ProviderSettings("own", "google", api_key_env="KEY"), "x-goog-api-key: s3cret"),
    ],
)
def test_a_question_has_the_key_in_the_header_of_its_provider(settings: ProviderSettings, header: str) -> None:
    heads: list[bytes] = []

    def answer(connection: socket.socket, over: threading.Event) -> None:
        connection.sendall(HEAD + b"Content-Length: 2\r\n\r\n{}")

    with server(answer, heads.append) as url:
        [asked] = ask_all([replace(settings, base_url=url)], {"KEY": "s3cret"}, 5)
        asked.wait()
    [head] = heads
    keys = [line for line in head.decode().split("\r\n") if "s3cret" in line]
    assert [line.lower() for line in keys] == [header.lower()]
