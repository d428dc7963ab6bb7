"""Rules of .gitignore files, for searches without ripgrep."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from agentcli.core.dataclass import dataclass

_TOKEN = r"(?s)(?:(?<=/)|^)\*\*/|/\*\*$|\*+|\?|\[[!^]?\]?(?:\[:\w+:\]|\\.|[^]\\])*\]|\\.|."
_CLASS = re.compile(r"\[:(\w+):\]|(\\.)|(\[)|.", re.DOTALL)
_CLASSES = {
    "alpha": "a-zA-Z",
    "digit": "0-9",
    "alnum": "a-zA-Z0-9",
    "upper": "A-Z",
    "lower": "a-z",
    "xdigit": "0-9a-fA-F",
    "space": r"\s",
    "blank": r" \t",
    "punct": r"!-/:-@\[-`{-~",
    "print": " -~",
    "graph": "!-~",
    "cntrl": r"\x00-\x1f\x7f",
}
"""Named character classes between brackets, as git knows them: ASCII only."""


@dataclass(frozen=True, slots=True)
class _Rule:
    """One line of a .gitignore: which names it matches, whether only folders, and whether it re-includes ignored names."""

    names: re.Pattern[str]
    folders_only: bool
    takes_back: bool


@dataclass(frozen=True, slots=True)
class _Rules:
    """The rules of one folder, the last first, because the last match decides.

    `folder` is its absolute path with a final slash.
    """

    folder: str
    rules: tuple[_Rule, ...]


def walk(base: Path) -> Iterator[str]:
    """Yield relative paths of regular files that no .gitignore covers, without links and `.git`."""
    root = os.path.abspath(base)
    above = () if is_ignored(base) else _rules_above(root)
    yield from _walk(root, "", above)


Kind = Literal["file", "ignored", "folder", "skipped", "large"]


def everything(base: Path, skip: frozenset[str], most: int) -> list[tuple[str, Kind]]:
    """List all entries in a folder that a command may change, links as files, sorted, without `.git`.

    Folders in `skip` are not entered, nor are large ignored folders. Those have more entries than are left of `most`,
    which counts the entries of all ignored folders together.
    """
    root = os.path.abspath(base)
    above = () if is_ignored(base) else _rules_above(root)
    found: list[tuple[str, Kind]] = []
    _add_everything(found, root, "", above, skip, [most])
    found.sort()
    return found


def _add_everything(
    found: list[tuple[str, Kind]],
    root: str,
    inside: str,
    rules: tuple[_Rules, ...],
    skip: frozenset[str],
    left: list[int],
) -> None:
    folder = os.path.join(root, inside)
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return
    rules = _with_own(folder, {entry.name for entry in entries}, rules)
    for entry in entries:
        path = inside + entry.name
        if not entry.is_dir(follow_symlinks=False):
            if entry.name != ".git":
                found.append((path, "ignored" if _says_ignored(rules, entry.path) else "file"))
        elif entry.name in skip:
            if entry.name != ".git":
                found.append((path, "skipped"))
        elif _says_ignored(rules, entry.path + "/"):
            within: list[tuple[str, Kind]] = [(path, "folder")]
            if _add_ignored(within, root, path + "/", skip, left[0]):
                left[0] -= len(within)
                found += within
            else:
                found.append((path, "large"))
        else:
            found.append((path, "folder"))
            _add_everything(found, root, path + "/", rules, skip, left)


def _add_ignored(found: list[tuple[str, Kind]], root: str, inside: str, skip: frozenset[str], most: int) -> bool:
    """Add the entries of an ignored folder; return False once there are more than `most`."""
    try:
        entries = os.scandir(os.path.join(root, inside))
    except OSError:
        return True
    with entries:
        for entry in entries:
            path = inside + entry.name
            if len(found) >= most:
                return False
            if not entry.is_dir(follow_symlinks=False):
                found.append((path, "ignored"))
            elif entry.name in skip:
                found.append((path, "skipped"))
            else:
                found.append((path, "folder"))
                if not _add_ignored(found, root, path + "/", skip, most):
                    return False
    return True


def is_ignored(base: Path) -> bool:
    """Return True if the folder itself, or one around it, is ignored. Then only rules inside it apply to its files."""
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
    """Return the rules of the folders above this one, outermost first.

    The search ends at the top of its repository or file system.
    """
    found: tuple[_Rules, ...] = ()
    while not os.path.lexists(os.path.join(folder, ".git")) and folder != os.path.dirname(folder):
        folder = os.path.dirname(folder)
        found = (*_own(folder), *found)
    return found


def _with_own(folder: str, names: set[str], outer: tuple[_Rules, ...]) -> tuple[_Rules, ...]:
    """Return the rules inside a folder: the outer ones and its own; a nested repository has only its own."""
    if ".git" in names:
        return _own(folder)
    return (*outer, *_own(folder)) if ".gitignore" in names else outer


def _own(folder: str) -> tuple[_Rules, ...]:
    lines = _lines(os.path.join(folder, ".git", "info", "exclude")) + _lines(os.path.join(folder, ".gitignore"))
    if not lines:
        return ()
    rules = [rule for line in reversed(lines) if (rule := _rule(line)) is not None]
    return (_Rules(folder.rstrip("/") + "/", tuple(rules)),)


def _lines(file: str) -> list[str]:
    try:
        with open(file, encoding="utf-8-sig", errors="replace") as stream:
            return stream.read().split("\n")
    except OSError:
        return []


def _rule(line: str) -> _Rule | None:
    """Return the rule of a line by gitignore(5); None for a comment, a blank line or a broken pattern."""
    line = re.sub(r"(?<!\\) +$", "", line.removesuffix("\r"))
    if line.startswith("#"):
        return None
    takes_back = line.startswith("!")
    pattern = line[takes_back:]
    folders_only = pattern.endswith("/")
    pattern = pattern.rstrip("/")
    if not pattern:
        return None
    anywhere = "" if "/" in pattern else "(?:.*/)?"
    try:
        names = re.compile(
            anywhere + "".join(map(_translated, re.findall(_TOKEN, pattern.removeprefix("/")))), re.DOTALL
        )
    except re.error:
        return None
    return _Rule(names, folders_only, takes_back)


def _translated(token: str) -> str:
    if token == "**/":
        return "(?:.*/)?"
    if token == "/**":
        return "/.+"
    if token.startswith("*"):
        return "[^/]*"
    if token == "?":
        return "[^/]"
    if token.startswith("[") and len(token) > 1:
        inside = token[1:-1]
        negated = inside[:1] in ("!", "^")
        return f"(?!/)[{'^' if negated else ''}{_CLASS.sub(_in_brackets, inside[negated:])}]"
    return re.escape(token[-1])


def _in_brackets(found: re.Match[str]) -> str:
    """Return a member of a bracket as Python writes it. Raises re.error for an unknown class."""
    name, escaped, bracket = found.groups()
    if name is not None and name not in _CLASSES:
        raise re.error(f"there is no class {name}")
    return _CLASSES[name] if name is not None else re.escape(escaped[1]) if escaped else "\\[" if bracket else found[0]


def _says_ignored(around: tuple[_Rules, ...], path: str) -> bool:
    """Return the verdict of the innermost rule that matches a path; a folder's path ends with a slash."""
    name = path.rstrip("/")
    for rules in reversed(around):
        inner = name[len(rules.folder) :]
        for rule in rules.rules:
            if (not rule.folders_only or name != path) and rule.names.fullmatch(inner):
                return not rule.takes_back
    return False
