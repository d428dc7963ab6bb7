"""Paints compared with the width that the terminal had when they reached it."""

from __future__ import annotations

import gc
import time

from agentcli.frontends.terminal.paint_log import HISTORY, PATIENCE, UNANSWERED, Paint, PaintLog, first_rows
from agentcli.frontends.terminal.render.frame import Size
from agentcli.frontends.terminal.render.pieces import Printed

PIECE, OTHER = Printed(("the piece",)), Printed(("another",))


def paint(
    row: int, above: list[str], columns: int, pieces: list[tuple[Printed, int]] | None = None, kept: int = 0
) -> Paint:
    return Paint(row, kept, above, 0, columns, pieces or [], time.monotonic())


def test_a_paint_that_was_right_leaves_the_live_lines_to_be_erased() -> None:
    log = PaintLog()
    log.sent(paint(0, ["the piece", "x" * 30], 40, [(PIECE, 1)]))
    assert log.waiting
    assert log.answered(40)
    assert not log.waiting
    assert log.erased(Size(20, 24), 1) == (2, ())


def test_a_paint_for_a_wider_screen_is_erased_with_what_it_printed_and_that_is_printed_again() -> None:
    log = PaintLog()
    log.reset(["a" * 30], 2)
    log.sent(paint(1, ["the piece", "b" * 30], 40, [(PIECE, 1)]))
    # The line above the cursor took two rows there, of which the paint knew one; its own lines were cut at 20 cells.
    assert not log.answered(20)
    assert log.erased(Size(20, 24), 1) == (3, (PIECE,))


def test_all_that_is_printed_below_a_wrong_paint_is_printed_again_too() -> None:
    log = PaintLog()
    log.reset(["a" * 30], 2)
    log.sent(paint(1, ["b" * 30], 40))
    log.sent(paint(1, ["the piece", "b" * 30], 20, [(PIECE, 1)]))
    assert not log.answered(20)
    assert log.answered(20)
    rows, again = log.erased(Size(20, 24), 1)
    assert (rows, again) == (3, (PIECE,))


def test_lines_that_a_paint_leaves_as_they_are_keep_their_rows_on_a_narrower_screen() -> None:
    log = PaintLog()
    log.reset(["a" * 30, "b" * 30], 2)
    log.sent(paint(2, ["a" * 30, "c" * 30], 40, kept=1))
    # Four rows stood there, and the paint moved up two: the first line, whole, and one more row of it that it took for its own.
    assert not log.answered(20)
    assert log.erased(Size(40, 24), 1) == (3, ())


def test_paints_that_are_not_answered_in_time_count_as_right_and_are_not_kept() -> None:
    log, piece = PaintLog(), Printed(("a piece",))
    began = time.monotonic() - 100 * PATIENCE
    for n in range(UNANSWERED - 1):
        log.sent(Paint(0, 0, ["a piece"] * HISTORY, 0, 40, [(piece, 1)] * HISTORY, began + n))
    assert log.asks
    assert sum(isinstance(each, Paint) for each in gc.get_objects()) <= 3
    assert log.erased(Size(20, 24), 1)[1] == ()


def test_an_erasure_that_reached_too_far_has_what_it_took_printed_again() -> None:
    log = PaintLog()
    log.sent(paint(0, ["first", "the piece", "b" * 30], 40, [(OTHER, 1), (PIECE, 1)]))
    assert log.answered(40)
    # On a screen of 20 columns the live line takes two rows; the erasure reaches the terminal when it is wide again.
    rows, again = log.erased(Size(20, 24), 1)
    assert (rows, again) == (2, ())
    log.sent(paint(rows, [], 20))
    assert not log.answered(40)
    assert log.erased(Size(40, 24), 1) == (0, (PIECE,))


def test_an_erasure_that_did_not_reach_far_enough_leaves_rows_that_are_erased_next() -> None:
    log = PaintLog()
    log.sent(paint(0, ["the piece", "b" * 30], 40, [(PIECE, 1)]))
    assert log.answered(40)
    rows, _ = log.erased(Size(40, 24), 1)
    log.sent(paint(rows, [], 40))
    log.sent(paint(0, ["next"], 20, [(OTHER, 1)]))
    assert not log.answered(20)
    assert log.answered(20)
    assert log.erased(Size(20, 24), 1) == (2, (OTHER,))


def test_the_last_hundred_lines_are_remembered() -> None:
    log = PaintLog()
    for n in range(3 * HISTORY):
        log.sent(paint(0, [f"line {n}"], 40, [(PIECE, 1)]))
        assert log.answered(40)
    log.sent(paint(2 * HISTORY, [], 40))
    assert not log.answered(40)
    assert log.erased(Size(40, 24), 1) == (0, (PIECE,) * HISTORY)


def test_what_has_left_the_screen_stays_as_it_is() -> None:
    log = PaintLog()
    log.sent(paint(0, ["the piece", *["more"] * 9, "last", "tail"], 40, [(PIECE, 10), (PIECE, 1)]))
    assert not log.answered(20)
    assert log.erased(Size(20, 6), 1) == (2, (PIECE,))


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
    assert log.erased(Size(40, 24), 1) == (0, ())


def test_the_first_rows_of_lines_are_whole_lines_and_perhaps_the_beginning_of_one() -> None:
    assert first_rows(["a" * 30, "b" * 30], 3, 20) == ["a" * 30, "b" * 20]
    assert first_rows(["a" * 30], 2, 20) == ["a" * 30]
    assert first_rows(["a"], 0, 20) == []
