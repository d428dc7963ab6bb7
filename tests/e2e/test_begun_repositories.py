"""Repositories that a session begins in mode auto, with real git and the real sandbox."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentcli.permissions.sandbox import detect
from tests.e2e.program import Program
from tests.e2e.test_own_work_trees import auto, git, outputs, statuses

pytestmark = pytest.mark.skipif(detect().kind != "bubblewrap", reason="bubblewrap does not work here")
EVIL = """import os, pathlib
for git in pathlib.Path('.').rglob('.git'):
    for name in ('hooks/pre-commit', 'config', 'info/x'):
        try:
            (git / name).write_text('[core]\\n\\tfsmonitor = touch /tmp/ran\\n')
        except OSError as error:
            print('refused', git / name)
"""


@pytest.fixture
def program() -> Iterator[Program]:
    """The program in a folder without a repository, which is not below /tmp."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        made = Program(Path(folder).resolve())
        (made.work / "a.txt").write_text("a\n")
        (made.work / "evil.py").write_text(EVIL)
        (made.base / "home").mkdir(exist_ok=True)
        yield made


NAMES = "git config user.name a && git config user.email a@b"
AS = "-c user.name='A B' -c user.email=a@b"


def test_a_repository_is_begun_and_recorded_in_and_its_settings_are_closed_from_then_on(program: Program) -> None:
    ran = auto(
        program,
        f"git init -q -b trunk && {NAMES} && git add -A && git commit -qm 'First one' && git branch -M main",
        "python3 evil.py",
        "echo b > b.txt && git add b.txt && git commit -qm Second",
        "git init",
        "git branch -m topic && git status --short",
        f"git init -q sub && cd sub && touch c.txt && git add c.txt && git {AS} commit -qm Inner",
        "cd .. && python3 evil.py",
    )
    assert statuses(ran) == ["success"] * 7, outputs(ran)
    assert "protected" not in "".join(outputs(ran))
    assert [output.count("refused") for output in outputs(ran)] == [0, 3, 0, 0, 0, 0, 6]
    assert git(program.work, "log", "--format=%s", "topic").split("\n") == ["Second", "First one"]
    assert git(program.work / "sub", "log", "--format=%s") == "Inner"


AFTER = "git init -q && git add a.txt"


def test_git_begins_one_after_a_program_of_the_line_that_made_none(program: Program) -> None:
    ran = auto(program, f"python3 -c 'pass'; {AFTER}")
    assert (statuses(ran), outputs(ran)) == (["success"], ["(no output)"]), ran.of("tool_result")
    assert git(program.work, "diff", "--cached", "--name-only") == "a.txt"


def test_git_begins_none_after_a_program_of_the_line_that_made_one(program: Program) -> None:
    (program.work / "make.py").write_text("import os; os.makedirs('sub/.git/hooks')")
    ran = auto(program, f"python3 make.py; {AFTER}")
    assert statuses(ran) == ["error"], ran.of("tool_result")
    assert "git was not started" in outputs(ran)[0]
    assert "it made protected files: sub/.git" in outputs(ran)[0]
    assert not (program.work / ".git").exists()


def test_a_new_repository_is_told_where_a_program_runs_beside_git_and_its_hooks_ask(program: Program) -> None:
    waits = "import os, time\\nwhile not os.path.exists('.git/config'): time.sleep(0.01)\\nos.open('.git/hooks/pre-commit', os.O_CREAT, 0o755)\\n"
    (program.work / "wait.py").write_text(waits.replace("\\n", "\n"))
    job = {"name": "bash", "input": {"command": "python3 wait.py; sleep 60", "run_in_background": True}}
    until = "until test -e .git/hooks/pre-commit; do sleep 0.1; done"
    ran = auto(program, job, "git init -q", until, "git add a.txt", "git commit -qm x")
    assert statuses(ran) == ["success"] * 4 + ["denied"], outputs(ran)
    assert "it made protected files: .git." in outputs(ran)[1]
