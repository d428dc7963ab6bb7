"""The program in folders that are not as they should be: on a file system without locks, or gone."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.program import Program
from tests.terminal import Terminal

WITHOUT_LOCKS = """
#include <errno.h>
int flock(int file, int operation) { (void)file; (void)operation; errno = ENOLCK; return -1; }
"""
"""What the system answers on a network file system whose server keeps no locks."""


@pytest.fixture
def without_locks(program: Program) -> Program:
    """The program where no file can be locked."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("needs a C compiler")
    source, library = program.base / "locks.c", program.base / "locks.so"
    source.write_text(WITHOUT_LOCKS)
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source], check=True)
    program.more = {"LD_PRELOAD": str(library)}
    probe = "import fcntl, sys; fcntl.flock(0, fcntl.LOCK_EX)"
    if b"Errno" not in program_output(program, ["-c", probe]):
        pytest.skip("this system preloads no library")
    return program


def program_output(program: Program, arguments: Sequence[str]) -> bytes:
    """The stderr of Python with these arguments in the program's environment."""
    return subprocess.run([sys.executable, *arguments], env=program.env, capture_output=True, check=False).stderr


def prompts(program: Program) -> list[dict[str, Any]]:
    """The earlier prompts that the program keeps."""
    file = program.base / "state" / "agentcli" / "history.jsonl"
    return [json.loads(line) for line in file.read_text().splitlines()]


def leave(t: Terminal) -> None:
    t.settle()
    t.send("\x04")
    assert t.wait() == 0
    assert "Traceback" not in "\n".join(t.history())


@pytest.mark.full
def test_the_repl_works_where_no_file_can_be_locked(without_locks: Program) -> None:
    with without_locks.terminal("-m", "script:echo") as t:
        t.until("Shift-Tab mode")
        t.send("hello there\r", until="hello there")
        t.settle()
        t.send("and again\r", until="and again")
        leave(t)
    assert [one["text"] for one in prompts(without_locks)] == ["hello there", "and again"]
    ran = without_locks.run("resume", "--last", "-p", "third", "-m", "script:echo")
    assert (ran.code, ran.out) == (0, "third\n")
    assert without_locks.run("sessions", "check").code == 0


@pytest.mark.full
def test_settings_and_keys_are_kept_where_no_file_can_be_locked(without_locks: Program) -> None:
    assert without_locks.run("config", "set", "model", "demo/demo").code == 0
    assert without_locks.run("config", "get", "model").out.strip() == "demo/demo"
    ran = without_locks.run("auth", "set", "anthropic", stdin="sk-ant-" + "x" * 40 + "\n")
    assert ran.code == 0, ran.err


@pytest.mark.slow
def test_a_draft_does_not_use_up_descriptors_where_no_file_can_be_locked(without_locks: Program) -> None:
    with without_locks.terminal("-m", "script:echo") as t:
        t.until("Shift-Tab mode")
        drafts = without_locks.base / "state" / "agentcli" / "drafts"
        for number in range(3):
            t.send(f"word{number} ")
            until_kept(drafts, f"word{number} ", t)
        opened = [os.readlink(each) for each in Path(f"/proc/{t.pid}/fd").iterdir()]
        assert sum(name.startswith(str(drafts)) for name in opened) == 1, opened
        t.send("\x15")
        leave(t)


def until_kept(drafts: Path, text: str, t: Terminal) -> None:
    """Wait until a draft that ends with this text is on the disk."""
    for _ in range(100):
        t.settle(0.1, 0.1)
        if any(text in file.read_text() for file in drafts.glob("*.json")):
            return
    raise AssertionError(f"{text!r} was not kept in {list(drafts.glob('*'))}")


@pytest.mark.full
def test_a_draft_of_a_killed_program_comes_back_where_no_file_can_be_locked(without_locks: Program) -> None:
    drafts = without_locks.base / "state" / "agentcli" / "drafts"
    with without_locks.terminal("-m", "script:echo") as t:
        t.until("Shift-Tab mode")
        t.send("half a thought")
        until_kept(drafts, "half a thought", t)
        with without_locks.terminal("-m", "script:echo") as other:
            other.until("Shift-Tab mode")
            leave(other)
        assert list(drafts.glob("*.json")), "the draft of a program that lives stays its own"
    with without_locks.terminal("-m", "script:echo") as t:
        t.until("press ↑")
        t.send("\x1b[A", until="> half a thought")
        t.send("\x15")
        leave(t)


@pytest.mark.full
def test_the_repl_survives_that_its_folder_is_deleted(program: Program) -> None:
    folder = program.work / "gone"
    folder.mkdir()
    program.config('[ui]\nstatus = "mode extra"\nstatus_command = "echo extra"\n')
    with program.terminal("-m", "script:echo", cwd=str(folder)) as t:
        t.until("Shift-Tab mode")
        t.send("before\r", until="9 out")
        folder.rmdir()
        t.send("after\r", until="> after")
        t.until("after")
        t.settle()
        t.send("! pwd\r", until="exit code 127")
        t.send("/export\r", until="no such folder")
        t.until("ui.status_command: It could not start")
        leave(t)
    assert [one["folder"] for one in prompts(program)] == [str(folder)] * 4
    assert not folder.exists()
    assert program.run("sessions", "check").code == 0


@pytest.mark.full
def test_prompts_are_kept_under_the_folder_of_their_session(program: Program) -> None:
    folder = program.work / "elsewhere"
    folder.mkdir()
    with program.terminal("-C", str(folder), "-m", "script:echo") as t:
        t.until("Shift-Tab mode")
        t.send("hello\r", until="hello")
        t.send("a draft")
        until_kept(program.base / "state" / "agentcli" / "drafts", "a draft", t)
        [draft] = (program.base / "state" / "agentcli" / "drafts").glob("*.json")
        assert json.loads(draft.read_text())["folder"] == str(folder)
        t.send("\x15")
        leave(t)
    assert {one["folder"] for one in prompts(program)} == {str(folder)}
