from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from agentcli.core.errors import StoreError
from agentcli.system.locked_file import FileLock, add_line, is_held, lines, update
from tests.sessions.disks import FAULTS, Failing


def test_a_change_sees_what_stands_and_replaces_it(tmp_path: Path) -> None:
    path = tmp_path / "new" / "config.toml"
    assert update(path, lambda text: text + "a = 1\n") == "a = 1\n"
    assert update(path, lambda text: text + "b = 2\n") == path.read_text() == "a = 1\nb = 2\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_what_cannot_be_read_is_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(b"\0\xff not text")
    with pytest.raises(StoreError, match="was not changed"):
        update(path, lambda text: "mine")
    assert path.read_bytes() == b"\0\xff not text"
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(StoreError):
        update(folder, lambda text: "mine")


def test_a_change_that_fails_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text("kept")
    for call in ("create", "write", "fsync", "rename"):
        with pytest.raises(StoreError, match="No space left"):
            update(path, lambda text: "new", disk=Failing(call, FAULTS["ENOSPC"], 1))
    with pytest.raises(ZeroDivisionError):
        update(path, lambda text: str(1 // 0))
    assert path.read_text() == "kept"
    assert update(path, lambda text: text + "!") == "kept!"


def test_a_link_stays_a_link_and_a_mode_stays(tmp_path: Path) -> None:
    real, link = tmp_path / "dotfiles.toml", tmp_path / "config.toml"
    real.write_text("x")
    real.chmod(0o644)
    link.symlink_to(real)
    update(link, lambda text: text + "y")
    assert link.is_symlink()
    assert real.read_text() == "xy"
    assert stat.S_IMODE(real.stat().st_mode) == 0o644


def test_a_list_keeps_lines_in_order(tmp_path: Path) -> None:
    path = tmp_path / "state" / "history"
    said = ["one", '{"text": "two\\nlines"}', "ünïcode \u2028 \x0b"]
    for line in said:
        add_line(path, line)
    assert lines(path) == said
    assert path.read_text() == "".join(f"{line}\n" for line in said)
    assert lines(tmp_path / "none") == []
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_torn_line_costs_only_itself(tmp_path: Path) -> None:
    path = tmp_path / "history"
    add_line(path, "one")
    with path.open("ab") as file:
        file.write(b"tor")
    add_line(path, "two")
    assert lines(path) == ["one", "tor", "two"]


def test_a_list_does_not_grow_without_end(tmp_path: Path) -> None:
    path = tmp_path / "history"
    for n in range(50):
        add_line(path, str(n), limit=10)
    assert 10 <= len(lines(path)) <= 11
    assert lines(path)[-1] == "49"


def test_who_waits_too_long_is_told(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"

    def meanwhile(text: str) -> str:
        with pytest.raises(StoreError, match="stays locked"):
            update(path, lambda _: "second", patience=0.05)
        return "first"

    assert update(path, meanwhile) == "first"
    assert os.listdir(tmp_path).count("config.toml") == 1


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
