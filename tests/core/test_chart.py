"""Numbers as bars of text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agentcli.core.chart import bars


def test_the_largest_is_as_long_as_there_is_room_and_the_others_in_proportion() -> None:
    assert bars([8, 4, 1, 0], 4) == ["████", "██  ", "▌   ", "    "]


def test_whatever_is_more_than_nothing_can_be_seen() -> None:
    assert bars([1_000_000, 1], 10)[1].strip()


@given(st.lists(st.floats(0, 1e12)), st.integers(1, 60))
def test_every_bar_has_the_same_width(values: list[float], width: int) -> None:
    assert all(len(bar) == width for bar in bars(values, width))
