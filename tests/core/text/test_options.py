"""The options of a slash command come first, then its text."""

from __future__ import annotations

import pytest

from agentcli.core.errors import UsageError
from agentcli.core.text.options import Parsed, count, dollars, duration, parse

VALUES = {"check": "'pytest -q'", "turns": "N"}


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(("given", "seconds"), [("90s", 90), ("5m", 300), ("5", 300), ("1h30m", 5400), ("0.5h", 1800)])
def test_a_time_has_a_unit_or_is_in_minutes(given: str, seconds: float) -> None:
    assert duration(given, "--time") == seconds


@pytest.mark.parametrize("given", ["", "soon", "5x", "-5m", "0s", "5m x", "9999999d"])
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
