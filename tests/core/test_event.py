"""Words of events."""

from __future__ import annotations

import pytest

from agentcli.core.event import seconds_left


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "1 s"), (0.2, "1 s"), (2.1, "3 s"), (60, "1 min"), (60.5, "1 min 1 s"), (125, "2 min 5 s"), (3_600, "60 min")],
)
def test_a_wait_is_told_in_minutes_and_seconds_rounded_up(seconds: float, words: str) -> None:
    assert seconds_left(seconds) == words
