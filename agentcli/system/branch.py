"""The checked-out branch of a folder, read without starting git."""

from __future__ import annotations

from pathlib import Path

from agentcli.system import probe


def branch(folder: Path) -> str:
    """Return the checked-out branch or abbreviated commit, read without starting git; empty if unknown."""
    for parent in (folder, *folder.parents):
        git = parent / ".git"
        try:
            if probe.is_file(git):  # `.git` is a file in worktrees and submodules
                git = parent / git.read_text(errors="replace").removeprefix("gitdir:").strip()
            if probe.is_file(git / "HEAD"):
                head = (git / "HEAD").read_text(errors="replace").strip()
                return head.removeprefix("ref: refs/heads/")[:30] if head.startswith("ref:") else head[:7]
        except (OSError, ValueError):
            return ""
    return ""
