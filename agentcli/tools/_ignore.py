"""What .gitignore files say about a folder, for the search that does without ripgrep."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


@dataclass(frozen=True, slots=True)
class _Rules:
    """The patterns of one folder; `folder` is its absolute path with a slash at the end."""

    folder: str
    spec: GitIgnoreSpec


def walk(base: Path) -> Iterator[str]:
    """Relative paths of the regular files that no .gitignore names, links and `.git` left out."""
    root = os.path.abspath(base)
    above = () if is_ignored(base) else _rules_above(root)
    yield from _walk(root, "", above)


def is_ignored(base: Path) -> bool:
    """Whether the folder itself, or one that it lies in, is ignored. Then only what lies inside it has a say about its files."""
    inner = os.path.abspath(base)
    while inner != os.path.dirname(inner) and not os.path.lexists(os.path.join(inner, ".git")):
        outer = os.path.dirname(inner)
        rules = _rules_above(inner)
        if rules and _says_ignored(rules, inner + "/"):
            return True
        inner = outer
    return False


def _walk(root: str, inside: str, rules: tuple[_Rules, ...]) -> Iterator[str]:
    folder = os.path.join(root, inside)
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return
    rules = _with_own(folder, {entry.name for entry in entries}, rules)
    for entry in entries:
        path = f"{inside}{entry.name}"
        if entry.name == ".git" or entry.is_symlink():
            continue
        if entry.is_dir(follow_symlinks=False):
            if not _says_ignored(rules, entry.path + "/"):
                yield from _walk(root, path + "/", rules)
        elif entry.is_file(follow_symlinks=False) and not _says_ignored(rules, entry.path):
            yield path


def _rules_above(folder: str) -> tuple[_Rules, ...]:
    """The rules of the folders around this one, up to the top of its repository or of the file system; outermost first."""
    found: tuple[_Rules, ...] = ()
    while not os.path.lexists(os.path.join(folder, ".git")) and folder != os.path.dirname(folder):
        folder = os.path.dirname(folder)
        found = (*_own(folder), *found)
    return found


def _with_own(folder: str, names: set[str], outer: tuple[_Rules, ...]) -> tuple[_Rules, ...]:
    """The rules inside a folder: those around it and its own; a repository within a repository starts afresh."""
    if ".git" in names:
        return _own(folder)
    return (*outer, *_own(folder)) if ".gitignore" in names else outer


def _own(folder: str) -> tuple[_Rules, ...]:
    lines = _lines(os.path.join(folder, ".git", "info", "exclude")) + _lines(os.path.join(folder, ".gitignore"))
    if not lines:
        return ()
    from pathspec import GitIgnoreSpec

    return (_Rules(folder.rstrip("/") + "/", GitIgnoreSpec.from_lines(lines)),)


def _lines(file: str) -> list[str]:
    try:
        with open(file, encoding="utf-8", errors="replace") as stream:
            return [line for line in stream.read().splitlines() if line.strip() and not line.startswith("#")]
    except OSError:
        return []


def _says_ignored(rules: tuple[_Rules, ...], path: str) -> bool:
    """What the innermost rule that knows the path says."""
    for rule in reversed(rules):
        verdict = rule.spec.check_file(path[len(rule.folder) :]).include
        if verdict is not None:
            return verdict
    return False
