"""The sandbox of mode auto in runs of the program: what commands see and leave, and what is left of a run."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentcli.permissions.paths import Workspace
from agentcli.permissions.sandbox import detect
from agentcli.permissions.sandbox.box import box_for
from tests.e2e.program import Program, Ran

pytestmark = pytest.mark.skipif(detect().kind != "bubblewrap", reason="bubblewrap does not work here")
NOTES = "my own notes"


def auto(program: Program, *commands: str, more: tuple[str, ...] = ()) -> Ran:
    path = program.base / "script.json"
    calls: list[Any] = [{"calls": [{"name": "bash", "input": {"command": command}}]} for command in commands]
    path.write_text(json.dumps({"replies": [*calls, {"text": "Done."}]}))
    return program.ask("-m", f"script:{path}", "--mode", "auto", "-p", "go", *more)


@pytest.fixture
def program() -> Iterator[Program]:
    """The program with a home that is not below /tmp, which commands of mode auto see otherwise."""
    with tempfile.TemporaryDirectory(prefix=".agentcli-e2e-", dir=Path.home()) as folder:
        yield Program(Path(folder).resolve())


@pytest.fixture
def notes(program: Program) -> Path:
    file = Path(program.env["HOME"]) / "notes.txt"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(NOTES)
    return file


def test_a_script_sees_a_file_of_the_home_folder_only_if_a_rule_shows_it(program: Program, notes: Path) -> None:
    script = f"python3 -c \"print(open('{notes}').read())\""
    unseen = auto(program, script).of("tool_result")[0]["output"]
    assert NOTES not in unseen
    assert "notes.txt is hidden from commands that do not name it" in unseen
    rule = ("--allow", f"read({notes})")
    shown = auto(program, f"cat {notes}", script, more=rule)
    outputs = [result["output"] for result in shown.of("tool_result")]
    assert [NOTES in output for output in outputs] == [True] * 2, outputs


def test_what_a_command_installs_into_the_home_folder_is_gone_and_the_model_is_told(program: Program) -> None:
    script = "from pathlib import Path; file = Path.home() / '.tool'; print(file.exists()); file.touch(); print(file.exists())"
    (program.work / "setup.py").write_text(script)
    ran = auto(program, "python3 setup.py", "python3 setup.py")
    assert [result["output"] for result in ran.of("tool_result")] == ["False\nTrue\n"] * 2
    told = json.dumps(program.records())
    assert "what they write into the home folder is gone when they end" in told


def test_what_a_command_made_of_protected_files_is_set_aside_before_the_next_one(program: Program) -> None:
    (program.work / "setup.py").write_text("import os; os.makedirs('.vscode'); open('.vscode/tasks.json', 'w')")
    ran = auto(program, "python3 setup.py", "ls -a")
    made, listed = ran.of("tool_result")
    assert "made protected files: .vscode (now .vscode.made-in-sandbox)" in made["output"]
    assert ".vscode\n" not in listed["output"]


def test_a_file_of_secrets_looks_empty_and_a_failure_says_so(program: Program) -> None:
    (program.work / ".env").write_text("KEY=my own notes\n")
    (program.work / "start.py").write_text("import sys; sys.exit(open('.env').read() or 'no key')")
    [read] = auto(program, "python3 start.py").of("tool_result")
    assert "no key" in read["output"]
    assert ".env looks empty to commands in the sandbox" in read["output"]


def test_a_file_of_secrets_that_a_rule_names_is_shown_but_not_written(program: Program) -> None:
    (program.work / ".env").write_text("KEY=one\n")
    (program.work / ".env.local").write_text("KEY=two\n")
    (program.work / "start.sh").write_text("cat .env .env.local; echo KEY=three > .env || echo kept")
    rule = ("--allow", "read(./.env)")
    shown, read = auto(program, "sh start.sh", "cat .env", more=rule).of("tool_result")
    assert "KEY=one" in shown["output"]
    assert "KEY=two" not in shown["output"]
    assert "kept" in shown["output"]
    assert read["output"] == "KEY=one\n"


@pytest.mark.parametrize(
    ("check", "trusted", "made"),
    [
        ("touch made || true", False, False),
        ("touch made || true", True, False),
        ("touch made", True, True),
    ],
)
def test_a_check_runs_in_a_trusted_folder_and_writes_only_if_it_cannot_do_without(
    program: Program, check: str, trusted: bool, made: bool
) -> None:
    config = program.base / "config/agentcli/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(f'[checks]\n"*.txt" = "{check}"\n')
    path = program.base / "script.json"
    edit = {"name": "write", "input": {"file_path": "a.txt", "content": "x\n"}}
    path.write_text(json.dumps({"replies": [{"calls": [edit]}, {"text": "Done."}]}))
    more = ("--trust",) if trusted else ()
    ran = program.ask("-m", f"script:{path}", "--mode", "yolo", "-p", "go", *more)
    assert ran.of("tool_result")[0]["status"] == "success"
    assert (program.work / "made").exists() == made
    assert ("none runs until you trust this folder" in ran.err + ran.out) == (not trusted)


def test_git_commits_in_a_linked_work_tree_whose_pointers_stay(program: Program) -> None:
    def git(*words: str) -> str:
        name = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        done = subprocess.run(["git", *name, *words], cwd=program.work, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    git("init", "-q", "-b", "main")
    git("commit", "-q", "--allow-empty", "-m", "First")
    git("worktree", "add", "-q", "-b", "side", "wt")
    for key in ("name", "email"):
        git("config", f"user.{key}", "a")
    ran = auto(program, "cd wt && echo x > new.txt && git add new.txt && git commit -qm Second", "git rebase main")
    assert [result["status"] for result in ran.of("tool_result")] == ["success"] * 2, ran.of("tool_result")
    assert git("log", "-1", "--format=%s", "side") == "Second"
    made = Workspace(program.work, (program.work,), program.work.parent)
    state = program.work / ".git/worktrees/wt"
    closed = box_for(made, git=True).readonly
    assert {state / "gitdir", state / "commondir", program.work / ".git/config"} <= {*closed}
    assert not any(map(state.is_relative_to, closed))
    assert any(map(state.is_relative_to, box_for(made).readonly))
