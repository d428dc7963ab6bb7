"""Counts with their nouns."""

from __future__ import annotations

from agentcli.core.text.plural import plural
from tests.tables import each_row


@each_row(
    ("count", "noun", "expected"),
    [
        (0, "line", "0 lines"),
        (1, "line", "1 line"),
        (2_000, "matching line", "2,000 matching lines"),
        (3, "process", "3 processes"),
        (4, "match", "4 matches"),
        (5, "entry", "5 entries"),
    ],
)
def test_a_noun_has_the_form_that_its_count_asks_for(count: int, noun: str, expected: str) -> None:
    assert plural(count, noun) == expected
