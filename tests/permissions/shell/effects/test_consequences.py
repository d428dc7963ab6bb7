"""Consequences that a question names."""

from __future__ import annotations

from pathlib import Path

from agentcli.permissions.shell.effects.consequences import is_cautious, named_consequence
from agentcli.permissions.shell.syntax.parse import UNKNOWN
from tests.tables import each_row


@each_row(
    ("words", "consequence"),
    [
        ("", ""),
        ("ls", ""),
        ("rm x", "rm deletes files"),
        ("/bin/rm x", "rm deletes files"),
        ("sudo x", "sudo runs commands as another user"),
        ("kill 1", "kill ends processes"),
        ("chmod x y", "chmod changes permissions"),
        ("mv a b", "mv moves files"),
        ("find . -delete", "find deletes files"),
        ("find . -name x", ""),
        ("rg -delete", ""),
        ("git push", "git push uses the network"),
        ("git reset --hard", "git reset discards changes"),
        ("git reset --har", "git reset discards changes"),
        ("git reset --merge", "git reset discards changes"),
        ("git reset -q .venv", ""),
        ("git reset --soft HEAD~1", ""),
        (f"git reset {UNKNOWN}", "git reset discards changes"),
        ("git restore a", "git restore discards changes"),
        ("git restore --staged a", ""),
        ("git restore --staged --worktree a", "git restore discards changes"),
        ("git restore -SW a", "git restore discards changes"),
        ("git clean -f", "git clean deletes files"),
        ("git checkout .", "git checkout discards changes"),
        ("git checkout -- a", "git checkout discards changes"),
        ("git checkout -f main", "git checkout discards changes"),
        ("git checkout -B main", "git checkout discards changes"),
        ("git checkout main a", "git checkout discards changes"),
        ("git checkout main", ""),
        ("git checkout -b new main", ""),
        ("git log reset", ""),
        ("git", ""),
        ("npm install", "npm install uses the network"),
        ("curl x", "curl uses the network"),
    ],
)
def test_the_consequence_of_a_command_is_named(words: str, consequence: str) -> None:
    assert named_consequence(words.split(), [Path("/")]) == consequence
    assert is_cautious(consequence) is bool(consequence)
