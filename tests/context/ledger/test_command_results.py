"""Tests that fail stand until they pass, and outcomes say something."""

from __future__ import annotations

from agentcli.context.ledger.command_results import (
    is_test_run,
    outcome,
    read_tests,
    stops_early,
    summary_of,
    tries,
)
from agentcli.context.ledger.ledger import Ledger
from tests.context.folding import folded
from tests.context.story import Story
from tests.tables import each_row


def failing(*runs: tuple[str, str, int]) -> tuple[str, ...]:
    story = Story()
    story.user("go")
    for command, output, code in runs:
        story.runs(command, output, code)
    tests = folded(Ledger(), story.records).tests
    assert tests is not None
    return tests.failing


TWO = ("pytest -q", "FAILED tests/test_a.py::test_x - boom\nFAILED tests/test_b.py::test_y - bang\n2 failed in 0.1s", 1)


def test_a_failing_test_stands_until_a_run_that_tries_it_passes() -> None:
    assert failing(TWO, ("pytest tests/test_a.py", "1 passed in 0.1s", 0)) == ("tests/test_b.py::test_y - bang",)
    assert failing(TWO, ("pytest -q", "2 passed in 0.1s", 0)) == ()
    assert failing(TWO, ("pytest tests/test_c.py", "9 passed in 0.1s", 0)) == failing(TWO)


def test_a_run_that_ends_at_its_first_failure_has_not_tried_the_rest() -> None:
    first = ("pytest -x", "FAILED tests/test_a.py::test_x - boom\n1 failed in 0.1s", 1)
    assert failing(TWO, first) == ("tests/test_a.py::test_x - boom", "tests/test_b.py::test_y - bang")
    assert stops_early("npx jest --bail")
    assert not stops_early("pytest -xdist")


@each_row(
    ("command", "test", "tried"),
    [
        ("pytest", "tests/test_a.py::test_x", True),
        ("pytest tests/", "tests/test_a.py::test_x", True),
        ("pytest tests/test_a.py::test_x -q", "tests/test_a.py::test_x", True),
        ("pytest /w/tests/test_a.py", "tests/test_a.py::test_x", True),
        ("pytest other/", "tests/test_a.py::test_x", False),
        ("pytest -k test_x", "tests/test_a.py::test_x", True),
        ("pytest -k 'something'", "tests/test_a.py::test_x", False),
        ("cargo test", "lexer::reads", True),
        ("cd web/ && /opt/w/.venv/bin/python -m pytest -q 2>&1 | tail out.txt", "tests/test_a.py::test_x", True),
        ("/opt/w/.venv/bin/python -m pytest -q other/ > all.txt", "tests/test_a.py::test_x", False),
    ],
)
def test_a_run_tries_what_its_command_names(command: str, test: str, tried: bool) -> None:
    assert tries(command, test) is tried


@each_row(
    ("output", "said"),
    [
        ("built 3 files\nWaiting for the debugger to disconnect...", "built 3 files"),
        ("ok 12\nnpm notice New version of npm available", "ok 12"),
        ("Done in 1.2s.", ""),
        ("17", "17"),
    ],
)
def test_an_outcome_that_says_nothing_is_left_out(output: str, said: str) -> None:
    assert outcome(output, False) == said


@each_row(
    ("output", "failed", "said"),
    [
        ("", False, ""),
        ("---\n...", False, ""),
        ("one\n\n  two  \n---\n", False, "two"),
        ("one\n\x1b[31mtwo\x1b[0m", False, "two"),
        ("Error: no\nall done", False, "all done"),
        ("Error: no\nall done", True, "Error: no"),
        ("it failed here\nit failed there\nbye", True, "it failed here"),
        ("x failed\nKeyError: 'a'\nValueError: b\nbye", True, "ValueError: b"),
        ("one\ntwo", True, "two"),
        ("x" * 200, False, "x" * 200),
        ("x" * 201, False, "x" * 199 + "…"),
    ],
)
def test_the_line_that_says_most_is_the_error_of_a_failure_and_else_the_last(
    output: str, failed: bool, said: str
) -> None:
    assert outcome(output, failed) == said


