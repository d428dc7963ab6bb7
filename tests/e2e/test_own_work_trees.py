"""Work trees that a session makes in mode auto, with a real repository and the real sandbox."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentcli.permissions.sandbox import detect
from tests.e2e.program import Program, Ran

pytestmark = pytest.mark.skipif(detect().kind != "bubblewrap", reason="bubblewrap does not work here")


@pytest.fixture
def program() -> Iterator[Program]:
    """The program in a repository that is not below /tmp, which is another folder in the sandbox."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        made = Program(Path(folder).resolve())
        git(made.work, "init", "-q", "-b", "main")
        for key in ("name", "email"):
            git(made.work, "config", f"user.{key}", "a")
        (made.work / "a.txt").write_text("a\n")
        git(made.work, "add", ".")
        git(made.work, "commit", "-qm", "First")
        for hook in (made.work / ".git/hooks").iterdir():
            hook.unlink()
        yield made


def git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


def auto(program: Program, *calls: str | dict[str, Any], more: tuple[str, ...] = ()) -> Ran:
    """The run of a model that makes these calls, commands or others, with nobody to ask."""
    made = [{"name": "bash", "input": {"command": call}} if isinstance(call, str) else call for call in calls]
    path = program.base / "script.json"
    path.write_text(json.dumps({"replies": [*({"calls": [call]} for call in made), {"text": "Done."}]}))
    return program.ask("-m", f"script:{path}", "--mode", "auto", "-p", "go", *more)


def statuses(ran: Ran) -> list[str]:
    return [one["status"] for one in ran.of("tool_result")]


def outputs(ran: Ran) -> list[str]:
    return [one["output"] for one in ran.of("tool_result")]


def test_what_git_makes_outside_the_sandbox_stays_though_programs_run_beside_it(program: Program) -> None:
    (program.work / "make.py").write_text("import os\nfor name in ('.vscode', 'sub/.git'): os.makedirs(name)\n")
    git(program.work, "add", ".")
    git(program.work, "commit", "-qm", "Second")
    ran = auto(
        program,
        "git config user.name other && python3 make.py",
        "git worktree add -q .trees/topic -b topic && cd .trees/topic && sh -c 'touch b.txt'",
        "git add . && git commit -qm Third",
    )
    assert statuses(ran) == ["success"] * 3, ran.of("tool_result")
    assert outputs(ran)[0].count("made-in-sandbox") == 2, "only what was made inside"
    assert "made" not in "".join(outputs(ran)[1:])
    assert git(program.work, "log", "-1", "--format=%s %an", "topic") == "Third other"
