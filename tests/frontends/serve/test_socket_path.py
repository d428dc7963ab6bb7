"""Paths of sockets."""

from __future__ import annotations

import os
import signal
import socket
from pathlib import Path

import pytest

from agentcli.frontends.serve.socket_path import SOCKET, usable_path
from tests.e2e.program import Program
from tests.frontends.serve.server import Serving


def test_sockets_of_killed_processes_are_removed_and_no_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    long = tmp_path / ("s" * 120)
    paths = {name: usable_path(long) for name in ("killed", "killed just now", "alive")}
    bound = {name: socket.socket(socket.AF_UNIX) for name in paths}
    for name, path in paths.items():
        bound[name].bind(str(path))
    bound["alive"].listen()
    for name in ("killed", "killed just now"):
        bound[name].close()
    for name in ("killed", "alive"):
        os.utime(paths[name], (1, 1))
    (tmp_path / "agentcli-else").mkdir(mode=0o700)
    (tmp_path / "agentcli-else/s").write_text("a file")
    os.utime(tmp_path / "agentcli-else/s", (1, 1))
    made = usable_path(long)
    bound["alive"].close()
    left = {"agentcli-else", made.parent.name, *(paths[name].parent.name for name in ("killed just now", "alive"))}
    assert {path.name for path in tmp_path.iterdir()} == left


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
