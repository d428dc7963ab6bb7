from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
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


def test_a_lock_that_is_freed_within_the_wait_is_taken(tmp_path: Path) -> None:
    first = Lock(tmp_path / "lock")
    threading.Timer(0.03, first.release).start()
    second = Lock(tmp_path / "lock", patience=30)
    assert is_locked(tmp_path / "lock")
    second.release()


def test_a_lock_whose_file_is_moved_away_during_the_wait_is_let_go(tmp_path: Path) -> None:
    first = Lock(tmp_path / "lock")

    def move() -> None:
        (tmp_path / "lock").rename(tmp_path / "moved")
        first.release()

    threading.Timer(0.03, move).start()
    second = Lock(tmp_path / "lock", patience=30)
    assert is_locked(tmp_path / "lock")
    assert not is_locked(tmp_path / "moved")
    second.release()


def test_the_file_of_a_lock_names_its_holder_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "lock").write_text("4194304999\nolder")
    lock = Lock(tmp_path / "lock")
    assert (tmp_path / "lock").read_text() == f"{os.getpid()}\n"
    lock.release()


@pytest.mark.parametrize("signed", [True, False])
def test_a_session_that_is_open_elsewhere_is_told_with_what_to_do(tmp_path: Path, signed: bool) -> None:
    folder = tmp_path / "s-1"
    folder.mkdir()
    lock = Lock(folder / "lock")
    if not signed:
        (folder / "lock").write_text("")
    who = f" (process {os.getpid()})" if signed else ""
    with pytest.raises(SessionBusy) as busy:
        Lock(folder / "lock", patience=0.0)
    assert str(busy.value) == (
        f"Session s-1 is open for writing in another agentcli{who}. Open it read-only with `agentcli sessions show s-1`, "
        "or continue in a copy with `agentcli resume s-1 --fork`."
    )
    lock.release()
