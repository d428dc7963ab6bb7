"""A line by which git records and other programs run: each part in its box, and together one call."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from agentcli.permissions.sandbox import detect
from tests.e2e.program import Program
from tests.permissions.sandbox.test_launch import ran, sh
from tests.processes import living

pytestmark = pytest.mark.skipif(detect().kind != "bubblewrap", reason="bubblewrap does not work here")

CODE = """
import os, pathlib, sys
def tried(path):
    try:
        with open(path, "a"): return "open"
    except OSError: return "closed"
held = [fd for fd in os.listdir("/proc/self/fd") if int(fd) > 2 and os.path.exists(f"/proc/self/fd/{fd}")]
print(tried(".git/HEAD"), tried(".git/config"), sorted(held), os.environ.get("GIT_CONFIG_KEY_4", "plain"))
"""


@pytest.fixture
def repository(program: Program) -> Path:
    for words in (["init", "-qb", "main"], ["config", "user.name", "a"], ["config", "user.email", "a@b.c"]):
        subprocess.run(["git", *words], cwd=program.work, check=True)
    (program.work / "look.py").write_text(CODE)
    return program.work


def log(folder: Path) -> list[str]:
    shown = subprocess.run(["git", "log", "--format=%s"], cwd=folder, capture_output=True, text=True, check=False)
    return shown.stdout.split()


@pytest.mark.full
def test_a_part_that_runs_code_sees_a_closed_repository_before_and_after_git(
    program: Program, repository: Path
) -> None:
    look = "python3 look.py"
    [(status, output)] = ran(
        program, [sh(f"{look} && git add -A && git commit -qm one && {look}; git log --format=%s")]
    )
    assert (status, output.split("\n")) == ("success", ["closed closed [] plain"] * 2 + ["one", ""])
    assert log(repository) == ["one"]


def test_exit_code_output_and_operators_are_those_of_one_line(program: Program, repository: Path) -> None:
    (repository / "sub").mkdir()
    results = ran(
        program,
        [
            sh("git add -A && python3 -c 'raise SystemExit(3)' && git commit -qm never"),
            sh("python3 -c 'raise SystemExit(1)' || git commit -qm two; ./none.sh || echo last > out.txt"),
            sh("cd sub && git add -A && python3 -c 'import os; print(os.getcwd())'"),
        ],
    )
    assert results[0] == ("error", "[exit code 3]")
    assert results[1][0] == "success", results[1][1]
    assert "none.sh: No such file" in results[1][1]
    assert (log(repository), (repository / "out.txt").read_text()) == (["two"], "last\n")
    assert results[2][1].startswith(f"{repository / 'sub'}\n")


@pytest.mark.parametrize(
    "makes",
    [
        "os.makedirs('x/.git')",
        "os.makedirs('y/z'); os.symlink('z', 'y/.git')",
        "os.makedirs('.husky/a'); os.rename('.husky/a', 'b'); os.mkdir('b/.git')",
    ],
)
def test_git_is_not_started_after_code_that_made_a_repository(program: Program, repository: Path, makes: str) -> None:
    (repository / "make.py").write_text(f"import os\n{makes}\n")
    [(status, output)] = ran(program, [sh("python3 make.py; git add -A && git commit -qm one")])
    assert status == "error"
    assert "git was not started: a part before it made a repository in the workspace" in output
    assert log(repository) == []


@pytest.mark.full
def test_what_one_part_leaves_running_ends_before_the_next(program: Program, repository: Path) -> None:
    (repository / "leave.py").write_text(
        "import subprocess, time, sys\n"
        'late = \'import time; time.sleep(1.5); open("late", "w"); open(".git/late", "w")\'\n'
        "subprocess.Popen([sys.executable, '-c', late], start_new_session=True)\n"
    )
    results = ran(program, [sh("python3 leave.py && git add -A && git commit -qm one && sleep 2")])
    assert results[0][0] == "success"
    assert not (repository / "late").exists()
    assert not (repository / ".git/late").exists()


def test_a_line_in_parts_obeys_its_timeout_and_leaves_nothing(program: Program, repository: Path) -> None:
    (repository / "wait.py").write_text("import time\ntime.sleep(4321)\n")
    [(status, output)] = ran(program, [sh("git add -A && python3 wait.py 4321; git commit -qm one", timeout=1)])
    assert status == "success", output
    assert "still running after 1 s, as job-1" in output
    assert log(repository) == []
    assert living("wait.py 4321") == []


@pytest.mark.full
def test_a_line_in_parts_may_run_in_the_background(program: Program, repository: Path) -> None:
    wait = ("bash_output", {"id": "job-1", "wait": 20})
    results = ran(program, [sh("git add -A && python3 look.py", run_in_background=True), wait])
    assert results[0][0] == "success"
    assert "closed closed [] plain" in results[1][1]
