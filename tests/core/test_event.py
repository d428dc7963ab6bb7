"""Words of events."""

from __future__ import annotations

from agentcli.core.event import Retrying, seconds_left
from tests.tables import each_row


@each_row(
    ("seconds", "words"),
    [(0, "1 s"), (0.2, "1 s"), (2.1, "3 s"), (60, "1 min"), (60.5, "1 min 1 s"), (125, "2 min 5 s"), (3_600, "60 min")],
)
def test_a_wait_is_told_in_minutes_and_seconds_rounded_up(seconds: float, words: str) -> None:
    assert seconds_left(seconds) == words


def test_a_repeated_request_is_told_with_the_wait_that_is_left() -> None:
    event = Retrying(2, 5.0, "overloaded")
    assert event.text() == "overloaded. Retrying in 5 s (attempt 2)"
    assert event.text(0.5) == "overloaded. Retrying in 1 s (attempt 2)"
