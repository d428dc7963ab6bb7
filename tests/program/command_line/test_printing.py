"""Tables for a terminal and for a pipe."""

from __future__ import annotations

import io

from agentcli.program.command_line.printing import STYLED_ROWS, Column, plain_table, print_styled, print_table
from agentcli.system.cells import ESCAPE, width

COLUMNS = (
    Column("id"),
    Column("title", fills=True),
    Column("cost", numeric=True),
    Column("model", from_width=90),
)
ROWS = [
    ["20261122-013518-i9qkb75", "Fix the 説明説明説明説明 of the cart, " * 3, 0.5, "sonnet"],
    ["b", "x", 12.0, "opus"],
]


class Screen(io.StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        return True


def drawn(cells: int, times: int = 1) -> list[str]:
    screen = Screen()
    print_table(COLUMNS, ROWS * times, screen, cells)
    return ESCAPE.sub("", screen.getvalue()).splitlines()


def test_a_pipe_gets_whole_cells_in_columns_that_are_aligned_by_their_width_on_a_terminal() -> None:
    pipe = io.StringIO()
    print_table(COLUMNS, ROWS, pipe)
    head, long, short = pipe.getvalue().splitlines()
    assert ROWS[0][1] in long
    assert "\x1b" not in pipe.getvalue()
    assert (
        width(long[: long.index("sonnet")]) == width(short[: short.index("opus")]) == width(head[: head.index("model")])
    )


def test_a_terminal_shows_the_title_at_80_columns_and_an_ellipsis_where_it_is_too_long() -> None:
    head, long, short = drawn(80)
    assert head.split() == ["id", "title", "cost"]
    assert "Fix the 説明" in long
    assert long.endswith("…   0.5000")
    assert all(width(line) <= 80 for line in (head, long, short))
    assert drawn(120)[0].split() == ["id", "title", "cost", "model"]


def test_a_table_of_very_many_rows_has_the_same_lines_as_a_short_one() -> None:
    for cells in (60, 80, 120):
        short, long = drawn(cells), drawn(cells, STYLED_ROWS)
        assert len(long) == 1 + len(ROWS) * STYLED_ROWS
        assert [line.rstrip() for line in long[:3]] == [line.rstrip() for line in short]


def test_text_from_outside_moves_no_cursor() -> None:
    for stream in (Screen(), io.StringIO()):
        print_table((Column("title"),), [["\x1b[2Jgone\nnext"]], stream, 80)
        print_styled([("\x1b[2Jgone", "bold")], stream, 80)
        assert "\x1b[2J" not in stream.getvalue()
        assert "\\x1b[2Jgone\\nnext" in stream.getvalue()


def test_brackets_and_emoji_codes_are_taken_as_they_are() -> None:
    screen = Screen()
    print_styled([("[bold] :smile: 1.5", "")], screen, 80)
    assert screen.getvalue() == "[bold] :smile: 1.5\n"


def test_columns_are_aligned_whether_texts_are_wide_or_not_and_lines_end_without_blanks() -> None:
    plain = plain_table(
        (Column("a"), Column("n", numeric=True), Column("last")), [["x", "1", "long text "], ["yyy", "22", ""]]
    )
    assert plain == ["a     n  last", "x     1  long text", "yyy  22"]
    wide = plain_table((Column("a"), Column("last", numeric=True)), [["説明", "1"], ["b", "\x1b[1m22\x1b[0m"]])
    assert wide == ["a     last", "説明     1", "b       \x1b[1m22\x1b[0m"]
