"""The options of a slash command come first, then its text."""

from __future__ import annotations

import pytest

from agentcli.core.errors import UsageError
from agentcli.core.text.options import Parsed, count, dollars, duration, parse
from tests.tables import each_row

VALUES = {"check": "'pytest -q'", "turns": "N"}


@each_row(
    ("argument", "options", "text"),
    [
        ("all tests pass", {}, "all tests pass"),
        ("--check 'pytest -q' all pass", {"check": "pytest -q"}, "all pass"),
        ('--turns=3 --check "a \\"b\\" c" x -- y', {"turns": "3", "check": 'a "b" c'}, "x -- y"),
        ("--wait --turns 3\n two\nlines", {"wait": "yes", "turns": "3"}, "two\nlines"),
        ("it's done --turns 3", {}, "it's done --turns 3"),
    ],
)
def test_options_are_read_up_to_the_text(argument: str, options: dict[str, str], text: str) -> None:
    assert parse(argument, VALUES, ("wait",)) == Parsed(options, text)


@pytest.mark.parametrize(("argument", "why"), [("--chek x y", "Unknown option --chek"), ("--turns", "needs a value")])
def test_an_option_that_says_nothing_is_refused(argument: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        parse(argument, VALUES)


@each_row(("given", "seconds"), [("90s", 90), ("5m", 300), ("5", 300), ("1h30m", 5400), ("0.5h", 1800)])
def test_a_time_has_a_unit_or_is_in_minutes(given: str, seconds: float) -> None:
    assert duration(given, "--time") == seconds


@each_row("given", ["", "soon", "5x", "-5m", "0s", "5m x", "9999999d"])
def test_what_is_no_time_is_refused(given: str) -> None:
    with pytest.raises(UsageError, match="--time takes a time"):
        duration(given, "--time")


def test_numbers_and_amounts_are_checked() -> None:
    assert (count({"turns": "7"}, "turns", 1), count({}, "turns", 1)) == (7, 1)
    assert (dollars({"cost": "$2.50"}, "cost", None), dollars({}, "cost", None)) == (2.5, None)
    for wrong in ("0", "-1", "x", "1.5"):
        with pytest.raises(UsageError, match="--turns takes a whole number"):
            count({"turns": wrong}, "turns", 1)
    with pytest.raises(UsageError, match="--cost takes an amount"):
        dollars({"cost": "nan"}, "cost", None)


@each_row(
    ("given", "seconds"),
    [("0.1s", 0.1), ("1d", 86_400), ("365d23h", 365 * 86_400 + 23 * 3_600), ("1m30", 60 + 30 * 60)],
)
def test_a_time_lies_between_a_moment_and_a_year(given: str, seconds: float) -> None:
    assert duration(given, "--time") == pytest.approx(seconds)


@each_row(
    ("given", "why"),
    [
        ("366d", "--time takes a time between a second and a year, not '366d'."),
        ("0m", "--time takes a time between a second and a year, not '0m'."),
        ("soon", "--time takes a time such as 90s, 5m, 2h or 1h30m, not 'soon'."),
        ("5m ", "--time takes a time such as 90s, 5m, 2h or 1h30m, not '5m '."),
    ],
)
def test_a_time_that_is_refused_is_told_with_an_example(given: str, why: str) -> None:
    with pytest.raises(UsageError) as refused:
        duration(given, "--time")
    assert str(refused.value) == why


@pytest.mark.parametrize(
    ("argument", "why"),
    [
        ("--turns", "--turns needs a value: --turns N. Use /goal."),
        ("--check", "--check needs a value: --check 'pytest -q'. Use /goal."),
        ("--chek x", "Unknown option --chek. Did you mean --check? Use /goal."),
        ("--until x", "Unknown option --until. Use one of: --check, --turns, --wait. Use /goal."),
    ],
)
def test_an_option_that_is_refused_is_told_with_what_there_is(argument: str, why: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse(argument, VALUES, ("wait",), "Use /goal.")
    assert str(refused.value) == why


@each_row(
    ("argument", "options", "text"),
    [
        ("--wait", {"wait": "yes"}, ""),
        ("--wait=no", {"wait": "yes"}, "=no"),
        ("--turns ''", {"turns": ""}, ""),
        ('--turns ""x', {"turns": ""}, "x"),
        ("--turns it's", {"turns": "it's"}, ""),
        ("--turns \n3 x", {"turns": "3"}, "x"),
        ("-- x", {}, "-- x"),
        ("--turns 1 --turns 2", {"turns": "2"}, ""),
    ],
)
def test_a_value_is_a_word_or_a_quoted_text(argument: str, options: dict[str, str], text: str) -> None:
    assert parse(argument, VALUES, ("wait",)) == Parsed(options, text)


def test_a_number_from_one_on_and_an_amount_from_nothing_on_are_taken() -> None:
    assert (count({"turns": "1"}, "turns", 5), dollars({"cost": "0"}, "cost", 1.0)) == (1, 0.0)
    assert dollars({}, "cost", 1.0) == 1.0
    for wrong in ("", "-1", "1.", "$", "1$"):
        with pytest.raises(UsageError, match=r"--cost takes an amount in USD such as 2.50, not "):
            dollars({"cost": wrong}, "cost", None)
    for wrong in ("²", "", "0", "9" * 5_000):
        with pytest.raises(UsageError, match=r"--turns takes a whole number from 1 on, not "):
            count({"turns": wrong}, "turns", 1)
