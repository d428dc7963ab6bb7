"""Runs that are held to a lock file."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from agentcli import __version__
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


@pytest.mark.full
def test_in_the_terminal_differences_from_a_lock_file_are_told_once_and_when_the_session_is_resumed(
    program: Program, tmp_path: Path
) -> None:
    run = ("-m", "script:echo", "--set", "agent.titles=false")
    session = program.ask(*run, "-p", "hello").result["session_id"]
    lock = {**json.loads(program.run("sessions", "lock", session).out), "agentcli": "0.0.1", "model": "demo/other"}
    del lock["tools"]["bash"]
    file = tmp_path / "lock.json"
    file.write_text(json.dumps(lock))
    told = ("This session differs from its lock file:", "model: script/echo, locked demo/other", "tool: bash is new")
    with program.terminal(*run, "--lock", str(file)) as t:
        for line in told:
            t.until(line)
        t.send("continue\r", until="> continue")
        t.settle(1)
        assert "\n".join(t.history()).count("tool: bash is new") == 1
        t.send("\x04")
        t.wait()
    (held,) = [
        folder.name
        for folder in program.sessions.glob("*/*")
        if folder.name != session and (folder / "records").is_dir()
    ]
    again = program.ask("resume", held, *run, "-p", "and on")
    assert again.code == 0
    assert [line["message"] for line in again.of("warning") if all(each in line["message"] for each in told)]


@pytest.mark.full
def test_a_session_is_resumed_in_the_terminal_with_one_line_of_what_has_changed_since(program: Program) -> None:
    run = ("-m", "script:echo", "--set", "agent.titles=false", "--trust")
    (program.work / "AGENTS.md").write_text("Use tabs.\n")
    session = program.ask(*run, "-p", "hello").result["session_id"]
    (file,) = program.sessions.glob(f"*/{session}/session.json")
    info = json.loads(file.read_text())
    file.write_text(json.dumps({**info, "version": "0.0.1"}))
    skill(program, "for greetings")
    (program.work / "AGENTS.md").write_text("Use spaces.\n")

    def recorded() -> int:
        return sum(record.get("feature") == "last run" for record in program.records(session))

    with program.terminal("resume", session, *run, "--set", "agent.subagents=false", rows=40) as t:
        t.until("Changed since this session last ran:", "present ones.")
        said = " ".join(" ".join(t.screen()).split())
        assert (
            f"agentcli {__version__}, was 0.0.1; instruction files; skill greet new; tool skill new; tool task gone"
            in said
        )
        assert not recorded()  # it has not been used yet
        t.send("more\r", until="> more")
        t.settle(1)
    assert recorded() == 1
    with program.terminal("resume", session, *run, "--set", "agent.subagents=false") as t:
        t.until("more")
        t.settle(1)
        assert "Changed since" not in " ".join(t.history())


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
