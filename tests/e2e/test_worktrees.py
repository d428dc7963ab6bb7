"""A subagent's worktree after a kill in the middle of its work: named by doctor, and taken up again on resume."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.program import Program

SECONDS = 60.0
"""Time limit of the program's way to the subagent's first file."""
AGENT = "---\nname: apart\ndescription: Works apart.\nisolation: worktree\n---\nYou work apart."


def script(program: Program, *replies: dict[str, Any]) -> str:
    file = program.base / "script.json"
    file.write_text(json.dumps({"replies": replies}))
    return f"script:{file}"


def calls(name: str, **given: str) -> dict[str, Any]:
    return {"calls": [{"name": name, "input": given}]}


@pytest.mark.slow
def test_a_killed_subagent_is_named_by_doctor_and_goes_on_in_its_worktree(program: Program) -> None:
    who = ["-c", "user.name=n", "-c", "user.email=e"]
    for command in (["init", "-q"], [*who, "commit", "-q", "--allow-empty", "-m", "First"]):
        subprocess.run(["git", *command], cwd=program.work, check=True)
    agents = program.base / ".claude/agents"
    agents.mkdir(parents=True)
    (agents / "apart.md").write_text(AGENT)
    work = {"description": "work", "prompt": "Do it.", "agent": "apart"}
    first = calls("write", file_path="first.txt", content="1\n")
    model = script(program, calls("task", **work), first, {"text": "never", "delay": 2 * SECONDS})
    process = program.start("-p", "go", "-m", model, "--mode", "yolo")
    [tree] = [file.parent for file in _appears(program.base / "cache/agentcli/worktrees", "*/first.txt")]
    process.kill()
    process.communicate()
    [parent, child] = [json.loads(ran)["id"] for ran in _sessions(program)]
    row = next(line for line in program.run("doctor").out.splitlines() if f"worktree {tree.name}" in line)
    assert row.startswith("warn")
    assert f"`agentcli resume {parent}` resumes it there" in row
    resumed = calls("task", description="work", prompt="Go on.", resume=child)
    second = calls("write", file_path="second.txt", content="2\n")
    model = script(program, resumed, second, {"text": "Child done."}, {"text": "Done."})
    ran = program.ask("resume", parent, "-p", "go on", "-m", model, "--mode", "yolo")
    assert ran.result["text"] == "Done."
    assert f"It worked in {tree} (branch agentcli/{child})" in ran.of("tool_result")[-1]["output"]
    assert sorted(file.name for file in tree.glob("*.txt")) == ["first.txt", "second.txt"]
    assert not [*program.work.glob("*.txt")]


def _appears(folder: Path, pattern: str) -> list[Path]:
    until = time.monotonic() + SECONDS
    while not (found := [*folder.glob(pattern)]) and time.monotonic() < until:
        time.sleep(0.05)
    return found


def _sessions(program: Program) -> list[str]:
    """The glances of the sessions, the parent first."""
    texts = [file.read_text() for file in program.sessions.glob("*/*/session.json")]
    return sorted(texts, key=lambda text: json.loads(text)["parent"] is not None)
