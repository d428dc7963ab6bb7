"""Paths as a command in the sandbox sees them: there /tmp is the session's private folder."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from agentcli.permissions.paths import Workspace
from agentcli.permissions.shell.syntax.parse import Part, Piece
from agentcli.permissions.shell.syntax.values import BELOW

TOP = "/tmp"
_NAMED = re.compile(r"(?<![^\s'\"=:,(@<>`])/tmp(?=/|\Z|[\s'\":;,)`&|])")
"""The folder where a word, a value or a text inside a script begins with it."""


def names_tmp(text: str) -> bool:
    """Return True if a text contains /tmp, or something in it."""
    return _NAMED.search(text) is not None


def seen_text(text: str, workspace: Workspace) -> str:
    """Return a text with the session's folder instead of /tmp, except for the workspace's own folders there."""
    tmp = workspace.tmp
    if tmp is None or TOP not in text:
        return text
    roots = [str(root) for root in (*workspace.resolved_roots, *workspace.roots, workspace.cwd, tmp)]
    own = [root for root in roots if root.startswith(f"{TOP}/")]

    def placed(found: re.Match[str]) -> str:
        rest = text[found.start() :]
        return (
            TOP if any(rest == root or rest.startswith(f"{root}/") or _ends(rest, root) for root in own) else str(tmp)
        )

    return _NAMED.sub(placed, text)


def _ends(text: str, root: str) -> bool:
    """Return True if a text begins with a root, and the name ends there."""
    return text.startswith(root) and not re.match(r"[\w.@+-]", text[len(root) :])


def seen_line(
    text: str, parts: Sequence[Part], places: Sequence[Sequence[Path]], workspace: Workspace
) -> tuple[str, tuple[Part, ...], list[list[Path]]]:
    """Return a line, its commands and the folders of each as the sandbox sees them."""

    def seen(pieces: Sequence[Piece]) -> tuple[Piece, ...]:
        return tuple(replace(piece, text=seen_text(piece.text, workspace)) for piece in pieces)

    there = tuple(Part(seen(part.words), seen(part.writes), seen(part.reads)) for part in parts)
    folders = [[_seen_path(folder, workspace) for folder in each] for each in places]
    return seen_text(text, workspace), there, folders


def _seen_path(path: Path, workspace: Workspace) -> Path:
    """Return the folder that a path leads to in the sandbox."""
    return Path(seen_text(os.path.normpath(path).replace(BELOW, "x"), workspace))
