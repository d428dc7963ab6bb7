"""Places of an edit: where allowances end, and what the file keeps of its own."""

from __future__ import annotations

import pytest

from tests.tools.conftest import Call
from tests.tools.workplace import Bench


def edited(call: Call, ctx: Bench, text: str, old: str, new: str) -> tuple[str, str]:
    """The outcome of an edit and the file after it."""
    (ctx.cwd / "a.txt").write_bytes(text.encode())
    call("read", file_path="a.txt")
    outcome = call("edit", file_path="a.txt", old_string=old, new_string=new)
    return outcome.output, (ctx.cwd / "a.txt").read_bytes().decode()


@pytest.mark.parametrize(
    ("text", "old"),
    [
        ("x = 1  \ny = 22\n", "x = 1\ny = 2"),
        ("max = 1  \ny = 2\n", "x = 1\ny = 2"),
        ("say “x”  \nit = 22\n", 'say "x"\nit = 2'),
    ],
)
def test_where_blanks_may_differ_a_match_neither_begins_nor_ends_within_a_line(
    call: Call, ctx: Bench, text: str, old: str
) -> None:
    output, after = edited(call, ctx, text, old, "x = 1\ny = 6")
    assert "Nothing was changed" in output
    assert after == text


def test_a_match_with_other_blanks_may_begin_behind_the_indentation(call: Call, ctx: Bench) -> None:
    assert edited(call, ctx, "  x = 1  \n  y = 2 \n", "x = 1\n  y = 2", "x = 1\n  y = 3")[1] == "  x = 1  \n  y = 3 \n"


@pytest.mark.parametrize(
    ("text", "old", "new", "after"),
    [
        ("“yes” — it’s fine\n", '"yes" - it\'s fine', '"yes" - it\'s good', "“yes” — it’s good\n"),
        ("  “yes” — it’s\n  b\n", '"yes" - it\'s\nb', '"no" - it\'s\nc', "  “no” — it’s\n  c\n"),
        ("a “b” c\n", 'a "b" c\n', 'a "b" c\nd "e"\n', 'a “b” c\nd "e"\n'),
    ],
)
def test_typographic_signs_stay_in_what_an_edit_does_not_change(
    call: Call, ctx: Bench, text: str, old: str, new: str, after: str
) -> None:
    assert edited(call, ctx, text, old, new)[1] == after


@pytest.mark.parametrize(
    ("text", "old", "new", "after"),
    [
        ("a\nb", "b\n", "c\n", "a\nc"),
        ("a\nb", "a\nb\n", "c", "c"),
        ("a\r\nb", "a\nb\n", "c\nd\n", "c\r\nd"),
        ("  a\n  b", "a\nb\n", "a\nc\n", "  a\n  c"),
    ],
)
def test_a_final_newline_that_the_file_lacks_may_stand_in_the_old_text(
    call: Call, ctx: Bench, text: str, old: str, new: str, after: str
) -> None:
    output, found = edited(call, ctx, text, old, new)
    assert "matched ignoring final newline" in output
    assert found == after


def test_a_missing_final_newline_is_allowed_at_the_end_of_the_file_only(call: Call, ctx: Bench) -> None:
    assert edited(call, ctx, "ab c", "ab\n", "x\n")[1] == "ab c"


def test_escaped_line_breaks_are_read_as_line_breaks_where_the_old_text_then_occurs_once(
    call: Call, ctx: Bench
) -> None:
    output, after = edited(call, ctx, "if a:\n\tb('x')\n", r"if a:\n\tb(\'x\')", r"if a:\n\tc(\"x\")")
    assert after == 'if a:\n\tc("x")\n'
    assert r"\n and the like in old_string and new_string read as line breaks" in output


def test_a_text_that_really_has_a_backslash_is_matched_as_it_is(call: Call, ctx: Bench) -> None:
    assert edited(call, ctx, 'print("a\\n")\n', r'"a\n"', r'"b\n"')[1] == 'print("b\\n")\n'


def test_an_edit_found_by_an_allowance_shows_the_changed_lines(call: Call, ctx: Bench) -> None:
    output, _ = edited(call, ctx, "if x:\n    a\nb\n", "  a\n", "  c\n  d\n")
    assert output == "Edited a.txt: lines 2-3."  # exact: it begins within a line
    output, _ = edited(call, ctx, "if x:\n    a\nb\n", "if x:\n  a", "if x:\n  c")
    assert "old_string is not in" in output
    output, _ = edited(call, ctx, "if x:\n    a\n    b\nc\n", "a\nb", "a\nd")
    assert output == (
        "Edited a.txt: 1 replacement (matched ignoring indentation; lines 1-4 now:)\nif x:\n    a\n    d\nc"
    )
