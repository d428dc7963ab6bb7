"""Sessions in the background, started, answered, merged, killed and resumed as people do it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.program import Program

ASKS: list[dict[str, Any]] = [
    {"text": "Let me make it.", "calls": [{"name": "bash", "input": {"command": "touch made.txt"}, "id": "c1"}]},
    {"text": "All done."},
]


def script(program: Program, replies: Sequence[Mapping[str, Any]], name: str = "script") -> str:
    file = program.base / f"{name}.json"
    file.write_text(json.dumps({"replies": replies}))
    return f"script:{file}"


def repository(program: Program) -> Path:
    for words in (
        ["init", "-q", "-b", "main"],
        ["config", "user.name", "Ann"],
        ["config", "user.email", "ann@example.org"],
        ["commit", "-q", "--allow-empty", "-m", "first"],
    ):
        subprocess.run(["git", *words], cwd=program.work, check=True)
    return program.work


def listed(program: Program) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(program.run("agents", "--json").out)
    return found


def until(program: Program, state: str, session: str = "") -> dict[str, Any]:
    """Wait for the state of a session, by default of the only one."""
    ends = time.monotonic() + 30
    while True:
        rows = [one for one in listed(program) if session in ("", one["session"])]
        if [one["state"] for one in rows] == [state]:
            return rows[0]
        assert time.monotonic() < ends, rows
        time.sleep(0.1)


def left(program: Program) -> list[str]:
    return [file.name for file in (program.base / "state/agentcli/background").glob("*")]


@pytest.mark.full
def test_what_cannot_start_gets_one_sentence_and_leaves_nothing(program: Program) -> None:
    """Each refusal has the exit code and the words of the same session with a terminal."""
    repository(program)
    for arguments, code, text in (
        (("--bg",), 2, '--bg needs a prompt: agentcli --bg "fix the failing test".'),
        (("--bg", "go", "-p"), 2, "--bg prints no answer"),
        (("--bg", "go", "--no-session"), 2, "--bg needs a stored session"),
        (("--bg", "go", "-C", "/nowhere"), 2, "/nowhere is not a folder."),
        (("--bg", "go", "-w", "a b"), 2, "Not a name for a worktree"),
        (("--bg", "go", "-w", ""), 2, "Not a name for a worktree: ''"),
        (("-p", "go", "-w", "", "-m", "script:echo"), 2, "Not a name for a worktree: ''"),
        (("resume", "nobody", "--bg", "go"), 42, "Unknown session 'nobody'"),
    ):
        ran = program.run(*arguments)
        assert (ran.code, ran.out, text in ran.err) == (code, "", True), (arguments, ran)
        assert len(ran.err.splitlines()) == 1, ran.err
    assert left(program) == []


@pytest.mark.full
def test_a_start_that_fails_in_its_own_process_leaves_no_worktree(program: Program) -> None:
    work = repository(program)
    for model, code in (((), 41), (("-m", "script:nothing"), 42)):
        ran = program.run("--bg", "go", "-w", "fix", *model)
        assert (ran.code, ran.out) == (code, "")
        assert ran.err.startswith("agentcli: ")
    git = subprocess.run(["git", "worktree", "list"], cwd=work, capture_output=True, text=True, check=True)
    assert len(git.stdout.splitlines()) == 1
    assert left(program) == []


@pytest.mark.full
def test_a_question_is_answered_from_the_screen_and_its_work_merged(program: Program) -> None:
    work = repository(program)
    ran = program.run("--bg", "make it", "-w", "fix", "--mode", "ask", "-m", script(program, ASKS))
    session = ran.out.strip()
    assert (ran.code, ran.err) == (
        0,
        f"It works in the background. `agentcli agents` shows it, `agentcli attach {session}` follows it.\n",
    )
    assert until(program, "waits")["questions"][0]["subject"] == "$ touch made.txt"
    assert "needs your answer" in program.run("ps").out
    with program.terminal("agents") as t:
        t.until("NEEDS YOU", "$ touch made.txt", "1 Yes")
        t.settle(0.6)
        t.send("1", until="DONE")
        t.until("All done.", "m merges")
        t.send("d", until="Changes in")
        t.send("q", until="DONE")
        t.send("m", until="Merged fix into main.")
        t.until("No session runs.")
        t.send("q")
        assert t.wait() == 0
    assert (work / "made.txt").exists()
    assert left(program) == []
    assert program.run("sessions", "list").out.count(session) == 1


@pytest.mark.full
def test_a_killed_session_is_listed_and_resumed_on_request(program: Program) -> None:
    """It is killed amid a command, after an edit in its worktree; the edit is merged at the end."""
    work = repository(program)
    edit = {"name": "write", "input": {"file_path": "half.txt", "content": "edit\n"}}
    command = {"name": "bash", "input": {"command": "sleep 76.25"}}
    model = script(program, [{"calls": [edit]}, {"calls": [command]}])
    session = program.run("--bg", "work", "-w", "fix", "--mode", "yolo", "-m", model).out.strip()
    while "sleep" not in (row := until(program, "works"))["doing"]:
        time.sleep(0.1)
    os.kill(row["pid"], signal.SIGKILL)
    time.sleep(10)  # until then it may be starting
    row = until(program, "ended")
    assert ("killed" in row["error"], row["changes"]) == (True, "1 file +1 −0")
    assert subprocess.run(["pgrep", "-f", "sleep 76.25"], check=False, capture_output=True).stdout == b""
    script(program, [{"text": "Continued."}])
    with program.terminal("agents") as t:
        t.until("r resumes")
        t.send("r", until="Continued.")
        t.until("✓")
        t.send("m", until="Merged fix into main.")
        t.send("q")
    assert (left(program), (work / "half.txt").read_text()) == ([], "edit\n")
    texts = [json.dumps(record) for record in program.records(session)]
    assert sum("Continue the work where it was interrupted" in text for text in texts) == 1


@pytest.mark.full
def test_after_a_reboot_each_session_is_listed_as_ended_and_can_be_resumed(tmp_path: Path) -> None:
    """Everything is killed, temporary files are gone, ids belong to another process, and the clock is a day earlier."""
    base, temporary = tmp_path / ("long-" * 20), tmp_path / "tmp"
    for folder in (base, temporary):
        folder.mkdir()
    places = {"TMPDIR": str(temporary), "XDG_RUNTIME_DIR": str(temporary)}
    early, program = Program(base, places, ("-m", "tests.e2e.leaping_clock", "86400")), Program(base, places)
    repository(program)
    slow = script(program, [{"text": "Slow.", "delay": 60}], "slow")
    begin = ("--mode", "ask", "-m")
    waits = early.run("--bg", "ask first", "-w", "fix", *begin, script(program, ASKS)).out.strip()
    works = early.run("--bg", "work", *begin, slow).out.strip()
    rows = [until(program, "waits", waits), until(program, "works", works)]
    assert list(temporary.iterdir()), "the sockets were in the state folder"
    live = base / "state/agentcli/live"
    for row in rows:
        os.kill(row["pid"], signal.SIGKILL)
    shutil.rmtree(temporary)
    temporary.mkdir()
    for file in live.glob("*.json"):
        file.write_text(json.dumps({**json.loads(file.read_text()), "pid": os.getpid()}))
    for lock in program.sessions.glob("*/*/lock"):
        lock.write_text(f"{os.getpid()}\n")
    ended = [until(program, "ended", session) for session in (waits, works)]
    assert [(row["pid"], row["shared"], row["worktree"]) for row in ended] == [(0, False, "fix"), (0, False, "")]
    assert "the machine restarted" in ended[0]["error"]
    assert not list(live.glob("*.json"))
    script(program, [{"text": "Continued."}])
    script(program, [{"text": "Continued."}], "slow")
    with program.terminal("agents") as t:
        for _ in rows:
            t.send("g", until="❯ ✗")
            t.send("r", until="It continues.")
            t.until("❯ ✓")
        t.until("2 done")
        t.send("q")
    assert [until(program, "done", session)["last"] for session in (waits, works)] == ["Continued.", "Continued."]


@pytest.mark.full
def test_a_session_whose_request_fails_says_why(program: Program) -> None:
    program.run("--bg", "go", "-m", script(program, []))
    assert until(program, "failed")["error"]
