"""Recursive searches: the files they would open beside those they name, and the paths that `find` reads."""

from __future__ import annotations

import fnmatch
import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from agentcli.core.dataclass import dataclass
from agentcli.permissions import word_set
from agentcli.permissions.paths import Workspace, judge_path, names_protected
from agentcli.permissions.readonly.option_grammar import Found


@dataclass(frozen=True, slots=True)
class Search:
    """A search that goes through folders: `opens` is true for the path of a hidden file that it may read.

    `hidden` is false where only an ignore file of the tree (`!.env`) can bring hidden files in; `follows` says that
    links are followed.
    """

    opens: Callable[[str], bool]
    hidden: bool = True
    follows: bool = False


def search_of(name: str, arguments: Sequence[str], found: Found) -> Search | None:
    """The search that a recognised reading command makes, or None when it opens just what it names."""
    options = [word for word in arguments if word.startswith("-")]
    short = "".join(word[1:] for word in options if not word.startswith("--"))
    match name:
        case "grep" | "egrep" | "fgrep":
            return _grep(options, found) if "r" in short or "--recursive" in options else None
        case "rg":
            unlimited = "." in short or "u" in short or not {"--hidden", "--unrestricted"}.isdisjoint(options)
            return _rg(unlimited, found)
        case "diff":
            return Search(_any, follows=True)
        case _:
            return None


def objection(search: Search, tops: Sequence[Path], workspace: Workspace) -> tuple[str, bool]:
    """The reason that the search must ask, and true if a protected file is it; an empty reason where it may run."""
    for top in tops:
        left = workspace.limits.walk
        for entry in below(top):
            left -= 1
            if search.follows and entry.is_symlink():
                verdict = judge_path(entry.path, workspace, write=False)
                if verdict.verdict != "free":
                    return f"the search would follow a link: {verdict.why}", verdict.verdict == "protected"
            if _private(entry.name) and search.opens(entry.path) and (search.hidden or _unhidden(entry)):
                return f"the search would read {entry.path}, which is protected", True
            if not left:
                return (
                    ("the search goes through too many files to be looked at first", False)
                    if search.hidden
                    else ("", False)
                )
    return "", False


def _grep(options: list[str], found: Found) -> Search:
    globs = [value for kind, value in found if kind == "glob"]
    # What no pattern speaks of is searched, unless the first of them is an --include.
    first = next((word for word in options if word.startswith(("--include", "--exclude"))), "")
    return Search(_any_of(globs) if globs and first.startswith("--include") else _any)


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
    """True if a file type of ripgrep may cover a hidden file: types go before hiding."""
    return path.rpartition(".")[2].lower() in _TYPED


def _may_match(glob: str, path: str) -> bool:
    """True if a glob may stand for the file at a path, and in doubt: dialects differ in nesting, escapes and anchors."""
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
    # Most names are told apart without looking closer: a walk meets thousands.
    return (name[0] in ". " or not name.isascii()) and bool(names_protected(name, write=False))


_IGNORE_FILES = (".gitignore", ".ignore", ".rgignore")


def _unhidden(entry: os.DirEntry[str]) -> bool:
    """True if an ignore file beside or above a hidden file re-includes it."""
    folders = Path(entry.path).parents
    files = (folder / name for folder in folders for name in (*_IGNORE_FILES, ".git/info/exclude"))
    return any(_may_match(line[1:], entry.path) for file in files for line in _lines(file) if line.startswith("!"))


def _lines(file: Path) -> list[str]:
    try:
        with file.open("rb") as opened:
            return [line.decode("utf-8", "replace").strip() for line in opened.read(1_000_000).split(b"\n")]
    except OSError:
        return []


def below(top: Path) -> Iterator[os.DirEntry[str]]:
    """Everything below a folder, breadth first; git's own folder and links are not entered."""
    waiting = [str(top)]
    for folder in waiting:
        for entry in _entries(folder):
            yield entry
            if entry.is_dir(follow_symlinks=False) and entry.name != ".git":
                waiting.append(entry.path)


def _entries(folder: str) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            yield from entries
    except OSError:
        return


_FIND_FLAGS = word_set("""
-print -print0 -ls -prune -true -false -quit -daystart -noleaf -empty -readable -writable -executable -nouser
-nogroup -depth -mount -xdev -not -a -and -o -or ! ( ) ,
""")
_FIND_TESTS = word_set("""
-name -iname -path -ipath -wholename -iwholename -regex -iregex -regextype -type -xtype -size -mtime -mmin -atime
-amin -ctime -cmin -newermt -perm -user -group -uid -gid -links -inum -maxdepth -mindepth -printf -lname -ilname
-fstype -used
""")
_FIND_FILES = word_set("""
-newer -anewer -cnewer -samefile
""")


def find_reads(arguments: Sequence[str]) -> list[tuple[str, str]] | str:
    """The paths that a `find` without actions looks at, or why it may do more."""
    found: list[tuple[str, str]] = []
    waiting = list(reversed(arguments))
    while waiting and (waiting[-1] in ("-H", "-P") or not waiting[-1].startswith(("-", "(", "!", ","))):
        word = waiting.pop()
        if not word.startswith("-"):
            found.append(("path", word))
    while waiting:
        word = waiting.pop()
        if word in _FIND_FLAGS:
            continue
        if word not in _FIND_TESTS | _FIND_FILES:
            return f"find {word} is not known to only read"
        if not waiting:
            return f"find {word} lacks its value"
        found.append(("path" if word in _FIND_FILES else "text", waiting.pop()))
    return found
