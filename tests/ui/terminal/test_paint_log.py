"""Paints compared with the width that the terminal had when they reached it."""

from __future__ import annotations

import time

from agentcli.ui.render.frame import Size
from agentcli.ui.render.pieces import Printed
from agentcli.ui.terminal.paint_log import UNANSWERED, Paint, PaintLog, first_rows

PIECE = Printed(("the piece",))


def paint(row: int, above: list[str], columns: int, pieces: list[tuple[Printed, int]] | None = None) -> Paint:
    return Paint(row, above, 0, columns, pieces or [], time.monotonic())


def test_a_paint_that_was_right_leaves_the_live_lines_to_be_erased() -> None:
    log = PaintLog()
    log.sent(paint(0, ["the piece", "x" * 30], 40, [(PIECE, 1)]))
    assert log.waiting
    assert log.answered(40)
    assert not log.waiting
    assert log.erased(Size(20, 24), ["x" * 30, "> "], 1, 2) == (2, ())


def test_a_paint_for_a_wider_screen_is_erased_with_what_it_printed_and_that_is_printed_again() -> None:
    log = PaintLog()
    log.reset(["a" * 30], 2)
    log.sent(paint(1, ["the piece", "b" * 30], 40, [(PIECE, 1)]))
    # The line above the cursor took two rows there, of which the paint knew one; its own lines were cut at 20 cells.
    assert not log.answered(20)
    assert log.erased(Size(20, 24), ["b" * 30, "> "], 1, 2) == (3, (PIECE,))


def test_all_that_is_printed_below_a_wrong_paint_is_printed_again_too() -> None:
    log = PaintLog()
    log.reset(["a" * 30], 2)
    log.sent(paint(1, ["b" * 30], 40))
    log.sent(paint(1, ["the piece", "b" * 30], 20, [(PIECE, 1)]))
    assert not log.answered(20)
    assert log.answered(20)
    rows, again = log.erased(Size(20, 24), ["b" * 20, "> "], 1, 2)
    assert (rows, again) == (3, (PIECE,))


def test_what_has_left_the_screen_stays_as_it_is() -> None:
    log = PaintLog()
    log.sent(paint(0, ["the piece", *["more"] * 9, "last", "tail"], 40, [(PIECE, 10), (PIECE, 1)]))
    assert not log.answered(20)
    assert log.erased(Size(20, 6), ["tail", "> "], 1, 2) == (2, (PIECE,))


def test_a_terminal_that_never_answers_is_asked_no_more() -> None:
    log = PaintLog()
    for _ in range(UNANSWERED):
        log.sent(paint(0, [], 40))
    assert not log.asks
    assert not log.outstanding


def test_answers_to_paints_that_are_erased_change_nothing() -> None:
    log = PaintLog()
    log.sent(paint(0, ["old"], 40))
    log.reset()
    assert log.outstanding
    assert log.answered(20)
    assert not log.outstanding
    assert log.erased(Size(40, 24), ["> "], 0, 2) == (0, ())


def test_the_first_rows_of_lines_are_whole_lines_and_perhaps_the_beginning_of_one() -> None:
    assert first_rows(["a" * 30, "b" * 30], 3, 20) == ["a" * 30, "b" * 20]
    assert first_rows(["a" * 30], 2, 20) == ["a" * 30]
    assert first_rows(["a"], 0, 20) == []
