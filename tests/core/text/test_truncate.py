"""Truncation keeps both ends of a text and says what is missing."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agentcli.core.text.truncate import around, ends_of, head_of, truncate_bytes, truncate_middle
from tests.tables import each_row


@given(st.text(max_size=300), st.integers(0, 200))
def test_a_truncated_text_is_never_longer_than_the_whole_and_a_notice(text: str, longest: int) -> None:
    cut = truncate_middle(text, longest)
    assert len(cut) <= longest + 60 or cut == text
    assert cut.startswith(text[: longest // 2])
    assert not longest // 2 or cut.endswith(text[-(longest // 2) :])


@given(st.text(max_size=200), st.integers(0, 120), st.integers(1, 50))
def test_a_text_in_pieces_is_truncated_like_a_whole_one(text: str, longest: int, size: int) -> None:
    pieces = (text[start : start + size] for start in range(0, len(text), size))
    assert ends_of(pieces, longest) == truncate_middle(text, longest)


def test_the_notice_says_how_much_is_left_out_and_why() -> None:
    assert truncate_middle("a" * 50 + "b" * 50, 6) == "aaa\n[… 94 characters left out …]\nbbb"
    assert truncate_middle("abc", 0, "no room") == "\n[… 3 characters left out: no room …]\n"


@given(st.text(st.characters(codec="utf-8", exclude_characters="["), max_size=200), st.integers(0, 120))
def test_bytes_are_counted_and_no_character_is_split(text: str, size: int) -> None:
    whole = text.encode()
    cut = truncate_bytes(text, size, "left out")
    if len(whole) <= size:
        assert cut == text
        return
    head, tail = (part.encode() for part in cut.split("\n\n[left out]\n\n"))
    assert whole.startswith(head)
    assert whole.endswith(tail)
    assert size - 6 <= len(head) + len(tail) <= size


def test_a_character_that_is_cut_in_two_is_left_out_and_a_wrong_byte_is_marked() -> None:
    assert around("aé".encode()[:-1], "é€b".encode()[1:], "…") == "a\n\n[…]\n\n€b"
    assert around("é€b".encode() + b"\xff", "😀c".encode()[1:], "…") == "é€b\ufffd\n\n[…]\n\nc"


@each_row(
    ("text", "size", "kept"),
    [
        ("abc", 3, "abc"), ("abc", 2, "ab"), ("abc", 0, ""), ("", 0, ""),
        ("aä", 2, "a"), ("aä", 3, "aä"), ("a€b", 3, "a"), ("a€b", 4, "a€"), ("a😀", 4, "a"), ("a😀b", 5, "a😀"), ("😀", 1, ""), ("😀", 3, ""),
    ],
)  # fmt: skip
def test_the_first_bytes_end_with_a_whole_character(text: str, size: int, kept: str) -> None:
    assert head_of(text.encode(), size).decode() == kept


@each_row(
    ("text", "longest", "expected"),
    [
        ("abcdef", 6, "abcdef"),
        ("abcdefg", 6, "abc\n[… 1 characters left out …]\nefg"),
        ("abcdefg", 1, "\n[… 7 characters left out …]\n"),
        ("abcdefg", 2, "a\n[… 5 characters left out: it is long …]\ng"),
    ],
)
def test_a_text_keeps_as_much_of_each_end(text: str, longest: int, expected: str) -> None:
    assert truncate_middle(text, longest, "it is long" if longest == 2 else "") == expected


@each_row(
    ("data", "size", "kept"),
    [(b"\x80" * 10, 5, 2), (b"\x80" * 10, 3, 0), (b"\x80" * 10, 2, 0), (b"\x80" * 10, 1, 0), (b"\x80" * 5, 5, 5), (b"a\xc0\x80", 2, 1)],
)  # fmt: skip
def test_bytes_that_are_no_text_lose_three_at_most(data: bytes, size: int, kept: int) -> None:
    assert head_of(data, size) == data[:kept]
