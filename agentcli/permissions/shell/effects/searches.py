"""Recursive searches: the files that they open without naming them."""

from __future__ import annotations

import fnmatch
import itertools
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from agentcli.core.dataclass import dataclass
from agentcli.permissions.paths import Workspace, entries_below, is_exposed, judge_path, names_protected, resolved
from agentcli.permissions.shell.programs.known_programs import word_set
from agentcli.permissions.shell.programs.option_grammar import Found


@dataclass(frozen=True, slots=True)
class Search:
    """A search through folders."""

    opens: Callable[[str], bool]
    """Returns True for the path of a hidden file that it may read."""
    hidden: bool = True
    """False if only an ignore file of the tree can include hidden files (`!.env`)."""
    follows: bool = False
    """True if it follows links."""


def search_of(name: str, arguments: Sequence[str], found: Found) -> Search | None:
    """Return the search of a recognised reading command, or None if it opens only the files in its words."""
    options = [word for word in arguments if word.startswith("-")]
    short = "".join(word[1:] for word in options if not word.startswith("--"))
    match name:
        case "grep" | "egrep" | "fgrep":
            follows = "R" in short or "--dereference-recursive" in options
            return _grep(options, found, follows) if follows or "r" in short or "--recursive" in options else None
        case "rg":
            unlimited = "." in short or "u" in short or not {"--hidden", "--unrestricted"}.isdisjoint(options)
            return _rg(unlimited, found)
        case "diff":
            return Search(_any, follows=True)
        case _:
            return None


def objection(search: Search, tops: Sequence[Path], workspace: Workspace) -> tuple[str, bool]:
    """Return why the search must ask, and True if the reason is a protected file.

    The reason is empty if it may run.
    """
    for top in tops:
        if not search.follows and is_exposed(resolved(top), workspace):
            continue  # what is private there stays hidden
        left = workspace.limits.walk
        for entry in entries_below(top):
            left -= 1
            if search.follows and entry.is_symlink():
                verdict = judge_path(entry.path, workspace, write=False)
                if verdict.verdict != "free":
                    return f"the search would follow a link: {verdict.why}", verdict.verdict == "protected"
            reads = _private(entry.name) and search.opens(entry.path) and (search.hidden or _unhidden(entry))
            if reads and Path(entry.path) not in workspace.concealed:
                return f"the search would read {entry.path}, which is protected", True
            if not left:
                return (
                    ("the search goes through too many files to be looked at first", False)
                    if search.hidden
                    else ("", False)
                )
    return "", False


def _grep(options: list[str], found: Found, follows: bool) -> Search:
    globs = [value for kind, value in found if kind == "glob"]
    # A file that no pattern matches is searched, unless the first pattern is an --include.
    first = next((word for word in options if word.startswith(("--include", "--exclude"))), "")
    opens = _any_of(globs) if globs and first.startswith("--include") else _any
    return Search(opens, follows=follows)


def _rg(unlimited: bool, found: Found) -> Search:
    globs = [value for kind, value in found if kind == "glob" and not value.startswith("!")]
    if globs:
        return Search(_any_of(globs))
    typed = any(kind == "filetype" for kind, _ in found)
    return Search(_of_a_type) if typed and not unlimited else Search(_any, hidden=unlimited)


def _any(path: str) -> bool:
    return True


def _any_of(globs: Sequence[str]) -> Callable[[str], bool]:
    return lambda path: any(_may_match(glob, path) for glob in globs)


_TYPED = word_set(
    "json jsonc yaml yml toml ini conf cfg xml sh bash zsh py js mjs cjs ts rb php go lua pl txt md html css sql"
)


def _of_a_type(path: str) -> bool:
    """Return True if a file type of ripgrep may cover a hidden file: types override hiding."""
    return path.rpartition(".")[2].lower() in _TYPED


def _may_match(glob: str, path: str) -> bool:
    """Return True if a glob may match the file at a path, or if in doubt.

    Dialects differ in nesting, escapes and anchors.
    """
    plain = glob.replace("\\", "").replace("[^", "[!").lower().rstrip("/")
    if plain.count("{") > 1 or "{" in plain.rpartition("}")[2]:
        return True
    return any(_one_may_match(form, path.lower()) for form in _alternatives(plain))


def _alternatives(glob: str) -> list[str]:
    before, brace, rest = glob.partition("{")
    inside, _, after = rest.partition("}")
    return [before + middle + after for middle in inside.split(",")] if brace else [glob]


def _one_may_match(glob: str, path: str) -> bool:
    folders, _, last = glob.rpartition("/")
    named = itertools.takewhile(lambda part: _WILD.isdisjoint(part), folders.split("/"))
    return all(part in path.split("/") for part in named if part) and fnmatch.fnmatchcase(path.rpartition("/")[2], last)


_WILD = frozenset("*?[")


def _private(name: str) -> bool:
    # A cheap check excludes most names: a walk meets thousands.
    return (name[0] in ". " or not name.isascii()) and bool(names_protected(name, write=False))


_IGNORE_FILES = (".gitignore", ".ignore", ".rgignore")


def _unhidden(entry: os.DirEntry[str]) -> bool:
    """Return True if an ignore file beside or above a hidden file re-includes it."""
    folders = Path(entry.path).parents
    files = (folder / name for folder in folders for name in (*_IGNORE_FILES, ".git/info/exclude"))
    return any(_may_match(line[1:], entry.path) for file in files for line in _lines(file) if line.startswith("!"))


def _lines(file: Path) -> list[str]:
    try:
        with file.open("rb") as opened:
            return [line.decode("utf-8", "replace").strip() for line in opened.read(1_000_000).split(b"\n")]
    except OSError:
        return []
