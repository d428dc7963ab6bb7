from __future__ import annotations

from collections.abc import Mapping

import pyte
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcli.frontends.terminal.paint import Painter, folds
from agentcli.frontends.terminal.paint_log import rows
from agentcli.frontends.terminal.render.frame import Size
from agentcli.frontends.terminal.render.pieces import Note
from agentcli.system.cells import ESCAPE, chop, width
from tests.tables import each_row

COLUMNS, ROWS = 20, 8
WORDS = st.sampled_from(
    [
        "",
        "a",
        "word",
        "two words",
        "日本",
        "xx日",
        "\x1b[31mred\x1b[0m",
        "\x1b[1mbold\x1b[0m tail",
        "\x1b[1mbolder\x1b[0m",
        "\x1b[1;31mbold\x1b[0m",
        "e\u0301",
        "e",
        "y" * COLUMNS,
        "日" * (COLUMNS // 2),
        "\x1b]8;id=1;https://x.org/\x1b\\\x1b[4mlink\x1b]8;;\x1b\\\x1b[0m",
    ]
)
LINE = st.lists(WORDS, max_size=3).map("".join).filter(lambda line: width(line) <= COLUMNS)
FRAME = st.tuples(st.lists(LINE, max_size=12), st.lists(LINE, min_size=1, max_size=ROWS - 1))


def plain(line: str) -> str:
    screen = pyte.Screen(COLUMNS * 2, 1)
    pyte.Stream(screen).feed(line)
    return screen.display[0].rstrip()


def styled(line: str) -> list[tuple[str, bool, str]]:
    screen = pyte.Screen(COLUMNS, 1)
    pyte.Stream(screen).feed(line)
    return cells(screen.buffer[0])


def cells(row: Mapping[int, pyte.screens.Char]) -> list[tuple[str, bool, str]]:
    return [(row[n].data, row[n].bold, row[n].fg) for n in range(COLUMNS)]


def shown(screen: pyte.HistoryScreen) -> list[str]:
    rows = [*screen.history.top, *(screen.buffer[n] for n in range(ROWS))]
    lines = ["".join(row[n].data for n in range(COLUMNS)).rstrip() for row in rows]
    while lines and not lines[-1]:
        lines.pop()
    return lines


@pytest.mark.full
@given(st.lists(FRAME, max_size=12))
def test_the_scrollback_holds_every_committed_line_once_and_the_live_ones_below(
    frames: list[tuple[list[str], list[str]]],
) -> None:
    screen = pyte.HistoryScreen(COLUMNS, ROWS, history=10_000)
    painter = Painter(pyte.Stream(screen).feed)
    committed: list[str] = []
    for commit, live in frames:
        painter.paint(commit, live, (len(live) - 1, 0), Size(COLUMNS, ROWS))
        committed += commit
        expected = [plain(line) for line in [*committed, *live]]
        while expected and not expected[-1]:
            expected.pop()
        assert shown(screen) == expected


@given(LINE, LINE)
def test_a_line_that_is_mended_looks_as_if_it_had_been_written_anew(old: str, new: str) -> None:
    screen = pyte.Screen(COLUMNS, ROWS)
    painter = Painter(pyte.Stream(screen).feed)
    painter.paint([], [old, ""], (1, 0))
    painter.paint([], [new, ""], (1, 0))
    assert cells(screen.buffer[0]) == styled(new)


def test_what_stands_lowest_is_pushed_down_and_not_written_again() -> None:
    written: list[str] = []
    painter = Painter(written.append)
    painter.paint([], ["tail", "Working (1s, 5 tokens)", "status", "> "], (3, 2), Size(COLUMNS, ROWS))
    painter.paint(["done"], ["tail", "Working (1s, 7 tokens)", "status", "> "], (3, 2), Size(COLUMNS, ROWS))
    painter.paint([], ["Working (1s, 7 tokens)", "status", "> "], (2, 2), Size(COLUMNS, ROWS))
    assert not any("status" in text or "Working" in text for text in written[1:])


def test_only_what_changed_in_a_line_is_written() -> None:
    written: list[str] = []
    painter = Painter(written.append)
    painter.paint([], ["\x1b[36mWorking (5s, 99 tokens)\x1b[0m", "> "], (1, 2))
    painter.paint([], ["\x1b[36mWorking (5s, 101 tokens)\x1b[0m", "> "], (1, 2))
    assert "Working" not in written[-1]
    assert "\x1b[36m101 tokens)\x1b[0m" in written[-1]


@pytest.mark.full
@given(st.lists(FRAME, min_size=1, max_size=6), st.data())
def test_the_cursor_stands_where_it_should(frames: list[tuple[list[str], list[str]]], data: st.DataObject) -> None:
    screen = pyte.HistoryScreen(COLUMNS, ROWS, history=10_000)
    painter = Painter(pyte.Stream(screen).feed)
    height = 0
    for commit, live in frames:
        place = data.draw(st.tuples(st.integers(0, len(live) - 1), st.integers(0, COLUMNS - 1)))
        painter.paint(commit, live, place)
        height += len(commit)
        top = max(height + len(live) - ROWS, 0)
        # Rows once scrolled out do not come back when the live part shrinks.
        scrolled = len(screen.history.top)
        assert scrolled >= top
        assert (screen.cursor.y, screen.cursor.x) == (height + place[0] - scrolled, place[1])


def test_a_line_that_grew_costs_only_its_growth() -> None:
    written: list[str] = []
    painter = Painter(written.append)
    painter.paint([], ["status", "> hello"], (1, 7))
    painter.paint([], ["status", "> hello w"], (1, 9))
    assert "hello" not in written[-1]
    assert " w" in written[-1]


def test_committing_what_is_already_on_the_screen_costs_nothing() -> None:
    written: list[str] = []
    painter = Painter(written.append)
    painter.paint([], ["tail", "> "], (1, 2))
    painter.paint(["tail"], ["> "], (0, 2))
    assert "tail" not in written[-1]


def test_painting_the_same_again_writes_nothing() -> None:
    written: list[str] = []
    painter = Painter(written.append)
    painter.paint([], ["> "], (0, 2))
    painter.paint([], ["> "], (0, 2))
    assert len(written) == 1


def test_after_erasing_nothing_live_is_left() -> None:
    screen = pyte.HistoryScreen(COLUMNS, ROWS)
    painter = Painter(pyte.Stream(screen).feed)
    painter.paint(["kept"], ["one", "two"], (1, 2))
    painter.erase()
    assert shown(screen) == ["kept"]
    assert (screen.cursor.y, screen.cursor.x) == (1, 0)


@pytest.mark.full
@given(
    st.lists(LINE.map(lambda line: ESCAPE.sub("", line)), min_size=1, max_size=5),
    st.integers(3, COLUMNS),
    st.data(),
)
def test_what_was_folded_by_the_terminal_is_taken_off_whole(live: list[str], columns: int, data: st.DataObject) -> None:
    row = data.draw(st.integers(0, len(live) - 1))
    column = data.draw(st.integers(0, max(width(live[row]) - 1, 0)))
    # What a terminal that folds shows after it has become narrower: the lines, wrapped, and the cursor where it was in them.
    screen = pyte.Screen(columns, 60)
    pyte.Stream(screen).feed("printed\r\n" + "\r\n".join(chunk for line in live for chunk in chop(line, columns)))
    before = sum(rows(line, columns) for line in live[:row])
    top = 1 + (len("printed") - 1) // columns
    screen.cursor_position(top + before + column // columns + 1, column % columns + 1)
    painter = Painter(pyte.Stream(screen).feed)
    painter.assume(live, (row, column))
    painter.refold(Size(columns, 60), True)
    assert "".join(screen.display).strip() == "printed"
    assert screen.cursor.y == top


def test_a_screen_that_cuts_lines_off_loses_only_the_live_ones() -> None:
    screen = pyte.Screen(COLUMNS, ROWS)
    painter = Painter(pyte.Stream(screen).feed)
    painter.paint(["printed"], ["x" * COLUMNS, "> draft"], (1, 7))
    screen.resize(ROWS, 10)
    painter.refold(Size(10, ROWS), False)
    assert [row.rstrip() for row in screen.display if row.strip()] == ["printed"]


def test_what_another_program_wrote_since_an_erasure_stays() -> None:
    screen = pyte.Screen(COLUMNS, ROWS)
    write = pyte.Stream(screen).feed
    painter, size = Painter(write), Size(COLUMNS, ROWS)
    painter.check()
    painter.paint(["printed"], ["-", "> draft"], (1, 2), size, pieces=[(Note("act", "printed"), 1)])
    painter.refold(size, True)
    write("$ ls\r\na.py\r\n$ fg\r\n")
    for _ in range(2):
        painter.paint([], ["-", "> draft"], (1, 2), size)
        painter.refold(size, True)
    assert [row.strip() for row in screen.display if row.strip()] == ["printed", "$ ls", "a.py", "$ fg"]


@each_row(
    ("environment", "expected"),
    [
        ({"TMUX": "/tmp/x,1,0", "TERM": "screen-256color"}, True),
        ({"TERM": "xterm-256color", "VTE_VERSION": "7600"}, True),
        ({"TERM": "xterm-kitty"}, True),
        ({"TERM_PROGRAM": "Apple_Terminal"}, True),
        ({"TERM": "xterm-256color"}, False),
        ({"TERM": "xterm-kitty", "STY": "1.x"}, False),
    ],
)
def test_only_terminals_that_are_known_to_fold_are_taken_to(environment: dict[str, str], expected: bool) -> None:
    assert folds(environment) is expected


def test_nothing_is_written_for_a_size_that_the_terminal_no_longer_has() -> None:
    written: list[str] = []
    painter = Painter(written.append)
    painter.paint([], ["tail", "> "], (1, 2))
    before = len(written)
    assert not painter.paint(["tail"], ["more", "> "], (1, 2), valid=lambda: False)
    assert painter.refold(Size(3, ROWS), True, lambda: False) is None
    assert len(written) == before
    assert painter.paint(["tail"], ["> "], (0, 2))
    assert "tail" not in written[-1]
