"""The lines of a snapshot that the ledger writes, and how many there are at most."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agentcli.context.compaction_settings import SnapshotSettings
from agentcli.context.ledger.ledger import CommandFact, FileFact, Ledger, TestFact
from agentcli.context.snapshot.form import Snapshot
from agentcli.context.snapshot.reconcile import from_ledger, ledger_lines, merged
from agentcli.core.record import TodoItem, VerbatimText
from tests.tables import each_row

SETTINGS = SnapshotSettings()


def made(ledger: Ledger, settings: SnapshotSettings = SETTINGS) -> Snapshot:
    return from_ledger(ledger, None, "goal", settings)


@each_row(("most", "left"), [(0, ()), (1, ("c",)), (2, ("b", "c")), (3, ("a", "b", "c")), (9, ("a", "b", "c"))])
def test_the_newest_unverified_sentences_stay_as_far_as_is_set(most: int, left: tuple[str, ...]) -> None:
    former, new = Snapshot("g", unverified=("a", "b")), Snapshot("g", unverified=("b", "c"))
    assert merged(new, former, Ledger(), replace(SETTINGS, unverified=most)).unverified == left
    assert merged(new, None, Ledger(), replace(SETTINGS, unverified=9)).unverified == ("b", "c")


@each_row(
    ("fact", "line"),
    [
        (FileFact("/w/a.py", reads=1), "READ: `a.py`"),
        (FileFact("/w/a.py", reads=1, lines=1, last=3), "READ: `a.py` (1 lines) [#3]"),
        (FileFact("/x/a.py", edits=1, additions=1), "MODIFIED: `/x/a.py` (+1 -0)"),
        (FileFact("/w/a.py", edits=1, deletions=1, lines=9), "MODIFIED: `a.py` (+0 -1, 9 lines)"),
        (FileFact("/w/a.py", created=True, lines=9), "CREATED: `a.py` (9 lines)"),
        (FileFact("/w/a.py", deleted=True, lines=9), "DELETED: `a.py`"),
        (FileFact("/w/a.py", deleted=True, additions=2, lines=9), "DELETED: `a.py` (+2 -0)"),
    ],
)
def test_a_file_is_told_with_its_figures(fact: FileFact, line: str) -> None:
    assert made(Ledger(files=(fact,), cwd="/w")).files == ("CWD: `/w`", line)
    assert made(Ledger(files=(replace(fact, path="a.py"),))).files[0].startswith(fact.state)


@each_row(
    ("fact", "line"),
    [
        (CommandFact("make"), "`make` → success"),
        (CommandFact("make", exit_code=0, runs=2), "`make` → exit 0 (2 runs)"),
        (CommandFact("make", "error", 2, outcome="boom", last=4), "`make` → exit 2: boom [#4]"),
        (CommandFact("cd /w && make"), "`make` → success"),
        (CommandFact("cd /w/ && make"), "`make` → success"),
        (CommandFact("cd /x && make"), "`cd /x && make` → success"),
        (CommandFact("a\n  `b`"), "`a 'b'` → success"),
    ],
)
def test_a_command_is_told_with_its_end(fact: CommandFact, line: str) -> None:
    assert made(Ledger(commands=(fact,), cwd="/w")).actions == (line,)


def paths(*names: str) -> tuple[FileFact, ...]:
    return tuple(FileFact(name, reads=1) for name in names)


@each_row(
    ("files", "cwd", "lines"),
    [
        (paths("a.py", "b.py"), "", ["More in `./`: 2 READ; recall names them"]),
        (paths("a/b/c/d.py", "a/b/e.py"), "", ["More in `a/b/`: 2 READ; recall names them"]),
        (paths("a/b.py"), "", ["More in `a/`: 1 READ; recall names them"]),
        (paths("/a/b/c/d.py"), "", ["More in `/a/b/`: 1 READ; recall names them"]),
        (paths("/w/a/b.py"), "/w", ["CWD: `/w`", "More in `a/`: 1 READ; recall names them"]),
        (paths("a/x.py", "b/x.py", "c/x.py", "c/y.py"), "", ["More in `c/`: 2 READ; recall names them", "More in `b/`: 1 READ; recall names them", "(1 older items left out; recall reaches them)"]),
        ((*paths("a/x.py"), FileFact("a/y.py", edits=1), *paths("a/z.py")), "", ["More in `a/`: 2 READ, 1 MODIFIED; recall names them"]),
    ],
)  # fmt: skip
def test_files_that_are_not_listed_are_counted_by_their_first_two_folders(
    files: tuple[FileFact, ...], cwd: str, lines: list[str]
) -> None:
    none = replace(SETTINGS, files_read=0, files_changed=0, folders=2)
    assert list(made(Ledger(files=files, cwd=cwd), none).files) == lines


def test_the_newest_changed_files_and_commands_are_listed_up_to_their_number() -> None:
    files = tuple(FileFact(f"f{n}", edits=1, last=n) for n in (1, 2, 3))
    shown = made(Ledger(files=files), replace(SETTINGS, files_changed=2, folders=0)).files
    assert shown == ("MODIFIED: `f3` [#3]", "MODIFIED: `f2` [#2]", "(1 older items left out; recall reaches them)")
    commands = tuple(CommandFact(name, last=n) for n, name in enumerate(("make a", "ls a", "make b", "ls b"), 1))
    few = made(Ledger(commands=commands), replace(SETTINGS, commands=2, lookups=1)).actions
    assert few == ("`make b` → success [#3]", "`ls b` → success [#4]")
    none = made(Ledger(commands=commands), replace(SETTINGS, lookups=0)).actions
    assert none == ("`make a` → success [#1]", "`make b` → success [#3]")


def test_read_files_are_chosen_by_what_is_said_of_them_and_by_what_lies_beside_them() -> None:
    files = (
        FileFact("x/old.py", reads=1),
        FileFact("x/often.py", reads=4),
        FileFact("y/changed.py", edits=1),
        FileFact("y/beside.py", reads=1),
        FileFact("x/named.py", reads=1),
        FileFact("x/new.py", reads=1),
    )
    ledger = Ledger(files=files, reports=(VerbatimText(9, 1, "I looked at named.py."),))

    def shown(most: int) -> list[str]:
        lines = made(ledger, replace(SETTINGS, files_read=most, folders=0)).files
        return [line.split("`")[1] for line in lines if line.startswith("READ")]

    assert shown(1) == ["x/named.py"]
    assert shown(5) == ["x/new.py", "x/named.py", "y/beside.py", "x/often.py", "x/old.py"]
    assert "x/old.py" not in shown(4)


@pytest.mark.parametrize(
    ("tests", "line"),
    [
        (TestFact("pytest", False, "1 passed"), "Last test run: `pytest` passed: 1 passed"),
        (TestFact("pytest", True, "2 failed", ("a", "b")), "Last test run: `pytest` failed: 2 failed; failing: a, b"),
    ],
)
def test_the_newest_tests_come_last(tests: TestFact, line: str) -> None:
    ledger = Ledger(commands=(CommandFact("make", last=9),), tests=tests)
    assert made(ledger).actions == ("`make` → success [#9]", line)
    assert list(ledger_lines(ledger))[-1] == line


def test_the_plan_is_the_todo_list_and_then_the_other_steps() -> None:
    todo = (
        TodoItem("write it", "completed", "x"),
        TodoItem("test the parser now", "in_progress", "x"),
        TodoItem("ship", "pending", "x"),
    )
    new = Snapshot("g", plan=("[DONE] Write it.", "Test the parser.", "Tell them", "[IN PROGRESS] Wait"))
    assert merged(new, None, Ledger(todo=todo), SETTINGS).plan == (
        "[DONE] write it",
        "[IN PROGRESS] test the parser now",
        "[TODO] ship",
        "[TODO] Tell them",
        "[IN PROGRESS] Wait",
    )
    former = Snapshot("old", plan=("[TODO] Old",))
    kept = merged(Snapshot(), former, Ledger(), SETTINGS)
    assert (kept.goal, kept.plan) == ("old", ("[TODO] Old",))


def test_reports_of_the_model_are_told_without_a_summary() -> None:
    ledger = Ledger(
        reports=(VerbatimText(3, 2, "Done."),), commands=(CommandFact("make", last=5), CommandFact("tox", last=1))
    )
    assert made(ledger).actions == (
        "`tox` → success [#1]",
        "(turn 2) the assistant said: Done. [#3]",
        "`make` → success [#5]",
    )
    again = from_ledger(ledger, made(ledger), "other", SETTINGS)
    assert (again.actions, again.goal) == (made(ledger).actions, "goal")
