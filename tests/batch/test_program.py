"""Batches by the program itself, with scripted agents."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.e2e.program import Program

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
WRITES = {"calls": [{"name": "bash", "input": {"command": "echo $PPID > new.txt"}}]}
SLEEPS = {"calls": [{"name": "bash", "input": {"command": "echo began > began.txt; sleep 600"}}]}


@pytest.fixture
def program(tmp_path: Path) -> Program:
    program = Program(tmp_path)
    (program.work / "a.txt").write_text("one\n")
    who = ["-c", "user.name=me", "-c", "user.email=me@example.org"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run(["git", *who, *command], cwd=program.work, check=True, capture_output=True)
    lines = [{"id": f"t{n}", "prompt": f"task {n}"} for n in range(3)]
    (program.work / "tasks.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return program


def script(program: Program, *replies: object) -> str:
    """The name of a model that gives these replies, which may be others later."""
    file = program.base / "script.json"
    file.write_text(json.dumps({"replies": replies}))
    return f"script:{file}"


def run(program: Program, model: str, *more: str) -> tuple[str, ...]:
    return ("batch", "run", "tasks.jsonl", "out", "-m", model, "--unboxed", *more)


def test_a_batch_runs_checks_commits_and_merges(program: Program) -> None:
    model = script(program, WRITES, {"text": "Done."})
    ran = program.run(*run(program, model, "--check", "test -f new.txt", "-j", "2"), seconds=200)
    assert ran.code == 0, ran.out + ran.err
    assert "3/3 · 3 passed" in ran.out
    lines = [json.loads(line) for line in (program.work / "out" / "results.jsonl").read_text().splitlines()]
    assert all(line["commit"] and line["check"] == 0 and line["text"] == "Done." for line in lines)
    merged = program.run("batch", "merge", "out")
    assert (merged.code, "1 tasks are in agentcli/out" in merged.out) == (1, True)
    assert program.run("batch", "status", "out").out.startswith("3/3")
    assert program.run("batch", "report", "out").code == 0
    assert (program.work / "out" / "report.html").read_text().count("session.html") == 3
    assert "session:" in program.run("batch", "show", "out", "t0").out
    assert not list((program.base / "cache" / "agentcli" / "worktrees").glob("out-*"))
    listed = json.loads(program.run("sessions", "list", "--json").out)
    assert len(listed) == 3


def test_a_check_may_delete_its_tree(program: Program) -> None:
    model = script(program, WRITES, {"text": "Done."})
    ran = program.run(*run(program, model, "--check", "rm -rf ./* && false", "--only", "t0"), seconds=200)
    assert ran.code == 1
    [line] = [row for row in ledger(program) if row["state"] == "failed"]
    assert line["commit"]


def test_a_batch_whose_driver_was_killed_goes_on_in_the_same_sessions(program: Program) -> None:
    model = script(program, SLEEPS)
    driver = program.start(*run(program, model, "-j", "3"))
    trees = program.base / "cache" / "agentcli" / "worktrees"
    until(lambda: len(list(trees.glob("*/began.txt"))) == 3)
    os.kill(driver.pid, signal.SIGKILL)
    driver.communicate()
    sessions = {row["session"] for row in ledger(program)}
    until(lambda: not agents(program))
    script(program, {"text": "Done."})
    ran = program.run(*run(program, model, "-j", "3"), seconds=200)
    assert ran.code == 0, ran.out + ran.err
    assert {row["session"] for row in ledger(program)} == sessions
    finals = [row["id"] for row in ledger(program) if row["state"] == "passed"]
    assert sorted(finals) == ["t0", "t1", "t2"]


def until(wanted: object, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not wanted():  # type: ignore[operator]
        assert time.monotonic() < end
        time.sleep(0.1)


def ledger(program: Program) -> list[dict[str, str]]:
    files = (program.work / "out").glob("ledger-*.jsonl")
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def agents(program: Program) -> list[str]:
    """The agents of this test that are alive."""
    alive = []
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = process.read_bytes().decode(errors="replace")
        except OSError:
            continue
        alive += [words] * (str(program.base) in words and "--session-id" in words)
    return alive
