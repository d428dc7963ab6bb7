"""Files that deny rules forbid reading: their paths, and which of them exist now, in folders and in the history of a repository."""

from __future__ import annotations

import glob
import os
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from urllib.parse import unquote

from agentcli.core.dataclass import dataclass
from agentcli.core.tool import Traits
from agentcli.permissions.git_config import repository
from agentcli.permissions.paths import Workspace, canonical, entries_of, impossible, resolved
from agentcli.permissions.rules import Rule, covers_below, path_pattern, path_rule
from agentcli.system import probe
from agentcli.system.programs import GIT_HARDENED_ENV, find_program

ENTRIES = 200_000
"""Largest number of directory entries to visit in the search for denied files; beyond it, some stay unknown."""
MOST = 1_000
"""Largest number of files and folders to hide; beyond it, some are not hidden."""
_PATH = 4_096
"""Length of the longest path, in characters."""
_BELOW = "\ue000"
"""Name of a file that exists in no folder."""


@dataclass(frozen=True, slots=True)
class Hidden:
    """Files that a command must not be able to read: resolved paths that exist.

    Of `folders` only the names of the files in `kept` stay visible: git would take them for deleted. `complete` is
    false if rules name more files than the search visited.
    """

    files: tuple[Path, ...] = ()
    folders: tuple[Path, ...] = ()
    kept: tuple[Path, ...] = ()
    objects: tuple[Path, ...] = ()
    """Folders of git objects whose history contains such files."""
    complete: bool = True
    told: bool = False
    """True if the command goes through hidden files, and the model must hear that they are left out."""

    @property
    def paths(self) -> tuple[Path, ...]:
        """Everything that is hidden."""
        return (*self.files, *self.folders, *self.objects)


NOTHING = Hidden()


def reading_denials(deny: Iterable[Rule], tools: Mapping[str, Traits]) -> tuple[Rule, ...]:
    """Return the rules with a pattern that deny reading to some tool."""
    readers = [name for name, traits in tools.items() if traits.reads_files]
    return tuple(rule for rule in deny if rule.pattern and any(rule.is_for(name) for name in readers))


def denial_of(path: str | Path, denials: Sequence[Rule], workspace: Workspace) -> Rule | None:
    """Return the rule that denies reading a path or, if it is a folder, everything in it."""
    text = os.fspath(path)
    if not denials or impossible(text):
        return None
    target = resolved(workspace.cwd / text)
    found = path_rule(denials, text, workspace, strict=False, target=target)
    if found is None and probe.is_dir(target):
        found = path_rule(whole(denials), os.path.join(text, _BELOW), workspace, strict=False, target=target / _BELOW)
    return found


def paths_given(value: object) -> Iterator[str]:
    """Yield what the texts in an input may name as paths; a text of several lines is a document, and names none."""
    match value:
        case str():
            yield from paths_named(value)
        case Mapping():
            yield from (path for inner in value.values() for path in paths_given(inner))
        case list() | tuple():
            yield from (path for inner in value for path in paths_given(inner))
        case _:
            return


def paths_named(text: str) -> Iterator[str]:
    """Yield the paths that a line may name: the line, its words, and the paths of `file:` and other local addresses in it."""
    line = text.strip()
    if "\n" not in line and len(line) < _PATH:
        words = dict.fromkeys((line, *_BETWEEN_WORDS.split(line)))
        yield from dict.fromkeys(unquote(form) for word in words for form in _forms(word) if form)


_BETWEEN_WORDS = re.compile(r"[\s'\"`,;|&<>(){}\[\]=]+")
_FILE_ADDRESS = re.compile(r"(?i)\bfile:(?://(?P<host>[^/?#]*))?(?P<path>[^?#]*)")
_ADDRESS = re.compile(r"(?i)(?P<scheme>[a-z][a-z0-9+.-]+)://(?P<rest>.*)")
_REMOTE = ("http", "https", "ws", "wss", "ftp", "ftps", "ssh", "git", "s3", "gs")


