"""The numbers that a setting may take."""

from __future__ import annotations

import pytest

from agentcli.core.text.ranges import NOT_NEGATIVE, Range


@pytest.mark.parametrize(
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
