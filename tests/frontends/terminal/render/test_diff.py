from __future__ import annotations

import re
import tracemalloc
from difflib import unified_diff

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcli.core.message import ToolResult
from agentcli.frontends.terminal.render.calls import called
from agentcli.frontends.terminal.render.diff import lines
from agentcli.frontends.terminal.render.pieces import Called
from agentcli.frontends.terminal.render.scrollback import as_it_is
from agentcli.frontends.terminal.style import DARK, MUTE, TRUE_DARK, Look
from agentcli.system.cells import ESCAPE, width


def shown(diff: str, named: str = "") -> list[str]:
    return lines(diff, 60, MUTE, named)


def test_nothing_of_a_hunk_is_taken_for_a_header() -> None:
    diff = "--- a/q.sql\n+++ b/q.sql\n@@ -1,2 +1,2 @@\n--- a/drop\n+++ b/keep\n same\n"
    assert shown(diff) == ["q.sql", "    1 - -- a/drop", "    1 + ++ b/keep", "    2   same"]


def test_each_file_is_named_unless_the_title_named_it() -> None:
    diff = "--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+b\n--- a/y.py\n+++ b/y.py\n@@ -1 +1 @@\n-c\n+d\n"
    assert [row for row in shown(diff) if row.endswith(".py")] == ["x.py", "y.py"]
    assert [row for row in shown(diff, "Edit src/x.py") if row.endswith(".py")] == ["y.py"]


def test_a_new_and_a_deleted_file_after_another_one_are_named_and_their_headers_are_no_lines() -> None:
    changed = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"
    made, gone = "--- /dev/null\n+++ b/y\n@@ -0,0 +1 @@\n+c\n", "--- a/z\n+++ /dev/null\n@@ -1 +0,0 @@\n-d\n"
    assert shown(changed + made + gone + made) == [
        *("x", "    1 - a", "    1 + b", "y", "    1 + c", "z", "    1 - d", "y", "    1 + c"),
    ]


def test_an_empty_line_of_context_counts() -> None:
    diff = "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n a\n\n-b\n+c\n"
    assert shown(diff)[-2:] == ["    3 - b", "    3 + c"]


def test_between_two_hunks_there_is_a_mark() -> None:
    diff = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n@@ -9 +9 @@\n-c\n+d\n\\ No newline at end of file\n"
    assert "     ⋮" in shown(diff)
    assert shown(diff)[-1] == "    9 + d"


def test_what_differs_in_a_line_is_told_apart() -> None:
    rows = lines("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-if quantity > 10:\n+if quantity >= 10:\n", 60, DARK)
    assert rows[-1] == "\x1b[32m    1 + if quantity >\x1b[0m\x1b[32;1;4m=\x1b[0m\x1b[32m 10:\x1b[0m"
    other = lines("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-one thing\n+quite another\n", 60, DARK)
    assert ";1;4m" not in "".join(other)


LINE = st.text(alphabet="ab-+@ \t日\\", max_size=12)


@pytest.mark.full
@given(st.lists(LINE, max_size=8), st.lists(LINE, max_size=8), st.integers(16, 40))
def test_every_line_that_goes_or_comes_is_shown_whole(before: list[str], after: list[str], columns: int) -> None:
    diff = "\n".join(unified_diff(before, after, "a/x", "b/x", lineterm="")) + "\n"
    plain = [ESCAPE.sub("", row) for row in lines(diff, columns, DARK)]
    assert plain == lines(diff, columns, MUTE)
    banded = [ESCAPE.sub("", row).rstrip() for row in lines(diff.replace("b/x", "b/x.py"), columns, TRUE_DARK, "x.py")]
    assert banded[-len(plain) + 1 :] == [row.rstrip() for row in plain[1:]] or len(plain) < 2
    for sign in "-+":
        said = [line[1:].expandtabs(4) for line in diff.split("\n")[2:] if line.startswith(sign)]
        shown, taking = [], False
        for row in plain[1:]:
            if row[5:8] == f" {sign} " and row[:5].strip().isdigit():
                shown.append(row[8:])
                taking = True
            elif row[:8].strip():
                taking = False
            elif taking and row.startswith(" " * 8):
                shown[-1] += row[8:]
        assert [line.rstrip() for line in said] == [line.rstrip() for line in shown]


def test_with_true_colours_a_line_is_a_band_in_which_its_code_keeps_its_colours() -> None:
    diff = "--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,2 @@\n import os\n-x = 1  # old\n+x = 10  # old\n"
    context, before, after = lines(diff, 40, TRUE_DARK, "Edit x.py")
    keyword = TRUE_DARK.tokens["Keyword"]
    assert f"\x1b[{keyword}mimport" in context
    assert [width(row) for row in (before, after)] == [40, 40]
    assert f"\x1b[{TRUE_DARK.sgr('removed')}m    2 - x = " in before
    assert re.search(f"{TRUE_DARK.sgr('added changed')};[0-9]+m0", after)
    assert "# old" in after


@pytest.mark.parametrize("count", [59, 60, 61, 62, 5_000])
def test_a_long_diff_is_cut_and_its_other_lines_are_made_one_by_one(count: int) -> None:
    added = "".join(f"+line {n} of a file, as long as most lines of code\n" for n in range(count))
    change = f"--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1,{count} @@\n{added}"
    piece = Called("Write a.txt", ToolResult("c", "write", "success", "Created a.txt.", metadata={"diff": change}))
    called(piece, 80, Look(MUTE), as_it_is)  # the first call in a process imports modules, which would count
    tracemalloc.start()
    _, *rows = called(piece, 80, Look(MUTE), as_it_is)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(rows) == min(count, 61)
    assert (f"… {count - 60} more lines" in rows[-1]) == (count > 61)
    assert peak < 6 * len(change) + 200_000
