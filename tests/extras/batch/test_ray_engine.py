"""Batches on a Ray cluster of two nodes on this machine."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agentcli.extras.batch.ledger import FINAL, rows
from tests.attack.batches import Target, target
from tests.extras.batch.repository import results

pytest.importorskip("ray")
pytestmark = [pytest.mark.slow, pytest.mark.ecosystem, pytest.mark.timeout(900)]


class Cluster:
    """Two nodes, each a process group of its own; a token is asked for."""

    def __init__(self, env: dict[str, str], folder: Path) -> None:
        token = folder / "token"
        token.write_text(secrets.token_hex(32))
        self.env = {**env, "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(token)}
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{free.getsockname()[1]}"
        port = self.address.partition(":")[2]
        head = [
            "--head",
            f"--port={port}",
            "--include-dashboard=false",
            f"--temp-dir={folder}",
            "--disable-usage-stats",
        ]
        self._log = (folder / "nodes.txt").open("wb")
        self.nodes = [self._node(*head, "--node-ip-address=127.0.0.1")]
        until(self._answers)
        self.nodes.append(self._node(f"--address={self.address}"))

    def _node(self, *more: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "ray.scripts.scripts", "start", "--block", "--num-cpus=2", *more]
        return subprocess.Popen(
            command, env=self.env, stdout=self._log, stderr=self._log, start_new_session=True, stdin=subprocess.DEVNULL
        )

    def _answers(self) -> bool:
        with socket.socket() as client:
            return client.connect_ex(("127.0.0.1", int(self.address.partition(":")[2]))) == 0

    def members(self, number: int) -> list[int]:
        """The processes of a node."""
        group = self.nodes[number].pid
        found = []
        for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
            try:
                if os.getsid(pid) == group:
                    found.append(pid)
            except ProcessLookupError:
                continue
        return found

    def kill(self, number: int) -> None:
        """Kill a node with all its processes."""
        for pid in self.members(number):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self.nodes[number].wait()

    def workers(self) -> list[int]:
        """Workers that run a task."""
        found = []
        for number in range(len(self.nodes)):
            for pid in self.members(number):
                try:
                    if b"ray::run_with_flag" in Path(f"/proc/{pid}/cmdline").read_bytes():
                        found.append(pid)
                except OSError:
                    continue
        return found

    def close(self) -> None:
        """End everything."""
        for number in reversed(range(len(self.nodes))):
            self.kill(number)
        self._log.close()


@contextmanager
def cluster(found: Target) -> Iterator[Cluster]:
    folder = Path(tempfile.mkdtemp(prefix="ray", dir="/tmp"))
    made = Cluster({**found.program.env, "RAY_USAGE_STATS_ENABLED": "0"}, folder)
    found.program.more = {
        **found.program.more,
        **{name: made.env[name] for name in made.env if name.startswith("RAY_")},
    }
    try:
        yield made
    finally:
        made.close()
        shutil.rmtree(folder, ignore_errors=True)


def until(wanted: Callable[[], object], seconds: float = 120.0) -> None:
    end = time.monotonic() + seconds
    while not wanted():
        assert time.monotonic() < end
        time.sleep(0.2)


def done(found: Target) -> int:
    """Tasks with a result."""
    return sum(row.state in FINAL for row in rows(found.out)) if found.out.exists() else 0


def compared(found: Target) -> dict[str, tuple[object, ...]]:
    """All of the results that is the same in every run."""
    lines = results(found.program)
    patches = {id: next((found.out / "tasks" / id).glob("*/patch.diff")).read_text() for id in lines}
    return {id: (line["state"], line["text"], line["patch_lines"], patches[id]) for id, line in lines.items()}


def test_killed_workers_and_nodes_lose_no_result_and_shards_give_the_same() -> None:
    with target(16, delay=0.5) as found, cluster(found) as nodes:
        until(lambda: len(nodes.members(1)) > 3)
        command = found.arguments("--engine", "ray", "--ray-address", nodes.address)
        driver = found.program.start(*command, stderr=subprocess.STDOUT)
        until(lambda: done(found) >= 2 and nodes.workers())
        os.kill(nodes.workers()[0], signal.SIGKILL)
        found.kills.append(time.time())
        until(lambda: done(found) >= 6)
        nodes.kill(1)
        found.kills.append(time.time())
        out, _ = driver.communicate(timeout=600)
        assert driver.returncode == 0, out
        assert found.wrong() == []
        over_ray = compared(found)
    with target(16, delay=0.1, workers=2) as found:
        for shard in ("0/2", "1/2"):
            assert found.run("--shard", shard)[0] == 0
        assert compared(found) == over_ray


def test_stop_reaches_tasks_on_the_nodes_and_the_batch_goes_on_in_their_sessions() -> None:
    with target(3, delay=3.0) as found:
        more = ("--engine", "ray")
        driver = found.program.start(*found.arguments(*more), stderr=subprocess.STDOUT)
        until(lambda: len(found.provider.asked) >= 3)
        assert found.program.run("batch", "stop", "out").code == 0
        out, _ = driver.communicate(timeout=120)
        assert driver.returncode == 130, out
        assert found.living() == []
        found.kills.append(time.time())
        found.provider.delay = 0.0
        assert found.run(*more)[0] == 0
        assert len({row.session for row in rows(found.out)}) == 3


def test_a_cluster_that_cannot_be_joined_is_told_at_once_with_what_to_do() -> None:
    with target(1) as found, cluster(found) as nodes:
        token = found.program.more["RAY_AUTH_TOKEN_PATH"]
        for path in (str(Path(token).with_name("none")), None):
            more = {name: value for name, value in found.program.more.items() if not name.startswith("RAY_AUTH_")}
            found.program.more = more | ({"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": path} if path else {})
            code, out = found.run("--engine", "ray", "--ray-address", nodes.address)
            assert (code, "set RAY_AUTH_MODE=token, and RAY_AUTH_TOKEN_PATH" in out) == (52, True), out
        nodes.close()
        code, out = found.run("--engine", "ray", "--ray-address", nodes.address, seconds=20)
        assert (code, f"Can't reach the Ray cluster at {nodes.address}: Connection refused" in out) == (52, True), out
        code, out = found.run("--engine", "ray", "--ray-address", "nonsense", seconds=20)
        assert (code, "takes HOST:PORT" in out) == (2, True), out


def test_a_batch_whose_cluster_is_gone_ends_with_a_summary_and_goes_on_with_the_next_run() -> None:
    with target(3, delay=3.0) as found:
        with cluster(found) as nodes:
            command = found.arguments("--engine", "ray", "--ray-address", nodes.address)
            driver = found.program.start(*command, stderr=subprocess.STDOUT)
            until(lambda: len(found.provider.asked) >= 3)
            nodes.kill(0)
            nodes.kill(1)
            found.kills.append(time.time())
            out, _ = driver.communicate(timeout=120)
            assert (driver.returncode, "The Ray cluster is gone: " in out, "3 stopped" in out) == (1, True, True), out
            assert "Run the same command again" in out
        assert found.run()[0] == 0
        assert found.wrong() == []