def _forms(word: str) -> Iterator[str]:
    """Yield a word, and the parts of it that a program may take for a path: without `@`, a line number or a fragment, after a colon."""
    if local := _FILE_ADDRESS.search(word):
        host, path = local["host"] or "", local["path"]
        yield from (path,) if host.lower() in ("", "localhost") else (path, host + path)
    elif address := _ADDRESS.fullmatch(word):
        if address["scheme"].lower() not in _REMOTE:
            yield from (address["rest"], "/" + address["rest"].partition("/")[2])
    else:
        spelled = word.lstrip("@").replace("\\", "/")
        yield from (word, spelled, re.split(r"[#?]", spelled)[0], spelled.rpartition(":")[2], spelled.partition(":")[0])


def whole(denials: Iterable[Rule]) -> tuple[Rule, ...]:
    """Return the rules that name everything below a folder."""
    return tuple(rule for rule in denials if rule.pattern.endswith(("**", "/")))


def existing(denials: Sequence[Rule], workspace: Workspace) -> Hidden:
    """Return the existing files and folders that rules deny reading."""
    search = _Search()
    for top, patterns in _by_top(denials, workspace).items():
        search.walk(top, patterns)
    return Hidden(tuple(dict.fromkeys(search.files)), tuple(dict.fromkeys(search.folders)), complete=search.left > 0)


