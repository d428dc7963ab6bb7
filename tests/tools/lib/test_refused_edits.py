"""Hints for an edit whose old text is not in the file."""

from __future__ import annotations

import pytest

from agentcli.tools.lib.refused_edits import already_there, nearest
from tests.tools.conftest import Call
from tests.tools.workplace import Bench

TEXT = "one\ntwo\n\nthree\nfour\nfive\nsix\n"


def test_a_missing_blank_line_is_shown_among_the_lines_around_it() -> None:
    assert nearest(TEXT, "two\nthree\n") == (
        "Nearest: lines 1-5 (- your old_string, + the file):\n  one\n  two\n+ \n  three\n  four"
    )


def test_two_more_lines_are_shown_on_each_side() -> None:
    assert nearest(TEXT, "three\nfuor") == (
        "Nearest: lines 2-7 (- your old_string, + the file):\n  two\n  \n  three\n- fuor\n+ four\n  five\n  six"
    )


def test_a_part_of_a_long_line_is_found_by_its_words() -> None:
    line = "- `unstyle` and the handling behind help-text wrapping now strip the full escape grammar"
    assert nearest(f"one\n{line}\n", "-   `unstyle` and the handling") == (
        f"Nearest: lines 1-2 (- your old_string, + the file):\n  one\n- -   `unstyle` and the handling\n+ {line}"
    )
    assert nearest(f"one\n{line}\n", "handling of colours in windows") == ""


def test_nothing_is_said_where_nothing_is_near() -> None:
    assert nearest(TEXT, "entirely different") == ""


def test_a_new_text_that_is_there_once_is_named_with_its_line() -> None:
    assert already_there(TEXT, "four\nfive") == "new_string is already there (line 5)."
    assert already_there(TEXT + TEXT, "four\nfive") == ""
    assert already_there(TEXT, " \n") == ""


PLACEHOLDERS = [
    "// ... existing code ...",
    "# ... rest of the code unchanged ...",
    "# rest of the file remains unchanged...",
    "    // ... rest of methods ...",
    "(rest of methods ...)",
    "/* ... existing styles ... */",
    "<!-- ... rest of the content ... -->",
    "{/* ... existing code ... */}",
    "... rest of code ...",
    "# ... unchanged ...",
    "// … rest of the function …",
    "# ... (rest of the code remains the same) ...",
    "-- ... remaining methods ...",
    "// [... other methods unchanged ...]",
]
ORDINARY = [
    "# existing code is slow",
    'print("... rest of the code ...")',
    "...",
    "# ...",
    "// TODO: remaining work",
    "...and the rest of the story is history.",
    "# Parse the rest of the line...",
    "Loading the remaining files...",
    "# the same as before",
    "// See the rest of the code.",
]


@pytest.mark.parametrize("line", PLACEHOLDERS)
def test_a_placeholder_is_neither_written_nor_put_in_by_an_edit(call: Call, ctx: Bench, line: str) -> None:
    written = call("write", file_path="a.js", content=f"first\n{line}\n")
    assert written.output.startswith(
        f"Line 2 of content is a placeholder for omitted code: {line.strip()}. Nothing was changed."
    )
    assert not (ctx.cwd / "a.js").exists()
    (ctx.cwd / "a.js").write_text("old\n")
    edit = call("edit", file_path="a.js", old_string="old\n", new_string=f"{line}\nnew\n")
    assert edit.output.startswith("Line 1 of new_string is a placeholder")
    assert (ctx.cwd / "a.js").read_text() == "old\n"


@pytest.mark.parametrize("line", ORDINARY)
def test_an_ordinary_line_is_written(call: Call, line: str) -> None:
    assert call("write", file_path="a.js", content=f"{line}\n").status == "success"


def test_a_placeholder_that_the_file_has_already_may_stay(call: Call, ctx: Bench) -> None:
    text = "a\n# ... rest of the code ...\n"
    (ctx.cwd / "a.py").write_text(text)
    assert call("edit", file_path="a.py", old_string=text, new_string=text.replace("a\n", "b\n")).status == "success"
    call("read", file_path="a.py")
    assert call("write", file_path="a.py", content=f"c\n{text}").status == "success"
