from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from agentcli.system.cells import NO_LINK, RESET, at_most, before, breaks, chop, clip, hanging, width, wrap

LINK = f"\x1b]8;id=1;https://example.org/\x1b\\\x1b[4mhere{NO_LINK}{RESET}"
LETTERS = st.text(alphabet="ab 日本語。「」😀👩\u200d💻\ufe0f🇩🇪한é\u0301\u05d0", max_size=80)


def test_a_link_takes_the_cells_of_its_words() -> None:
    assert width(f"go {LINK}!") == 8


def test_a_line_that_is_cut_inside_a_link_ends_the_link() -> None:
    cut = clip(f"go {LINK} and on", 6)
    assert width(cut) == 6
    assert cut.endswith(f"he{NO_LINK}…{RESET}")


def test_a_script_without_spaces_is_broken_between_its_letters() -> None:
    assert wrap("see 日本語のテキスト", 10) == ["see 日本語", "のテキスト"]


def test_closing_marks_stay_with_what_they_close() -> None:
    assert wrap("日本語です。次", 10) == ["日本語で", "す。次"]
    assert wrap("日本「語」", 6) == ["日本", "「語」"]


def test_what_is_joined_to_one_letter_is_never_parted() -> None:
    family, flag = "👩\u200d👩\u200d👧", "🇩🇪"
    assert wrap(f"{family}{flag}" * 3, 7) == [family, flag, family, flag, family, flag]
    assert chop("e\u0301" * 4, 2) == ["e\u0301" * 2] * 2


@given(LETTERS, st.integers(8, 30))
def test_rows_fit_whether_or_not_the_terminal_joins_letters(text: str, columns: int) -> None:
    for row in wrap(text, columns):
        assert width(row) <= columns
    places = breaks(text, columns)
    assert all(before[1] <= after[0] for before, after in pairwise(places))
    assert "".join("".join(text[start:end] for start, end in places).split()) == "".join(text.split())


def test_the_widest_a_line_may_be_counts_what_may_not_be_joined() -> None:
    assert at_most("👩\u200d💻") == 4
    assert width("👩\u200d💻") == 2


def test_a_long_line_costs_what_its_length_does() -> None:
    text = "“" * 100_000
    assert sum(end - start for start, end in breaks(text, 80)) == len(text)


def test_a_line_of_a_list_goes_on_below_its_second_column() -> None:
    rows = hanging("glob   Find files by their names", 24)
    assert [row.rstrip() for row in rows] == ["glob   Find files by", "       their names"]
    assert [row.rstrip() for row in hanging("  a word and another", 12)] == ["  a word and", "  another"]
    assert hanging("no gap in this line at all", 12) == wrap("no gap in this line at all", 12)
    assert hanging("short  line", 40) == ["short  line"]


@given(st.text(alphabet="ab ", max_size=60), st.integers(3, 12))
def test_a_long_word_fills_its_rows(text: str, columns: int) -> None:
    rows = [text[start:end] for start, end in breaks(text, columns)]
    assert all(len(row) <= columns for row in rows)
    assert "".join(rows).replace(" ", "") == text.replace(" ", "")


def test_a_word_longer_than_the_row_begins_a_row() -> None:
    assert wrap("x" * 10, 5) == ["xxxxx", "xxxxx"]
    assert wrap("ab " + "x" * 7, 5) == ["ab ", "xxxxx", "xx"]


def test_what_stands_before_a_column_is_of_whole_clusters() -> None:
    line = "a👩\u200d💻b"  # a, two wide parts that a terminal may join, b
    assert [before(line, column) for column in range(8)] == [
        ("", 0),
        ("a", 0),
        ("a", 1),
        ("a", 0),
        ("a", 0),
        ("a👩\u200d💻", 0),
        (line, 0),
        (line, 1),
    ]