@each_row(
    ("output", "failed", "said"),
    [
        ("built", False, "built"),
        ("2 passed in 0.1s", False, "2 passed in 0.1s"),
        ("2 passed in 0.1s\nbye", False, "bye; 2 passed in 0.1s"),
        ("FAILED a.py::x\n1 failed in 0.1s\nbye", True, "FAILED a.py::x; 1 failed in 0.1s"),
        ("", False, ""),
    ],
)
def test_a_summary_of_an_output_has_the_figures_of_its_tests(output: str, failed: bool, said: str) -> None:
    assert summary_of(output, failed) == said


def test_of_many_figures_the_newest_six_are_kept_and_of_failing_tests_the_first_twelve() -> None:
    figures = read_tests("\n".join(f"{n} passed in 0.{n}s" for n in range(1, 9)))
    assert figures is not None
    assert figures.summary == "; ".join(f"{n} passed in 0.{n}s" for n in range(3, 9))
    many = read_tests("\n".join(f"FAILED t{n}.py::x" for n in range(13)))
    assert many is not None
    assert many.failing == tuple(f"t{n}.py::x" for n in range(12))


@each_row(
    ("output", "failing"),
    [
        ("FAILED a.py::x - boom", ("a.py::x - boom",)),
        ("ERROR a.py", ("a.py",)),
        ("FAIL: test_x (a.B)", ("test_x (a.B)",)),
        ("--- FAIL: TestX (0.00s)", ("TestX (0.00s)",)),
        ("not ok 3 - adds", ("adds",)),
        ("FAILED a.py::x\nFAILED a.py::x", ("a.py::x",)),
        ("FAILED a.py::" + "x" * 300, ("a.py::" + "x" * 193 + "…",)),
    ],
)
def test_failing_tests_are_read_by_name(output: str, failing: tuple[str, ...]) -> None:
    found = read_tests(output)
    assert found is not None
    assert found.failing == failing


@each_row("output", ["", "all good", "  ✕ rule no-unused-vars", "FAILED to connect", "ERROR in main"])
def test_an_output_without_figures_or_failing_tests_is_no_report(output: str) -> None:
    assert read_tests(output) is None


@each_row(
    ("before", "after", "found"),
    [(0, 0, True), (994, 5_000, True), (995, 5_000, False), (5_000, 994, True), (5_000, 995, False), (2_500, 2_500, False)],
)  # fmt: skip
def test_a_runner_is_looked_for_near_both_ends_of_a_command(before: int, after: int, found: bool) -> None:
    assert is_test_run(" " * before + "pytest" + " " * after) is found


@each_row(
    ("command", "early"),
    [
        ("pytest -x", True),
        ("pytest -x -q", True),
        ("pytest --exitfirst", True),
        ("pytest --maxfail=1", True),
        ("jest --bail", True),
        ("jest --bail=2", True),
        ("rspec --fail-fast", True),
        ("go test -failfast", True),
        ("pytest", False),
        ("pytest tests-x", False),
        ("pytest -xv", False),
    ],
)
def test_a_run_may_end_at_its_first_failure(command: str, early: bool) -> None:
    assert stops_early(command) is early


@each_row(
    ("command", "test", "tried"),
    [
        ("pytest -k test", "a.py::test_xyz", True),
        ("pytest -k xy", "a.py::test_xyz", False),
        ("pytest -k 'abc or xyz'", "a.py::test_xyz", True),
        ("pytest -k abc", "a.py::test_xyz", False),
        ("jest -t 'adds two'", "adds two numbers", True),
        ('jest --testNamePattern="adds"', "subtracts", False),
        ("pytest ./tests/a.py", "tests/a.py::x - boom", True),
        ("pytest tests/a.py::x", "tests/a.py::x", True),
        ("pytest tests/a.py::y", "tests/a.py::x", False),
        ("pytest /w/tests/a.py::y", "tests/a.py::x", False),
        ("pytest /w/tests/a.py::x", "tests/a.py::x", True),
        ("pytest tests/a.py::x", "tests/a.py::x[1]", True),
        ("pytest tests/a.py::X", "tests/a.py::X::x", True),
        ("pytest tests/a.py::x", "tests/a.py::xy", False),
        ("pytest a.py", "tests/a.py::x", False),
        ("pytest tests/", "tests_more/a.py::x", False),
        ("pytest ./", "tests/a.py::x", True),
        ("pytest tests/a.py tests/b.py", "tests/b.py::x", True),
        ("pytest --cov=src/ tests/", "tests/b.py::x", True),
    ],
)
def test_words_of_a_command_choose_tests(command: str, test: str, tried: bool) -> None:
    assert tries(command, test) is tried
