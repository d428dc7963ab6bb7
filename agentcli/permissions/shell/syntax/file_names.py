"""File names that the shell substitutes for a command's patterns, looked up before it runs."""

from __future__ import annotations

import fnmatch
import glob
import itertools
import re
from collections.abc import Sequence
from pathlib import Path

from agentcli.permissions.paths import Workspace, is_shown, judge_path
from agentcli.permissions.shell.syntax.parse import PLACE, Command

MOST = 500
"""Maximum file names that a line's patterns may match; a line with more asks."""
_TOO_MANY = "names too many files to be looked at first"


def meanings(command: Command, folders: Sequence[Path], workspace: Workspace) -> list[tuple[str, ...]] | str:
    """Return the words of a command as it may run, once for each round of its loop.

    File names replace patterns; a pattern that matches no file stays unchanged. If the words cannot be determined,
    return the reason.
    """
    values = [""]
    if command.loop:
        found = _expanded(command.loop.words, command.loop.globs, folders, workspace)
        if isinstance(found, str):
            return found
        values = list(dict.fromkeys(found))
    rounds: list[tuple[str, ...]] = []
    globs = command.globs or ("",) * len(command.words)
    words = _expanded(command.words, globs, folders, workspace)
    if isinstance(words, str):
        return words
    for value in values:
        rounds.append(tuple(word.replace(PLACE, value) for word in words))
    return rounds


def read_both(words: Sequence[str], folders: Sequence[Path], workspace: Workspace) -> list[tuple[str, ...]] | str:
    """Return words as they are if quoted, and as they are if the shell substitutes file names for their patterns.

    If these cannot be determined, return the reason.
    """
    wild = [not {"*", "?", "["}.isdisjoint(word) for word in words]
    if not any(wild):
        return [tuple(words)]
    if any(is_wild and re.match(r"~[^/]", word) for word, is_wild in zip(words, wild, strict=True)):
        return "uses a wildcard in another folder"
    home = str(workspace.home)
    at_home = (home + word[1:] if word.startswith("~/") else word for word in words)
    globs = tuple(word if is_wild else "" for word, is_wild in zip(at_home, wild, strict=True))
    found = meanings(Command(tuple(words), "", True, globs), folders, workspace)
    return found if isinstance(found, str) else list(dict.fromkeys([tuple(words), *found]))


def _expanded(
    words: Sequence[str], globs: Sequence[str], folders: Sequence[Path], workspace: Workspace
) -> list[str] | str:
    expanded: list[str] = []
    for word, pattern in zip(words, globs, strict=True):
        if not pattern:
            expanded.append(word)
            continue
        # In older shells `.?` and `..*` match the parent folder as well.
        if any(
            part.startswith(".") and {"*", "?", "["} & set(part) and fnmatch.fnmatchcase("..", part)
            for part in word.split("/")
        ):
            return "uses a wildcard for hidden names"
        top = _folder_before(word)
        verdicts = [judge_path(top, workspace, write=False, cwd=folder) for folder in folders] if top else []
        if any(one.verdict != "free" and not is_shown(one.path, workspace) for one in verdicts):
            return f"{top} is outside the workspace"
        fitting = (found for folder in folders for found in glob.iglob(pattern, root_dir=folder))
        names = list(dict.fromkeys(itertools.islice(fitting, MOST + 1)))
        expanded += names or [word]
        if len(expanded) > MOST:
            return _TOO_MANY
    return expanded


def _folder_before(word: str) -> str:
    """Return the folder in which a pattern searches: everything before its first component with a wildcard."""
    parts = list(itertools.takewhile(lambda part: not {"*", "?", "["} & set(part), word.split("/")))
    return "/".join(parts) or ("/" if word.startswith("/") else "")
