from __future__ import annotations

from agentcli.ui.diff import lines
from agentcli.ui.theme import MUTE


def shown(diff: str, named: str = "") -> list[str]:
    return lines(diff, 60, MUTE, named)


def test_nothing_of_a_hunk_is_taken_for_a_header() -> None:
    diff = "--- a/q.sql\n+++ b/q.sql\n@@ -1,2 +1,2 @@\n--- a/drop\n+++ b/keep\n same\n"
    assert shown(diff) == ["q.sql", "    1 --- a/drop", "    1 +++ b/keep", "    2  same"]


def test_each_file_is_named_unless_the_title_named_it() -> None:
    diff = "--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+b\n--- a/y.py\n+++ b/y.py\n@@ -1 +1 @@\n-c\n+d\n"
    assert [row for row in shown(diff) if row.endswith(".py")] == ["x.py", "y.py"]
    assert [row for row in shown(diff, "Edit src/x.py") if row.endswith(".py")] == ["y.py"]


def test_an_empty_line_of_context_counts() -> None:
    diff = "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n a\n\n-b\n+c\n"
    assert shown(diff)[-2:] == ["    3 -b", "    3 +c"]


def test_between_two_hunks_there_is_a_mark() -> None:
    diff = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n@@ -9 +9 @@\n-c\n+d\n\\ No newline at end of file\n"
    assert "     ⋮" in shown(diff)
    assert shown(diff)[-1] == "    9 +d"
