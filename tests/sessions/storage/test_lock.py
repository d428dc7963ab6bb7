from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from agentcli.core.errors import SessionBusy
from agentcli.sessions.storage.writer import Lock, holder, is_locked

HOLDER = """
import subprocess, sys, time
from pathlib import Path
from agentcli.sessions.storage.writer import Lock
lock = Lock(Path(sys.argv[1]))
child = subprocess.Popen(["sleep", "60"])
print(child.pid, flush=True)
time.sleep(60)
"""


def test_a_lock_is_held_once_and_let_go(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    assert not is_locked(path)
    lock = Lock(path)
    assert is_locked(path)
    assert holder(path) == str(os.getpid())
    with pytest.raises(SessionBusy, match=str(os.getpid())):
        Lock(path, patience=0.0)
    lock.release()
    lock.release()
    assert not is_locked(path)
    Lock(path).release()


def test_a_lock_dies_with_its_process_even_where_its_children_live_on(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with subprocess.Popen([sys.executable, "-c", HOLDER, str(path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        try:
            assert is_locked(path)
            with pytest.raises(SessionBusy, match=f"process {process.pid}"):
                Lock(path, patience=0.0)
            process.kill()
            process.wait()
            os.kill(child, 0)
            assert not is_locked(path)
            Lock(path).release()
        finally:
            os.kill(child, signal.SIGKILL)


def test_whoever_looks_does_not_get_in_the_way(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    Lock(path).release()
    for _ in range(50):
        assert not is_locked(path)
        Lock(path, patience=0.0).release()


def test_a_lock_on_what_was_moved_away_is_taken_anew(tmp_path: Path) -> None:
    first = Lock(tmp_path / "lock")
    (tmp_path / "lock").rename(tmp_path / "moved")
    second = Lock(tmp_path / "lock")
    first.release()
    assert is_locked(tmp_path / "lock")
    second.release()
