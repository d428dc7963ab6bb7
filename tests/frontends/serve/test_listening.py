"""The server's sockets: one server in a state folder, whatever the length of its path."""

from __future__ import annotations

import contextlib
import socket
import stat
from pathlib import Path

import pytest

from agentcli.core.errors import InputError
from agentcli.frontends.serve.listening import CONNECTIONS, sockets
from agentcli.frontends.serve.socket_path import SOCKET, is_private, linked_path, remove_socket
from tests.e2e.program import Program
from tests.frontends.serve.server import Serving


@pytest.mark.parametrize("length", [3, 120], ids=["short path", "long path"])
def test_one_server_listens_in_a_state_folder_and_the_next_one_after_its_end(tmp_path: Path, length: int) -> None:
    place = tmp_path / ("s" * length)
    (first,) = sockets(place, None)
    with pytest.raises(InputError, match="running already"):
        sockets(place, None)
    bound = Path(first.getsockname())
    assert stat.S_IMODE(bound.stat().st_mode) == 0o600
    assert stat.S_IMODE(bound.parent.stat().st_mode) == 0o700
    first.close()
    (second,) = sockets(place, None)
    now = Path(second.getsockname())
    assert linked_path(place / SOCKET) == now
    assert now == bound or not bound.parent.exists()
    second.close()
    if is_private(now):
        remove_socket(now)
        assert not now.parent.exists()


@pytest.mark.slow
def test_connections_that_send_no_whole_request_block_no_other_for_long(tmp_path: Path) -> None:
    with Serving(Program(tmp_path)) as server, contextlib.ExitStack() as opened:
        for sent in (b"", b"GET / HTTP/1.1\r\nHost: localhost\r\n"):
            for _ in range(CONNECTIONS // 2 + 5):
                half = opened.enter_context(socket.create_connection(("127.0.0.1", server.port), 20))
                half.sendall(sent)
        assert server.ask("GET", "/").status == 503
        assert half.recv(1) == b""  # the server has closed it
        assert server.ask("GET", "/").status == 200


@pytest.mark.slow
def test_a_login_without_a_code_is_answered_as_a_mistake(tmp_path: Path) -> None:
    with Serving(Program(tmp_path)) as server:
        for body in (b"", b"{", b"[]", b"\xff", b'{"code": 1}'):
            assert server.ask("POST", "/api/login", body, {"content-type": "application/json"}).status == 400
