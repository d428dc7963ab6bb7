"""Git commands that only read, in the notation of `Shape`, and which of them show the content of tracked files."""

from __future__ import annotations

from agentcli.permissions.shell.programs.git_table import path_named
from tests.tables import each_row


@each_row(
    ("revision", "path"),
    [
        ("HEAD:a", "a"),
        ("HEAD:a:b", "a:b"),
        (":a", "a"),
        (":0:a", "a"),
        (":4:a", "4:a"),
        ("HEAD@{10:00}:a", "a"),
        ("HEAD@{10:00}", None),
        ("HEAD^{/a:b}", None),
        (":/a", None),
        (":/a:b", None),
        ("HEAD", None),
        ("HEAD:", ""),
        ("}:a", "a"),
    ],
)
def test_the_path_of_a_revision_is_read_as_git_reads_it(revision: str, path: str | None) -> None:
    assert path_named(revision) == path
