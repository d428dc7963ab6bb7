"""Truncation keeps both ends of a text and says what is missing."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agentcli.context.truncate import truncate_middle


@given(st.text(max_size=300), st.integers(0, 200))
def test_a_truncated_text_is_never_longer_than_the_whole_and_a_notice(text: str, longest: int) -> None:
    cut = truncate_middle(text, longest)
    assert len(cut) <= longest + 60 or cut == text
    assert cut.startswith(text[: longest // 2])
    assert not longest // 2 or cut.endswith(text[-(longest // 2) :])


def test_the_notice_says_how_much_is_left_out_and_why() -> None:
    assert truncate_middle("a" * 50 + "b" * 50, 6) == "aaa\n[… 94 characters left out …]\nbbb"
    assert truncate_middle("abc", 0, "no room") == "\n[… 3 characters left out: no room …]\n"
