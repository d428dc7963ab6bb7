from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from agentcli.system.locked_file import FileLock, is_held

HOLDER = """
import sys
from agentcli.system.locked_file import FileLock
with FileLock(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_lock_keeps_another_process_out_until_its_holder_ends(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    command = [sys.executable, "-c", HOLDER, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        assert is_held(path)
        with pytest.raises(BlockingIOError):
            FileLock(path, patience=0)
        other.kill()
        with FileLock(path) as lock:
            assert lock.guards
    assert not is_held(path)


def test_several_share_a_shared_lock(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with FileLock(path, shared=True, patience=0), FileLock(path, shared=True, patience=0):
        assert not is_held(path)
        with pytest.raises(BlockingIOError):
            FileLock(path, patience=0)


def test_a_lock_on_a_file_that_was_replaced_is_known(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with FileLock(path) as lock:
        assert lock.is_at(path)
        path.rename(tmp_path / "moved")
        assert not lock.is_at(path)
        path.touch()
        assert not lock.is_at(path)


def test_what_is_not_there_is_not_held_and_is_made_only_on_demand(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    assert not is_held(path)
    with pytest.raises(FileNotFoundError):
        FileLock(path, make=False)
    assert not path.exists()
    FileLock(path).release()
    assert path.stat().st_mode & 0o777 == 0o600
