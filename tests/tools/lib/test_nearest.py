"""Hints for an edit whose old text is not in the file."""

from __future__ import annotations

from agentcli.tools.lib.nearest import already_there, nearest

TEXT = "one\ntwo\n\nthree\nfour\nfive\nsix\n"


def test_a_missing_blank_line_is_shown_among_the_lines_around_it() -> None:
    assert nearest(TEXT, "two\nthree\n") == (
        "Nearest: lines 1-5 (- your old_string, + the file):\n  one\n  two\n+ \n  three\n  four"
    )


def test_two_more_lines_are_shown_on_each_side() -> None:
    assert nearest(TEXT, "three\nfuor") == (
        "Nearest: lines 2-7 (- your old_string, + the file):\n  two\n  \n  three\n- fuor\n+ four\n  five\n  six"
    )


def test_nothing_is_said_where_nothing_is_near() -> None:
    assert nearest(TEXT, "entirely different") == ""


def test_a_new_text_that_is_there_once_is_named_with_its_line() -> None:
    assert already_there(TEXT, "four\nfive") == "new_string is already there (line 5)."
    assert already_there(TEXT + TEXT, "four\nfive") == ""
    assert already_there(TEXT, " \n") == ""
