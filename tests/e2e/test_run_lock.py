"""Runs that are held to a lock file."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from agentcli.agent.run_lock import read_lock
from agentcli.core.errors import InputError
from tests.e2e.program import Program

SKILL = "---\nname: greet\ndescription: {}\n---\nSay hello.\n"


def skill(program: Program, description: str) -> None:
    folder = program.work / ".agentcli" / "skills" / "greet"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_text(SKILL.format(description))


def test_a_run_that_differs_from_its_lock_file_is_refused_and_each_difference_is_named(
    program: Program, tmp_path: Path
) -> None:
    run = ("--trust", "-m", "script:echo", "-p", "hello")
    (program.work / "AGENTS.md").write_text("Use tabs.\n")
    skill(program, "for greetings")
    (session,) = [line["session_id"] for line in program.ask(*run).of("init")]
    written = program.run("sessions", "lock", session)
    lock = json.loads(written.out)
    assert {"AGENTS.md", "skills: greet", "How you work"} <= lock["prompt"].keys()
    assert "bash" in lock["tools"]
    assert str(program.base) not in written.out
    file = tmp_path / "lock.json"
    file.write_text(written.out)
    held = (*run, "--lock", str(file))
    assert program.run(*held).code == 0
    moved = program.base / "moved"
    shutil.copytree(program.work, moved)
    assert program.run("-C", str(moved), *held).code == 0  # the same on another machine
    (program.work / "AGENTS.md").write_text("Use spaces.\n")
    skill(program, "for farewells")
    refused = program.run(*held, "--mode", "yolo", "--set", "agent.subagents=false")
    assert (refused.code, refused.out) == (42, "")
    for line in (
        "mode: yolo, locked ask",
        "tool: task is missing",
        "AGENTS.md has changed",
        "skills: greet has changed",
    ):
        assert line in refused.err
    # A resumed session sends what it began with.
    assert program.run("resume", session, *held[1:]).code == 0
    assert program.run("--lock", str(file)).code == 2


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"tools": {}, "prompt": []}', '{"lock": 2, "tools": {}, "prompt": {}}']
)
def test_a_file_that_is_no_lock_file_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "lock.json"
    file.write_text(text)
    with pytest.raises(InputError):
        read_lock(str(file))
    with pytest.raises(InputError, match="Can't read"):
        read_lock(str(tmp_path / "none.json"))
