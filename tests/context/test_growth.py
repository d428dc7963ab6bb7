"""What is kept from one request to the next gives the same as if it were made anew, whatever happens to the session between them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from agentcli.context.tokens.calibration import calibrate
from agentcli.context.tokens.counter import TokenCounter
from agentcli.context.view import grown, view
from agentcli.core.history import History, NeedsReplay, evolve, fold
from agentcli.core.record import Record
from tests.context.made import prompt
from tests.context.transcripts import Session, sessions

LOOKS = st.lists(st.booleans(), min_size=60, max_size=60)


def live(records: Sequence[Record]) -> Iterator[History]:
    """The history after each record, as an open session has it."""
    history = History()
    for count, record in enumerate(records, 1):
        try:
            history = evolve(history, record)
        except NeedsReplay:
            history = fold(records[:count])
        yield history


@settings(max_examples=100, deadline=None)
@given(sessions(), LOOKS)
def test_a_view_that_grew_is_the_view_of_the_whole(session: Session, looks: list[bool]) -> None:
    former = History()
    seen = view(former)
    for history, looked in zip(live(session.records), looks * 9, strict=False):
        if looked:
            seen, former = grown(history, former, seen), history
            assert seen == view(history)


@settings(max_examples=100, deadline=None)
@given(sessions(), LOOKS)
def test_a_calibration_that_went_on_is_that_of_the_whole(session: Session, looks: list[bool]) -> None:
    counter, learned = TokenCounter(), None
    for history, looked in zip(live(session.records), looks * 9, strict=False):
        if looked:
            learned = calibrate(history, counter._added, learned)
            assert learned == calibrate(history, counter._added)


def test_a_view_without_new_records_stays_the_same_object() -> None:
    history = next(live([Record(1, "r1", "2026-01-01T00:00:01Z", "", prompt("hi"))]))
    seen = view(history)
    assert grown(history, history, seen) is seen
