"""Moves of a command line between folders: the first one, and the folder that the line ends in."""

from __future__ import annotations

import re
from pathlib import Path

from agentcli.permissions.paths import Workspace
from agentcli.permissions.shell.syntax.flow import end_of
from agentcli.system import probe

_MOVES = re.compile(r"\b(?:cd|pushd|popd|chdir)\b")
_FIRST = re.compile(r"\s*(?:cd|pushd)\s+(?:--\s+)?(['\"]?)([\w.@+,-][\w./@+,-]*)\1\s*(?:&&|;|\n|$)")


def first_move(text: str) -> str:
    """Return the relative folder to which a line moves before anything else; empty if it begins otherwise."""
    found = _FIRST.match(text)
    return found.group(2) if found else ""


def folder_after(text: str, workspace: Workspace, *, succeeded: bool) -> Path | None:
    """Return the folder in which a line that has run ended; None if that is not certain.

    Of a line that failed only a move at its beginning is certain.
    """
    if not _MOVES.search(text):
        return workspace.cwd
    end = end_of(text, workspace)
    if end is None:
        return None
    folders, moves, first = end
    if not moves:
        return workspace.cwd
    certain = len(folders) == 1 and probe.is_dir(folders[0]) and (succeeded or (moves == 1 and first))
    return folders[0] if certain else None
