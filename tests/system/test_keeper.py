"""What a session leaves behind that is killed: no server, whatever that ignores."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from agentcli.system.keeper import NAME, Keeper
from tests.features.mcp.running import FAKE, is_alive, pids, until, wait
from tests.tables import each_row

SESSION = """
import asyncio, sys, time
from pathlib import Path
from tests.features.mcp.running import fake, servers, settled
with servers(Path(sys.argv[1]), {"fake": fake(*sys.argv[2:])}) as made:
    settled(made)
    print("connected", flush=True)
    time.sleep(600)
"""


@pytest.mark.full
@each_row("faults", [["stubborn"], ["stubborn", "silent"], []])
def test_a_server_ends_with_a_session_that_is_killed(tmp_path: Path, faults: list[str]) -> None:
    """One that ignores the end of its input, and SIGTERM, too."""
    root = str(Path(FAKE).parent.parent.parent)
    command = [sys.executable, "-c", SESSION, str(tmp_path), *faults]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=root) as session:
        assert session.stdout is not None
        assert "silent" in faults or session.stdout.readline() == b"connected\n"
        wait(until(lambda: (tmp_path / "fake.log").exists() and bool(pids(tmp_path))))
        session.kill()
    [server] = pids(tmp_path)
    wait(until(lambda: not is_alive(server)))


DIES = "import os; from agentcli.system.keeper import Keeper; k = Keeper(); k.start(); print(*k.variables.values(), flush=True); input(); os._exit(9)"


def test_what_has_another_mark_or_a_farewell_stays() -> None:
    kept = Keeper()
    kept.start()
    with subprocess.Popen(
        [sys.executable, "-c", DIES], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as dying:
        assert dying.stdout is not None
        marks = [dying.stdout.readline().strip(), kept.variables[NAME], "another"]
        programs = [subprocess.Popen(["sleep", "600"], env={**os.environ, NAME: mark}) for mark in marks]
        kept.close()
        dying.communicate("now\n")
    assert programs[0].wait() == -signal.SIGTERM
    assert [program.poll() for program in programs[1:]] == [None, None]
    for program in programs[1:]:
        program.kill()
        program.wait()
