"""An output is what a terminal shows at its end: the emulator that the tests of the terminal program use would agree."""

from __future__ import annotations

import pyte
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcli.core.text.terminal import Screen, console_text, shown
from tests.tables import each_row

SEQUENCES = """
K 1K 2K J A 2A B 3C 2D 5G P 3X 31;1m 0m
"""
PIECES = st.lists(
    st.sampled_from(
        [
            *("a", "bc", " ", "word", "\n", "\r\n", "\r", "\b", "\x1b]0;title\x07", "\x1b]8;;http://x\x1b\\"),
            *(f"\x1b[{each}" for each in SEQUENCES.split()),
        ]
    ),
    max_size=60,
)


@pytest.mark.full
@given(PIECES)
def test_what_is_left_is_what_a_terminal_emulator_displays(pieces: list[str]) -> None:
    text = "".join(pieces)
    screen = pyte.Screen(400, 90)
    pyte.Stream(screen).feed(text.replace("\r\n", "\n").replace("\n", "\r\n"))
    displayed = "\n".join(row.rstrip() for row in screen.display).rstrip("\n")
    assert "\n".join(row.rstrip() for row in shown(text).split("\n")).rstrip("\n") == displayed


@given(PIECES, st.integers(1, 7))
def test_it_is_the_same_however_the_output_is_cut_into_pieces(pieces: list[str], size: int) -> None:
    text, screen = "".join(pieces), Screen()
    parts = [screen.feed(text[n : n + size]) for n in range(0, len(text), size)]
    assert "".join(parts) + screen.end() == shown(text)


@each_row("text", ["", "a\n\nb  \n\tc", "été — naïve\n" * 300, "one line" * 50_000, "x\n" * 1_000])
def test_text_without_control_sequences_stays_as_it_is(text: str) -> None:
    assert shown(text) == text
    assert console_text(text.encode()) == text


def test_rows_leave_the_screen_in_order_while_a_bar_moves_below_them() -> None:
    rows = [f"\r\x1b[Kcompiled {n}\n 10%\r 20%\x1b[33m" for n in range(500)]
    assert shown("".join(rows)) == "".join(f"compiled {n}\n" for n in range(500)) + " 20%"


def test_a_program_that_takes_the_whole_screen_leaves_what_was_before_it() -> None:
    assert shown("before\n\x1b[?1049h\x1b[Hmenu\n\x1b[2J\x1b[?1049lafter\n") == "before\nafter\n"


def test_each_frame_of_a_program_that_clears_the_screen_replaces_the_one_before() -> None:
    assert shown("log\n" + "".join(f"\x1b[H\x1b[2Jstatus {n}\n" for n in range(5))) == "log\nstatus 4\n"


def test_letters_of_an_older_encoding_survive_the_frames() -> None:
    assert console_text("Größe\r\x1b[KÜbersicht über alles\n".encode("latin-1")) == "Übersicht über alles\n"


def test_text_in_utf_16_has_no_control_sequences() -> None:
    assert console_text("wide\r\ntext\n".encode("utf-16")) == "wide\r\ntext\n"
