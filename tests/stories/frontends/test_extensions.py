"""Skills and slash commands of files in runs of the whole program."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from agentcli.core.errors import InputError, UsageError
from agentcli.frontends.cli import run
from agentcli.frontends.headless.print_mode import print_mode
from agentcli.frontends.opening import program_of
from agentcli.program.doctor import diagnose
from agentcli.program.options import Options
from tests.agent.open_session import say_to


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a skill and commands, and a home of its own."""
    for name in ("CONFIG", "DATA", "STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr(sys, "stdin", None)
    folder = tmp_path / "work"
    files = {
        ".git/HEAD": "ref: refs/heads/main",
        ".claude/commands/git/x.md": "---\ndescription: Looks\n---\nLook at $0 and $1.",
        ".claude/commands/make.md": "Now !`touch made`.",
        ".gemini/commands/plan.toml": 'prompt = "Plan {{args}}."',
        ".claude/commands/undo.md": "Mine.",
        ".claude/skills/pdf/SKILL.md": "---\nname: pdf\ndescription: Reads PDF.\n---\nRead.",
        ".claude/skills/none/SKILL.md": "# Nothing",
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def printed(work: Path, prompt: str, **more: object) -> int:
    options = Options(prompt=prompt, print=True, model="script:echo", cwd=str(work), **{"trust": True, **more})  # type: ignore[arg-type]
    return print_mode(program_of(options), options)


def test_commands_of_files_work_without_a_person(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(work, "/git:x a 'b c'") == 0
    assert printed(work, "/plan it") == 0
    assert capsys.readouterr().out == "Look at a and b c.\nPlan it.\n"


def test_a_command_that_wants_to_run_something_ends_with_the_rule_that_allows_it(
    work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert printed(work, "/make") == 42
    assert "allow it with --allow 'bash(touch made)'" in capsys.readouterr().err
    assert not (work / "made").exists()
    assert printed(work, "/make", allow=("bash(touch made)",)) == 0
    assert (work / "made").exists()


def test_in_a_folder_that_is_not_trusted_nothing_is_read_and_the_command_says_so(work: Path) -> None:
    with pytest.raises(
        InputError, match="This folder is not trusted, so its commands are not read; --trust reads them"
    ):
        printed(work, "/unknown", trust=False)
    for prompt in ("/plan", "/plan it", "/git:x a b", "/pdf read\nall", "/git:x"):
        with pytest.raises(InputError, match="is a command of this folder, which is not trusted; --trust reads it"):
            printed(work, prompt, trust=False)
    with pytest.raises(InputError, match="Unknown command /git:y"):
        printed(work, "/git:y a", trust=False)
    for prompt in ("/etc is full", "/a/b c", " /plan it"):
        assert printed(work, prompt, trust=False) == 0
    program = program_of(Options(model="script:echo", cwd=str(work)))
    session = program.sessions.new()
    assert not any("pdf" in block for block in session.history.system)
    assert "skill" not in [tool.name for tool in session.core.setup.tools.offered]
    session.close()


def test_the_system_text_lists_the_skills_at_birth_and_stays_the_same_after_a_resume(work: Path) -> None:
    program = program_of(Options(model="script:echo", cwd=str(work), trust=True))
    session = program.sessions.new()
    born, tools = session.conversation.builder.system, session.conversation.builder.tools
    assert sum(block.startswith("# Skills") and "- pdf: Reads PDF." in block for block in born) == 1
    assert "skill" in [tool.name for tool in tools]
    assert any(note.endswith("has no description: left out.") for note in session.notes)
    say_to(session, "hello")
    session.close()
    (work / ".claude/skills/pdf/SKILL.md").unlink()
    later = program_of(
        Options(model="script:echo", cwd=str(work), trust=True, session=session.journal.id)
    ).sessions.begin()
    assert (later.conversation.builder.system, later.conversation.builder.tools) == (born, tools)
    later.close()


def test_without_skills_there_is_no_block_and_no_tool(work: Path) -> None:
    (work / ".claude").rename(work / "away")
    session = program_of(Options(model="script:echo", cwd=str(work), trust=True)).sessions.new()
    assert not any("# Skills" in block for block in session.history.system)
    assert "skill" not in [tool.name for tool in session.core.setup.tools.offered]
    session.close()


def test_doctor_and_the_lists_name_everything_with_its_source(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [finding.line for finding in diagnose(program_of, Options(cwd=str(work), trust=True))]
    assert f"ok    skill pdf: {work}/.claude/skills/pdf" in lines
    assert f"ok    command /git:x: {work}/.claude/commands/git/x.md" in lines
    assert any(line.startswith("warn  extensions: SKILL.md in ") for line in lines)
    assert run(["skills", "list", "--json", "--trust", "-C", str(work)]) == 0
    assert '"name":"pdf"' in capsys.readouterr().out.replace(": ", ":")
    assert run(["skills", "check", str(work / ".claude/skills/pdf")]) == 0
    assert run(["skills", "check", str(work)]) == 1


def test_the_lists_name_what_they_leave_out_in_a_folder_that_is_not_trusted(
    work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["skills", "list", "-C", str(work)]) == 0
    told = capsys.readouterr()
    assert told.out.strip() == "No skills. See `agentcli help skills`."
    assert "not trusted: .claude/skills, .claude/commands, .gemini/commands. --trust reads them." in " ".join(
        told.err.split()
    )


def test_a_run_works_as_an_agent_of_a_file(work: Path) -> None:
    file = work / ".claude/agents/rev.md"
    file.parent.mkdir()
    file.write_text("---\nname: rev\ndescription: d\ntools: Read, Task\neffort: low\n---\nYou review.")
    session = program_of(Options(model="script:echo", cwd=str(work), trust=True, agent="rev")).sessions.new()
    say_to(session, "hello")
    assert session.history.system[0] == "You review."
    assert [tool.name for tool in session.core.setup.tools.offered] == ["read", "task"]
    assert session.conversation.builder.effort == "low"
    session.close()
    with pytest.raises(UsageError, match="There is no kind of agent 'revv'"):
        program_of(Options(model="script:echo", cwd=str(work), trust=True, agent="revv")).sessions.new()


def test_doctor_names_programs_of_hooks_that_are_missing_and_tools_of_agents_that_do_not_exist(work: Path) -> None:
    agents = work / ".claude/agents"
    agents.mkdir()
    head = "---\nname: {}\ndescription: d\ntools: {}\n---\nYou review."
    (agents / "rev.md").write_text(head.format("rev", "Read, LSP, mcp__git__log"))
    (agents / "fine.md").write_text(head.format("fine", "Read, Bash(git *)"))
    (work / "guard.sh").write_text("exit 0")
    commands = {
        "none-such-program --x": "none-such-program was not found",
        'python3 "$CLAUDE_PROJECT_DIR/none.py"': f"{work}/none.py was not found",
        "sh ${CLAUDE_PROJECT_DIR}/guard.sh": "active",
        "cd . && true": "active",
        "X=1 none-such-program": "active",
    }
    groups = [{"hooks": [{"type": "command", "command": line}]} for line in commands]
    (work / ".claude/settings.json").write_text(json.dumps({"hooks": {"Stop": groups}}))
    lines = [finding.line for finding in diagnose(program_of, Options(cwd=str(work), trust=True))]
    assert f"warn  agent rev: {agents}/rev.md, lists tools that do not exist here: LSP" in lines
    assert f"ok    agent fine: {agents}/fine.md" in lines
    states = [line.rpartition(" (")[2].rstrip(")") for line in lines if " hook " in line]
    assert states == [*commands.values()]
