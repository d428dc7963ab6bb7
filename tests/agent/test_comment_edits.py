"""Edits that change nothing but comments, as their diffs show."""

from __future__ import annotations

from agentcli.agent.comment_edits import changes_only_comments
from agentcli.tools.lib.diff import unified
from tests.tables import each_row


@each_row(
    ("path", "before", "after", "only"),
    [
        ("a.py", "x = 1\n", "x = 1  # the first\n", True),
        ("a.py", "# old\nx = 1\n", "# new\n\nx = 1\n", True),
        ("a.go", "x := 1\n", "x := 1 //nolint:gosec\n", True),
        ("a.sql", "-- old\nselect 1;\n", "-- new\nselect 1;\n", True),
        ("a.py", "x = 1\n", "x = 2  # the first\n", False),
        ("a.py", "x = 'a # b'\n", "x = 'a # c'\n", False),
        ("a.go", 'u := "http://a"\n', 'u := "http://b"\n', False),
        ("a.go", "//go:build linux\n", "//go:build darwin\n", False),
        ("run.sh", "#!/bin/sh\n", "#!/bin/bash\n", False),
        ("a.txt", "# old\n", "# new\n", False),
        ("a.py", "x = 1\n", "", False),
    ],
)
def test_an_edit_of_comments_alone_is_told_from_any_other(path: str, before: str, after: str, only: bool) -> None:
    assert changes_only_comments(unified(before, after, path).text) is only
