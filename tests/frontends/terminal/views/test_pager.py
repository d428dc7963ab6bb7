"""The pager's keys, search and rows."""

from __future__ import annotations

from agentcli.frontends.terminal.render.frame import Size
from agentcli.frontends.terminal.style import DARK, PLAIN
from agentcli.frontends.terminal.views.pager import Pager, draw, highlighted, press
from agentcli.system.cells import width

LINES = [f"line {n}" for n in range(100)]
SIZE = Size(40, 12)


def pager(**fields: object) -> Pager:
    return Pager(LINES, height=10, **fields)  # type: ignore[arg-type]


def after(start: Pager, *keys: str) -> Pager:
    for key in keys:
        found = press(start, key)
        assert found is not None, key
        start = found
    return start


def test_keys_scroll_and_stop_at_the_ends() -> None:
    assert after(pager(), "down", "j", "enter").top == 3
    assert after(pager(), "up").top == 0
    assert after(pager(), "pagedown").top == 9
    assert after(pager(), "end").top == after(pager(), "G", "down").top == 90
    assert after(pager(), "G", "pageup").top == 81
    assert after(pager(), "G", "g").top == 0
    assert after(pager(), "c-d", "c-d", "c-u").top == 5
    assert after(Pager(["one"], height=10), "down", "end").top == 0


def test_it_closes_by_q_esc_ctrl_c_and_the_key_that_opened_it() -> None:
    for key in ("q", "escape", "c-c", "close"):
        assert press(pager(), key) is None


def test_brackets_go_from_prompt_to_prompt() -> None:
    start = pager(stops=[3, 40, 70])
    assert after(start, "]", "]").top == 40
    assert after(start, "G", "[").top == 70
    assert after(start, "]", "[").top == 0


def test_a_search_jumps_while_it_is_typed_and_goes_around() -> None:
    found = after(pager(), "/", "7", "7")
    assert found.found == (77,)
    assert found.top <= 77 < found.top + 10
    assert found.entry == "77"
    found = after(pager(), "/", *"line 1", "enter")
    assert (found.at, len(found.found), found.entry) == (0, 11, None)
    assert after(found, "N").at == 10
    assert after(found, "n", "n").at == 2
    assert after(found, "N", "n").at == 0


def test_a_search_from_the_end_finds_the_nearest_above() -> None:
    assert after(pager(), "G", "/", *"line 5").at == 10


def test_esc_takes_a_search_back_and_backspace_a_letter() -> None:
    start = after(pager(), "down", "down")
    typed = after(start, "/", *"99")
    assert typed.top == 90
    assert after(typed, "escape") == start.__class__(LINES, height=10, top=2, begun=2)
    assert after(typed, "backspace").query == "9"
    assert after(start, "/", "backspace").entry is None
    assert after(start, "/", "q").query == "q"


def test_small_letters_match_both_cases_and_capitals_only_themselves() -> None:
    both = Pager(["Alpha", "alpha", "beta"], height=2)
    assert after(both, "/", *"alpha").found == (0, 1)
    assert after(both, "/", *"Alpha").found == (0,)


def test_a_match_across_colours_is_reversed_and_the_colours_stay() -> None:
    line = f"a{DARK.paint('good', 'bcd')}e"
    assert highlighted(line, "bce") == line
    assert highlighted(line, "ab") == "\x1b[7ma\x1b[32m\x1b[7mb\x1b[27mcd\x1b[0me"
    assert highlighted("aa", "a") == "\x1b[7ma\x1b[7ma\x1b[27m"
    assert highlighted(line, "") == line


def test_the_rows_fill_the_screen_and_none_is_wider() -> None:
    wide = Pager(["x" * 200, "説明" * 60], height=10)
    for one in (wide, after(pager(), "/", *"line"), pager()):
        rows, cursor = draw(one, SIZE, PLAIN, "Transcript")
        assert len(rows) == SIZE.rows
        assert all(width(row) < SIZE.columns for row in rows)
        assert (cursor is not None) == (one.entry is not None)
    assert "10 of 100 lines" in draw(pager(), SIZE, PLAIN, "Transcript")[0][0]
    assert draw(pager(), SIZE, PLAIN, "Transcript", "A question waits.")[0][-1].endswith(
        "A question waits.\x1b[0m" if PLAIN.sgr("warn") else "A question waits."
    )


def test_lines_added_above_leave_what_is_shown_where_it_is() -> None:
    start = after(pager(), "/", *"line 50", "enter")
    more = start.replaced([*(f"line 50 more {n}" for n in range(5)), *LINES], [], above=5)
    assert more.lines[more.top] == start.lines[start.top]
    assert (start.at, more.at, len(more.found)) == (0, 5, 6)


def test_another_height_keeps_the_end_at_the_end() -> None:
    assert after(pager(), "G").resized(20).top == 80
    assert after(pager(), "down").resized(20).top == 1
