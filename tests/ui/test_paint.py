from __future__ import annotations

import pyte
from hypothesis import given
from hypothesis import strategies as st

from agentcli.ui.cells import width
from agentcli.ui.paint import Painter

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
        "y" * COLUMNS,
        "日" * (COLUMNS // 2),
    ]
)
LINE = st.lists(WORDS, max_size=3).map("".join).filter(lambda line: width(line) <= COLUMNS)
FRAME = st.tuples(st.lists(LINE, max_size=12), st.lists(LINE, min_size=1, max_size=ROWS - 1))


def plain(line: str) -> str:
    screen = pyte.Screen(COLUMNS * 2, 1)
    pyte.Stream(screen).feed(line)
    return screen.display[0].rstrip()


def shown(screen: pyte.HistoryScreen) -> list[str]:
    rows = [*screen.history.top, *(screen.buffer[n] for n in range(ROWS))]
    lines = ["".join(row[n].data for n in range(COLUMNS)).rstrip() for row in rows]
    while lines and not lines[-1]:
        lines.pop()
    return lines


@given(st.lists(FRAME, max_size=12))
def test_the_scrollback_holds_every_committed_line_once_and_the_live_ones_below(
    frames: list[tuple[list[str], list[str]]],
) -> None:
    screen = pyte.HistoryScreen(COLUMNS, ROWS, history=10_000)
    painter = Painter(pyte.Stream(screen).feed)
    committed: list[str] = []
    for commit, live in frames:
        painter.paint(commit, live, (len(live) - 1, 0))
        committed += commit
        expected = [plain(line) for line in [*committed, *live]]
        while expected and not expected[-1]:
            expected.pop()
        assert shown(screen) == expected


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
