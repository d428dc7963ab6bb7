"""Our own set of tasks: the check of each passes with the right solution, and with nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from agentcli import manual
from agentcli.core.errors import InputError
from agentcli.extras.bench.task_file import OWN, TaskFile, encoded, make_repository, read, read_set
from tests.bench.solutions import FOLDER, solutions, solve
from tests.tables import each_row

TASKS = {task.id: task for task in read_set(OWN)}
CASES = [
    pytest.param(id, name, marks=marks)
    for place, id in enumerate(TASKS)
    for number, name in enumerate(("", *solutions(id)))
    for marks in (
        [pytest.mark.slow] if number > 1 or not (place + number) % 2 else [pytest.mark.full] if place > 3 else [],
    )
]
"""The untouched tree, or the right solution, of each task, of the first four in every run; all others with the slow tests."""


def tree_of(task: TaskFile, folder: Path) -> Path:
    """A tree as an agent finds it."""
    make_repository(task, folder)
    if task.setup:
        subprocess.run(["/bin/sh", "-c", task.setup], cwd=folder, check=True, capture_output=True)
    return folder


def checked(task: TaskFile, tree: Path) -> tuple[int, str]:
    command = [sys.executable, "-I", "-m", "agentcli.extras.bench.check"]
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True, input=encoded(task))
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(("id", "name"), CASES, ids=lambda text: text or "untouched")
def test_a_check_passes_with_the_right_solution_and_refuses_what_is_wrong(id: str, name: str, tmp_path: Path) -> None:
    tree = tree_of(TASKS[id], tmp_path / "tree")
    if name:
        solve(id, name, tree)
    code, said = checked(TASKS[id], tree)
    # A check that breaks is no refusal.
    assert (code, said.split(":")[0].strip()) == ((0, "solved") if name == "right" else (1, "refused")), said


def test_there_are_twenty_tasks_of_as_many_kinds_each_with_at_least_three_wrong_solutions() -> None:
    assert len(TASKS) == len({task.kind for task in TASKS.values()}) == 20
    assert {path.stem for path in FOLDER.glob("*.txt")} == set(TASKS)
    assert all(len(solutions(id)) >= 4 for id in TASKS)


@each_row("id", TASKS)
def test_neither_the_prompt_nor_the_repository_has_a_hidden_file(id: str, tmp_path: Path) -> None:
    task = TASKS[id]
    make_repository(task, tmp_path)
    shown = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file() and ".git" not in path.parts]
    for text in task.under("hidden").values():
        assert all(text.encode() not in each for each in shown)
        assert text not in task.prompt


def test_code_that_ends_the_program_or_prints_answers_does_not_pass(tmp_path: Path) -> None:
    task = TASKS["implement-spec"]
    for number, code in enumerate(
        ("import os; os._exit(0)", "print('[]'); raise SystemExit(0)", "while True: print(1); break")
    ):
        tree = tree_of(task, tmp_path / str(number))
        (tree / "duration.py").write_text(code)
        assert checked(task, tree)[0] == 1
    tree = tree_of(task, tmp_path / "shadow")
    (tree / "agentcli").mkdir()
    (tree / "agentcli" / "__init__.py").write_text("import os; os._exit(0)")
    assert checked(task, tree)[0] == 1


SPY = """
import glob, os
names = [name for top, _, names in os.walk("../..") for name in (os.path.join(top, each) for each in names)]
for name in [*names, *glob.glob("/proc/[0-9]*/cmdline")]:
    try:
        text = open(name, errors="replace").read()
    except OSError:
        continue
    if "78" "8645" in text:
        raise SystemExit("found")
def seconds(text):
    return 0
"""


def test_code_that_a_check_runs_finds_no_expected_value(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task = TASKS["implement-spec"]
    assert "788645" in task.parts["hidden/check.py"]
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    tree = tree_of(task, tmp_path / "tree")
    (tree / "duration.py").write_text(SPY)
    code, said = checked(task, tree)
    assert (code, "the code does not run" in said) == (1, False), said
    # The same spy finds a value that a file has.
    (tree / "duration.py").write_text(SPY + "# 788645")
    assert "the code does not run" in checked(task, tree)[1]


def link(tree: Path) -> None:
    (tree / "more").symlink_to("/tmp")


def replaced_by_link(tree: Path) -> None:
    (tree / "plan.py").rename(tree / ".git" / "plan.py")
    (tree / "plan.py").symlink_to(".git/plan.py")


def pipe(tree: Path) -> None:
    os.mkfifo(tree / "pipe")


@pytest.mark.parametrize("change", [link, replaced_by_link, pipe])
def test_links_and_files_that_cannot_be_copied_are_refused(change: Callable[[Path], None], tmp_path: Path) -> None:
    task = TASKS["question-changes-nothing"]
    tree = tree_of(task, tmp_path / "tree")
    solve(task.id, "right", tree)
    assert checked(task, tree)[0] == 0
    change(tree)
    code, said = checked(task, tree)
    assert (code, said.split(":")[0]) == (1, "refused"), said


def test_the_task_of_the_manual_is_a_task(tmp_path: Path) -> None:
    source = manual.page("bench").partition("## Your own tasks")[2]
    block = source[source.index("    kind = ") : source.index("| key or part")]
    (tmp_path / "sum.txt").write_text(textwrap.dedent(block))
    task = read(tmp_path / "sum.txt")
    tree = tree_of(task, tmp_path / "tree")
    assert checked(task, tree) == (1, "refused: there is no file ANSWER.txt\n")
    (tree / "ANSWER.txt").write_text("11\n")
    assert checked(task, tree) == (0, "solved\n")


@each_row(
    ("text", "words"),
    [
        ("x = 1\n-- prompt --\na\n-- hidden/check.py --\n", "unknown key 'x'"),
        ("-- prompt --\na\n", "has no part 'hidden/check.py'"),
        ("-- prompt --\na\n-- hidden/check.py --\n-- files/../../x --\n", "lies outside"),
        ("kind = \n-- prompt --\na\n", "Can't read the task"),
    ],
)
def test_a_wrong_file_is_refused(text: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text(text)
    with pytest.raises(InputError, match=words):
        read(tmp_path / "t.txt")
