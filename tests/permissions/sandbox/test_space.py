"""What sandboxed commands of one run share: a /tmp and a loopback, which nothing outside sees."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from agentcli.permissions.denied.files import NOTHING
from agentcli.permissions.paths import Workspace
from agentcli.permissions.sandbox import detect
from agentcli.permissions.sandbox.private_tmp import PrivateTmp
from agentcli.permissions.sandbox.space import PrivateSpace
from tests.permissions.sandbox.running import completed

SANDBOX = detect()
pytestmark = pytest.mark.skipif(SANDBOX.kind != "bubblewrap", reason="bubblewrap does not work here")
SERVER = (
    "import socket; s = socket.create_server(('127.0.0.1', 0)); open('/tmp/port', 'w').write(str(s.getsockname()[1])); "
    "c, _ = s.accept(); c.sendall(b'hello'); c.close()"
)
CLIENT = "import socket, sys; print(socket.create_connection(('127.0.0.1', int(sys.argv[1]))).recv(9).decode())"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    work, home = tmp_path / "work", tmp_path / "home"
    work.mkdir()
    home.mkdir()
    return Workspace(work, (work,), home)


@pytest.fixture
def space(tmp_path: Path) -> Iterator[PrivateSpace]:
    made = PrivateSpace(SANDBOX.program, PrivateTmp(tmp_path))
    yield made
    made.close()


def run(argv: list[str], workspace: Workspace, space: PrivateSpace | None) -> subprocess.CompletedProcess[str]:
    return completed(SANDBOX.wrap(argv, workspace, space=space), workspace.cwd, os.environ)


def test_tmp_lasts_from_command_to_command_and_goes_with_the_run(workspace: Workspace, space: PrivateSpace) -> None:
    name = f"/tmp/{workspace.cwd.parent.name}.txt"
    assert run(["sh", "-c", f"echo kept > {name}"], workspace, space).returncode == 0
    assert run(["cat", name], workspace, space).stdout == "kept\n"
    assert run(["cat", name], workspace, None).returncode != 0
    assert not Path(name).exists()
    assert (space.path / Path(name).name).read_text() == "kept\n"
    assert run(["cat", str(space.path / Path(name).name)], workspace, space).stdout == "kept\n"
    space.close()
    assert not space.path.exists()


def test_a_command_outside_sees_it_if_it_is_to(workspace: Workspace, space: PrivateSpace) -> None:
    run(["sh", "-c", "echo body > /tmp/body.md"], workspace, space)
    (workspace.cwd / "a.txt").write_text("in the workspace\n")
    argv = ["cat", "/tmp/body.md", str(workspace.cwd / "a.txt")]
    boxed = SANDBOX.with_tmp(argv, NOTHING, workspace, space)
    done = completed(boxed, workspace.cwd, os.environ)
    assert done.stdout == "body\nin the workspace\n", done.stderr


@pytest.mark.full
def test_commands_reach_the_servers_that_they_started_and_no_others(workspace: Workspace, space: PrivateSpace) -> None:
    os.mkfifo(space.path / "port")
    with ThreadPoolExecutor() as threads:
        server = threads.submit(run, ["python3", "-c", SERVER], workspace, space)
        port = int((space.path / "port").read_text())
        assert space.same_port(port)
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port))
        assert run(["python3", "-c", CLIENT, str(port)], workspace, space).stdout == "hello\n"
        assert server.result().returncode == 0
    with closing(socket.create_server(("127.0.0.1", 0))) as outside:
        port = outside.getsockname()[1]
        assert not space.same_port(port)
        assert "refused" in run(["python3", "-c", CLIENT, str(port)], workspace, space).stderr
    assert space.same_port(port)


def test_it_reaches_no_other_network_and_gains_no_rights(workspace: Workspace, space: PrivateSpace) -> None:
    devices = run(["cat", "/proc/net/dev"], workspace, space).stdout.splitlines()[2:]
    assert [line.partition(":")[0].strip() for line in devices] == ["lo"]
    assert "CapEff:\t0000000000000000" in run(["cat", "/proc/self/status"], workspace, space).stdout
    run(["sh", "-c", f"echo x > {workspace.home}/x"], workspace, space)
    assert not (workspace.home / "x").exists()
    assert run(["unshare", "-U", "true"], workspace, space).returncode != 0


def test_the_process_that_keeps_the_network_ends_with_the_run(workspace: Workspace, space: PrivateSpace) -> None:
    words = space.entering()
    pid = int(words[-1])
    assert space.entering() == words
    space.close()
    assert not Path(f"/proc/{pid}/ns/net").exists()
