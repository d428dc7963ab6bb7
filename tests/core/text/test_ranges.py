"""The numbers that a setting may take."""

from __future__ import annotations

from typing import Any, get_args

from agentcli.core.text import ranges
from agentcli.core.text.ranges import NOT_NEGATIVE, Range
from tests.tables import each_row


@each_row(
    ("allowed", "inside", "outside", "words"),
    [
        (NOT_NEGATIVE, (0, 1, 1e9), (-1, -0.1), "0 or more"),
        (Range(1), (1, 2), (0, 0.5), "1 or more"),
        (Range(0, 1), (0, 0.5, 1), (-0.01, 1.01), "from 0 to 1"),
        (Range(0, 1, between=True), (0.01, 0.99), (0, 1, -1, 2), "between 0 and 1"),
    ],
)
def test_a_number_is_allowed_in_its_range_alone(
    allowed: Range, inside: tuple[float, ...], outside: tuple[float, ...], words: str
) -> None:
    assert all(number in allowed for number in inside)
    assert not any(number in allowed for number in outside)
    assert str(allowed) == words


@each_row(
    ("name", "of", "words", "unit"),
    [
        ("Share", float, "from 0 to 1", ""),
        ("Part", float, "between 0 and 1", ""),
        ("Positive", int, "1 or more", ""),
        ("Tokens", int, "0 or more", "tokens"),
        ("Bytes", int, "0 or more", "bytes"),
        ("Lines", int, "0 or more", "lines"),
        ("Messages", int, "0 or more", "messages"),
        ("Calls", int, "0 or more", "calls"),
        ("Requests", int, "0 or more", "requests"),
        ("Turns", int, "0 or more", "turns"),
        ("Sessions", int, "0 or more", "sessions"),
        ("Seconds", float, "from 0 to 1e+09", "seconds"),
        ("Days", float, "from 0 to 1e+06", "days"),
        ("Dollars", float, "0 or more", "USD"),
    ],
)
def test_each_kind_of_number_has_its_range_and_unit(name: str, of: Any, words: str, unit: str) -> None:
    kind, allowed = get_args(getattr(ranges, name))
    assert (kind, str(allowed), allowed.unit) == (of, words, unit)
