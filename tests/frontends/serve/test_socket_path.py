"""Paths of sockets."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from agentcli.frontends.serve.socket_path import SOCKET
from tests.e2e.program import Program
from tests.frontends.serve.server import Serving


@pytest.mark.slow
def test_a_long_path_of_the_state_folder_prevents_neither_serve_nor_its_links(tmp_path: Path) -> None:
    program = Program(tmp_path, {"XDG_STATE_HOME": str(tmp_path / ("s" * 120))})
    with Serving(program) as server:
        bound = (Path(program.more["XDG_STATE_HOME"]) / "agentcli/serve" / SOCKET).readlink()
        assert bound.exists()
        assert server.link.startswith(server.base)
        server.process.send_signal(signal.SIGTERM)
        server.process.wait(10)
        assert not bound.parent.exists()
