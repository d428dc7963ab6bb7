"""Processes that commands have started, by the parents that Linux shows."""

from __future__ import annotations

import os

_DEEPEST = 64


def descends(pid: int) -> bool:
    """Return True if a child of this process has started a living process, as a supervisor starts a command."""
    depth = 0
    while pid > 1 and depth < _DEEPEST:
        try:
            with open(f"/proc/{pid}/stat", "rb") as stat:
                parent = int(stat.read().rpartition(b")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            return False
        if parent == os.getpid():
            return depth > 0
        pid, depth = parent, depth + 1
    return False