def remaining(denials: Sequence[Rule], workspace: Workspace, folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield the rest of each pattern below a folder, with the folder that it is relative to: this one, or one below it.

    An empty pattern means everything.
    """
    for top, patterns in _by_top(denials, workspace).items():
        if top != folder and top.is_relative_to(folder):
            yield from ((top, "/".join(pattern)) for pattern in patterns)
            continue
        if not folder.is_relative_to(top):
            continue
        states = _closed((pattern, 0) for pattern in patterns)
        for part in folder.relative_to(top).parts:
            if any(map(_covers, states)):
                break
            states = _after(states, part)
        if any(map(_covers, states)):
            yield folder, ""
            continue
        yield from ((folder, "/".join(pattern[used:])) for pattern, used in states if used < len(pattern))


def _by_top(denials: Sequence[Rule], workspace: Workspace) -> dict[Path, list[tuple[str, ...]]]:
    """Return the patterns as components, by the folder that they are relative to."""
    tops: dict[Path, list[tuple[str, ...]]] = {}
    for rule in denials:
        pattern = rule.pattern
        if pattern.startswith("~/"):
            pattern = os.path.join(workspace.home, pattern[2:])
        if pattern.startswith("/"):
            tops.setdefault(Path("/"), []).append(_components(pattern[1:]))
            continue
        text = pattern.removeprefix("./")
        components = _components(text if "/" in pattern.rstrip("/") else f"**/{text}")
        for root in workspace.resolved_roots:
            tops.setdefault(root, []).append(components)
    return tops


def _components(pattern: str) -> tuple[str, ...]:
    text = f"{pattern}**" if pattern.endswith("/") else pattern
    return tuple(part for part in text.split("/") if part not in ("", "."))


class _Search:
    """Walk through only those folders that may contain a match of a pattern."""

    def __init__(self) -> None:
        self.files: list[Path] = []
        self.folders: list[Path] = []
        self.left = ENTRIES
        self._seen: set[tuple[str, frozenset[_State]]] = set()

    def walk(self, top: Path, patterns: Sequence[tuple[str, ...]]) -> None:
        """Collect the files and folders below `top` that the patterns name."""
        waiting = [(str(top), _closed((pattern, 0) for pattern in patterns))]
        if any(_covers(state) for state in waiting[0][1]):
            self.folders.append(top)
            return
        while waiting and self.left > 0:
            folder, states = waiting.pop()
            if (folder, states) in self._seen:
                continue
            self._seen.add((folder, states))
            for entry in entries_of(folder):
                self.left -= 1
                after = _after(states, entry.name)
                if after and (inner := self._found(entry, after)):
                    waiting.append((inner, after))
                if len(self.files) + len(self.folders) > MOST:
                    self.left = 0
                    return

    def _found(self, entry: os.DirEntry[str], states: frozenset[_State]) -> str:
        """Record the denied part of an entry; return the folder to look into, or the empty string."""
        path = os.path.realpath(entry.path) if entry.is_symlink() else entry.path
        ended = [state for state in states if _ends(state)]
        if not (entry.is_dir() if path is entry.path else os.path.isdir(path)):
            if ended and os.path.lexists(path):
                self.files.append(Path(path))
            return ""
        if any(map(_covers, ended)):
            self.folders.append(Path(path))
            return ""
        return path


_State = tuple[tuple[str, ...], int]
"""A pattern, and how many of its components the path so far has used."""


def _closed(states: Iterable[_State]) -> frozenset[_State]:
    """Return the states, and the states that they reach without another component."""
    found: set[_State] = set()
    waiting = list(states)
    while waiting:
        state = waiting.pop()
        if state not in found:
            found.add(state)
            pattern, used = state
            if used < len(pattern) and pattern[used] == "**":
                waiting.append((pattern, used + 1))
    return frozenset(found)


@lru_cache(maxsize=65_536)
def _after(states: frozenset[_State], name: str) -> frozenset[_State]:
    """Return the states after one more component of a path."""
    return _closed(_steps(states, name))


def _steps(states: frozenset[_State], name: str) -> Iterator[_State]:
    for pattern, used in states:
        if used == len(pattern):
            continue
        if "**" in pattern[used]:
            yield pattern, used
        if pattern[used] != "**" and _names(pattern[used], name):
            yield pattern, used + 1


def _names(component: str, name: str) -> bool:
    exact = path_pattern(f"./{component}")
    folded = path_pattern(f"./{component.casefold()}")
    return bool(exact.fullmatch(name) or folded.fullmatch(canonical(name)))


def _ends(state: _State) -> bool:
    pattern, used = state
    return used == len(pattern)


def _covers(state: _State) -> bool:
    """Return True if a pattern ends here and also names everything below: its last component is `**` or has no wildcard."""
    return _ends(state) and bool(state[0]) and covers_below(state[0][-1])


SECONDS = 5.0
"""Time limit for a look through the history, in seconds; a repository that takes longer counts as one that contains such files."""
_LOG = (
    *(
        "-c",
        "log.showRoot=true",
        "log",
        "--format=",
        "--raw",
        "-z",
        "--no-abbrev",
        "--no-renames",
        "-m",
        "--no-ext-diff",
    ),
    *("--ignore-submodules=none", "--full-history", "--all", "--reflog"),
)
_CHANGE = re.compile(r":\d{6} \d{6} ([0-9a-f]+) ([0-9a-f]+) [A-Z]\d*\0([^\0]+)\0")
_HEADS = ("FETCH_HEAD", "ORIG_HEAD", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD")
_REFS = 20_000
"""Largest number of reference files of a repository to check for changes."""


@dataclass(frozen=True, slots=True)
class Held:
    """Denied files in a repository: their `names` relative to the `top` of the work tree, and the ids of their `blobs`.

    `objects` are the folders that store their content. `known` is false if the search failed. `replaced` is true if references
    let git show other objects than a commit names; `remotes` are the names of other repositories.
    """

    top: Path
    objects: tuple[Path, ...]
    names: frozenset[str] = frozenset()
    blobs: frozenset[str] = frozenset()
    known: bool = True
    replaced: bool = False
    remotes: frozenset[str] = frozenset()

    @property
    def any(self) -> bool:
        """True if it contains denied files, or may contain some."""
        return bool(self.names) or not self.known


def held_around(folders: Sequence[Path], denials: Sequence[Rule], workspace: Workspace) -> list[Held]:
    """Return which denied files the repositories around these folders contain."""
    found: dict[Path, Held] = {}
    for folder in folders:
        top, *stores = repository(resolved(folder)) or (None,)
        if top is None or top in found:
            continue
        specs = tuple(_pathspecs(top, denials, workspace))
        folders_of = [store / "objects" if probe.exists(store / "HEAD") else store for store in stores]
        objects = tuple(folder for folder in folders_of if probe.is_dir(folder))
        if specs and objects:
            state = _state(stores[0], objects[0].parent)
            found[top] = _look(top, objects, specs, state, tuple(workspace.resolved_roots))
    return list(found.values())


def _pathspecs(top: Path, denials: Sequence[Rule], workspace: Workspace) -> Iterator[str]:
    """Yield the rules as git pathspecs for the top of a work tree."""
    for root, pattern in remaining(denials, workspace, top):
        before = f"{glob.escape(os.path.relpath(root, top))}/" if root != top else ""
        yield f":(top,glob,icase){before}{pattern}" if before + pattern else ":(top)"
        if pattern and covers_below(pattern) and not pattern.endswith("**"):
            yield f":(top,glob,icase){before}{pattern}/**"


@lru_cache(maxsize=32)
def _look(top: Path, objects: tuple[Path, ...], specs: tuple[str, ...], state: object, roots: tuple[Path, ...]) -> Held:
    git = find_program("git", roots)
    if not git:
        return Held(top, objects)
    heads = [head for head in _HEADS if any(probe.is_file(folder.parent / head) for folder in objects)]
    walk = [*_LOG, "--ignore-missing", *heads, "--", *specs]
    logged = run_git(git, top, walk)
    indexed = run_git(git, top, ["ls-files", "--stage", "-z", "--full-name", "--", *specs])
    replaced = bool(run_git(git, top, ["for-each-ref", "--count=1", "refs/replace"]))
    remotes = frozenset((run_git(git, top, ["remote"]) or "").split())
    if logged is None or indexed is None:
        return Held(top, objects, known=False, replaced=replaced, remotes=remotes)
    changes = _CHANGE.findall(logged)
    staged = [entry.partition("\t")[::2] for entry in indexed.split("\0") if "\t" in entry]
    names = {name for *_, name in changes} | {name for _, name in staged}
    blobs = {oid for *oids, _ in changes for oid in oids if oid.strip("0")} | {
        about.split(" ")[1] for about, _ in staged
    }
    return Held(top, objects, frozenset(names), frozenset(blobs), replaced=replaced, remotes=remotes)


def run_git(git: str, folder: Path, arguments: Sequence[str], given: str = "") -> str | None:
    """Return what a git command that starts no program prints in a folder, `given` on stdin; None if it fails or takes too long."""
    env = {name: text for name, text in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(
            [git, "--no-pager", "--no-replace-objects", *arguments],
            cwd=folder,
            env={**env, **GIT_HARDENED_ENV},
            input=os.fsencode(given),
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return os.fsdecode(done.stdout) if done.returncode == 0 else None


def _state(own: Path, common: Path) -> object:
    """Return a value that changes whenever the references, the index or the remotes of a repository change."""
    files = [own / "HEAD", own / "index", own / "logs/HEAD"]
    files += [common / "packed-refs", common / "logs/refs/stash", common / "config"]
    files += [own / head for head in _HEADS]
    for number, (folder, _, names) in enumerate(os.walk(common / "refs")):
        files += [Path(folder), *(Path(folder, name) for name in names)]
        if number * 16 + len(files) > _REFS:
            break
    return tuple(map(_stamp, files))


def _stamp(file: Path) -> tuple[int, int, int]:
    try:
        status = os.stat(file)
    except OSError:
        return (0, 0, 0)
    return (status.st_mtime_ns, status.st_ino, status.st_size)
