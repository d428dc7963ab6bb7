"""Tests that fail stand until they pass, and outcomes say something."""

from __future__ import annotations

import pytest

from agentcli.context.ledger.command_results import outcome, stops_early, tries
from agentcli.context.ledger.ledger import Ledger
from tests.context.folding import folded
from tests.context.story import Story


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


@pytest.mark.parametrize(
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
    ],
)
def test_a_run_tries_what_its_command_names(command: str, test: str, tried: bool) -> None:
    assert tries(command, test) is tried


@pytest.mark.parametrize(
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
