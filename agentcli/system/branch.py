"""The checked-out branch of a folder, read without starting git."""

from __future__ import annotations

import re
from pathlib import Path

from agentcli.system import probe

_LAST = 4_000
"""Bytes at the end of the log of HEAD that contain its last entry."""


def branch(folder: Path) -> str:
    """Return the checked-out branch or abbreviated commit, read without starting git; empty if unknown."""
    try:
        git = _git_folder(folder)
        head = (git / "HEAD").read_text(errors="replace").strip() if git else ""
    except (OSError, ValueError):
        return ""
    return head.removeprefix("ref: refs/heads/")[:30] if head.startswith("ref:") else head[:7]


def branch_after_moves(folder: Path, since: float) -> str:
    """Return the branch or commit if HEAD has moved, as by a commit; empty if not. `since` is seconds since the epoch."""
    try:
        git = _git_folder(folder)
        log = (git / "logs" / "HEAD").read_bytes()[-_LAST:] if git else b""
    except (OSError, ValueError):
        return ""
    found = re.search(rb"> (\d+) [+-]\d{4}(?:\t[^\n]*)?\s*$", log)
    return branch(folder) if found and int(found[1]) >= int(since) else ""


def _git_folder(folder: Path) -> Path | None:
    """Return the folder of git's data for a folder; None if it is in no repository. Raises OSError or ValueError."""
    for parent in (folder, *folder.parents):
        git = parent / ".git"
        if probe.is_file(git):  # `.git` is a file in worktrees and submodules
            git = parent / git.read_text(errors="replace").removeprefix("gitdir:").strip()
        if probe.is_file(git / "HEAD"):
            return git
    return None
