"""Changes of files by commands in the sandbox, beside what undo could restore."""

from __future__ import annotations

from dataclasses import replace

from agentcli.permissions.paths import Workspace
from tests.permissions.shell.effects.test_containable import COVER, decided
from tests.permissions.shell.effects.test_containable import workspace as workspace


def test_without_undo_nothing_is_removed_or_replaced(workspace: Workspace) -> None:
    bare = replace(workspace, undo=None)
    assert decided("rm README.md", bare).why == "removes files, and nothing could put them back"
    for command in ("cp README.md log.txt", "sed -i s/a/b/ README.md", "make > README.md"):
        assert decided(command, bare).why == "replaces a file, and nothing could put it back"
    for command in ("make", "make > new.txt", "cp README.md new.txt"):
        assert decided(command, bare).decision == "allow"


def test_a_workspace_with_more_files_than_undo_covers_asks_before_any_is_removed(workspace: Workspace) -> None:
    entries = [
        path
        for path in workspace.cwd.rglob("*")
        if COVER.skipped.isdisjoint(path.relative_to(workspace.cwd).parts[:-1])
    ]
    covered = sum(path.name not in COVER.skipped for path in entries)
    enough = replace(workspace, undo=replace(COVER, files=covered + 10))
    assert decided("rm README.md", enough).decision == "allow"
    few = replace(workspace, undo=replace(COVER, files=5))
    assert decided("rm README.md", few).why == "removes files, and the workspace is too large to be restored"
    assert decided("make", few).decision == "allow"
