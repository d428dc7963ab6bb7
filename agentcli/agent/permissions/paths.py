"""One policy for every path, whether a file tool or a recognised shell command names it."""

from __future__ import annotations

import fnmatch
import os
import stat
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from agentcli.agent.permissions.place import Place, resolved
from agentcli.core.sanitise import invisible

Verdict = Literal["free", "outside", "protected", "refused"]

PROTECTED_FOLDERS = frozenset(
    {
        ".git",
        "git~1",  # the short name of .git on Windows file systems
        ".agentcli",
        ".claude",
        ".codex",
        ".gemini",
        ".cursor",
        ".vscode",
        ".idea",
        ".devcontainer",
    }
)
"""Folders whose files make programs run; `.git` as a file is covered too."""

PROTECTED_FILES = frozenset(
    {".gitmodules", ".gitconfig", ".mcp.json", ".envrc", ".ripgreprc", "agents.md", "claude.md", "gemini.md"}
    | {".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".inputrc"}
    | {".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".mkshrc", ".cshrc", ".tcshrc", ".login"}
    | {".logout", "config.fish"}
)
"""Files that start programs or tell an agent what to do, in lower case."""

PRIVATE_IN_HOME = (
    (".ssh",),
    (".aws",),
    (".netrc",),
    (".gnupg",),
    (".config", "git"),
    (".config", "agentcli"),
)
"""What holds credentials in the home folder: asked for before reading too."""

_SPECIAL_TREES = ("/proc", "/sys", "/dev")


@dataclass(frozen=True, slots=True)
class PathVerdict:
    """Whether a path may be used: `free` by the mode, `outside` the workspace, `protected` in every mode, or `refused`."""

    verdict: Verdict
    why: str = ""


FREE = PathVerdict("free")


def judge_path(text: str, place: Place, *, write: bool, cwd: Path | None = None) -> PathVerdict:
    """What the policy says of `text` as a path seen from `cwd`, both as it is written and where its links lead."""
    if "\0" in text:
        return PathVerdict("refused", "the path holds a NUL byte")
    if any(invisible(letter) for letter in text):
        return PathVerdict("protected", "the path holds invisible characters")
    verdicts = [_judge(reading, place, write) for reading in _readings(text, place, cwd or place.cwd)]
    return max(verdicts, key=lambda verdict: _SEVERITY[verdict.verdict])


def is_inside(path: Path, place: Place) -> bool:
    """Whether a resolved path lies in the workspace, compared by components."""
    return any(path == root or root in path.parents for root in place.workspace)


def names_protected(text: str, *, write: bool) -> str:
    """The protected name among the components of a path that is not resolved, or the empty string."""
    return next((part for part in text.split("/") if _protected_name(part, write)), "")


def could_name_protected(text: str) -> str:
    """The component with wildcards that could stand for a protected name, or the empty string."""
    for part in text.split("/"):
        plain = canonical(part)
        if any(sign in plain for sign in "*?[{") and plain.startswith((".", "[", "{")) and _glob_hits(plain):
            return part
    return ""


def canonical(name: str) -> str:
    """A file name as the most forgiving file system would compare it."""
    visible = "".join(letter for letter in name if not invisible(letter))
    plain = unicodedata.normalize("NFKC", visible).casefold().strip()
    return plain.split(":")[0].rstrip(" .") if plain.strip(".") else plain


_SEVERITY: dict[Verdict, int] = {"free": 0, "outside": 1, "protected": 2, "refused": 3}


def _readings(text: str, place: Place, cwd: Path) -> list[Path]:
    """The paths that `text` may mean: as it stands, and with the home folder filled in as a tool might do."""
    home = str(place.home)
    expanded = text.replace("${HOME}", home).replace("$HOME", home)
    if expanded == "~" or expanded.startswith("~/"):
        expanded = home + expanded[1:]
    return [Path(os.path.join(cwd, reading)) for reading in dict.fromkeys((text, expanded, text.strip()))]


def _judge(path: Path, place: Place, write: bool) -> PathVerdict:
    try:
        target = resolved(path)
    except (OSError, ValueError):
        return PathVerdict("refused", "the path cannot be resolved")
    lexical = Path(os.path.normpath(path))
    if special := _special(lexical, target):
        return PathVerdict("refused", special)
    for form in dict.fromkeys((lexical, target)):
        if private := _private(form, place):
            return PathVerdict("protected", private)
        for part in _below_root(form, place):
            if _protected_name(part, write):
                return PathVerdict("protected", f"{part} is protected")
    if not is_inside(target, place):
        return PathVerdict("outside", f"{target} is outside the workspace")
    return FREE


def _special(lexical: Path, target: Path) -> str:
    """Why a path is not one that files are kept under, or the empty string."""
    for form in (lexical, target):
        if any(form == Path(tree) or Path(tree) in form.parents for tree in _SPECIAL_TREES):
            return f"{form} is not a regular file"
    try:
        mode = target.stat().st_mode
    except (OSError, ValueError):
        return ""
    return "" if stat.S_ISREG(mode) or stat.S_ISDIR(mode) else f"{target} is not a regular file"


def _private(path: Path, place: Place) -> str:
    for folder in place.own:
        if _within(path, folder):
            return f"{folder} belongs to agentcli"
    for parts in PRIVATE_IN_HOME:
        for home in dict.fromkeys((place.home, resolved(place.home))):
            if _within(path, home.joinpath(*parts)):
                return f"~/{'/'.join(parts)} is private"
    return ""


def _within(path: Path, folder: Path) -> bool:
    """Like `is_relative_to`, for a file system that may ignore case."""
    wanted = [canonical(part) for part in folder.parts]
    return [canonical(part) for part in path.parts[: len(wanted)]] == wanted


def _below_root(path: Path, place: Place) -> tuple[str, ...]:
    """The components that the workspace itself does not answer for."""
    roots = {*place.workspace, *(place.roots or (place.cwd,))}
    inside = [root for root in roots if path == root or root in path.parents]
    if not inside:
        return path.parts
    deepest = max(inside, key=lambda root: len(root.parts))
    return path.parts[len(deepest.parts) :]


def _protected_name(part: str, write: bool) -> bool:
    name = canonical(part)
    if name.startswith(".env"):
        return name != ".env.example"
    return write and (name in PROTECTED_FOLDERS or name in PROTECTED_FILES)


def _glob_hits(pattern: str) -> bool:
    if "{" in pattern:
        return True
    return any(
        fnmatch.fnmatchcase(name, pattern) for name in (".env", ".env.local", *PROTECTED_FOLDERS, *PROTECTED_FILES)
    )
