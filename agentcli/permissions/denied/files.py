"""Files that deny rules protect from reading: their paths, and the existing ones.

Files exist in folders, and in a repository's history.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import lru_cache
from itertools import takewhile
from pathlib import Path
from typing import Literal
from urllib.parse import unquote

from agentcli.core.dataclass import dataclass, replace
from agentcli.core.text.path_pattern import (
    any_component,
    as_text,
    covers_below,
    literal,
    matches_in_some_reading,
    names_wildcard,
    written_out,
)
from agentcli.core.tool import Traits
from agentcli.permissions.paths import (
    Workspace,
    below,
    canonical,
    entries_of,
    impossible,
    is_template,
    leaves_templates,
    resolved,
)
from agentcli.permissions.rules import Rule, path_rule
from agentcli.system import probe

ENTRIES = 200_000
"""Maximum directory entries to visit in the search for denied files; beyond it, some stay unknown."""
MOST = 1_000
"""Maximum files and folders to hide; beyond it, some are not hidden."""
_PATH = 4_096
"""Length of the longest path, in characters."""
_BELOW = "\ue000"
"""Name of a file that exists in no folder."""


@dataclass(frozen=True, slots=True)
class Hidden:
    """Files that a command must not read: resolved paths that exist.

    In `folders`, only the names of files in `kept` stay visible: git would otherwise consider them deleted. `complete`
    is false if rules match more files than the search visited.
    """

    files: tuple[Path, ...] = ()
    folders: tuple[Path, ...] = ()
    kept: tuple[Path, ...] = ()
    objects: tuple[Path, ...] = ()
    """Folders of git objects whose history contains such files."""
    complete: bool = True
    empty: bool = False
    """True if the files look empty instead, as a command that only reads searches through them."""
    told: bool = False
    """True if the command searches through hidden files, and the model must learn that they are missing."""

    @property
    def paths(self) -> tuple[Path, ...]:
        """Everything that is hidden."""
        return (*self.files, *self.folders, *self.objects)


NOTHING = Hidden()


def still_there(hidden: Hidden) -> Hidden:
    """Return it without paths that were removed since the search; a sandbox would make an empty file of each."""
    if all(map(os.path.lexists, hidden.paths)):
        return hidden
    files, folders, objects = (
        tuple(filter(os.path.lexists, paths)) for paths in (hidden.files, hidden.folders, hidden.objects)
    )
    kept = tuple(path for path in hidden.kept if below(path, folders))
    return replace(hidden, files=files, folders=folders, objects=objects, kept=kept)


def reading_denials(deny: Iterable[Rule], tools: Mapping[str, Traits]) -> tuple[Rule, ...]:
    """Return the rules with a pattern that deny reading by any tool."""
    readers = [name for name, traits in tools.items() if traits.reads_files]
    return tuple(rule for rule in deny if rule.pattern and any(rule.is_for(name) for name in readers))


def denial_of(path: str | Path, denials: Sequence[Rule], workspace: Workspace) -> Rule | None:
    """Return the rule that denies reading a path or, for a folder, everything in it."""
    text = os.fspath(path)
    if not denials or impossible(text):
        return None
    target = resolved(workspace.cwd / text)
    found = path_rule(denials, text, workspace, strict=False, target=target)
    if found is None and probe.is_dir(target):
        found = path_rule(whole(denials), os.path.join(text, _BELOW), workspace, strict=False, target=target / _BELOW)
    return found


def paths_given(value: object) -> Iterator[str]:
    """Yield possible paths in the texts of an input; a text of several lines is a document, and contains none."""
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
    """Yield possible paths in a line: the line and its words.

    Paths of `file:` and other local addresses are among them.
    """
    line = text.strip()
    if "\n" not in line and len(line) < _PATH:
        words = dict.fromkeys((line, *_BETWEEN_WORDS.split(line)))
        yield from dict.fromkeys(unquote(form) for word in words for form in _forms(word) if form)


_BETWEEN_WORDS = re.compile(r"[\s'\"`,;|&<>(){}\[\]=]+")
_FILE_ADDRESS = re.compile(r"(?i)\bfile:(?://(?P<host>[^/?#]*))?(?P<path>[^?#]*)")
_ADDRESS = re.compile(r"(?i)(?P<scheme>[a-z][a-z0-9+.-]+)://(?P<rest>.*)")
_REMOTE = ("http", "https", "ws", "wss", "ftp", "ftps", "ssh", "git", "s3", "gs")


def _forms(word: str) -> Iterator[str]:
    """Yield a word, and its parts that a program may treat as a path.

    A part has no `@`, line number or fragment, or begins after a colon.
    """
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


def naming_nothing(rules: Iterable[Rule], workspace: Workspace) -> list[Rule]:
    """Return the rules about files whose path does not exist in any reading, up to the first wildcard.

    A rule without such a path may match.
    """
    return [rule for rule in rules if rule.pattern and not _may_exist(rule.pattern, workspace)]


def _may_exist(pattern: str, workspace: Workspace) -> bool:
    relative = pattern.removeprefix("./")
    if "/" not in pattern.rstrip("/"):
        return True  # at any depth
    tops = (
        [workspace.home]
        if pattern.startswith("~/")
        else [Path("/")]
        if pattern.startswith("/")
        else workspace.resolved_roots
    )
    for each in written_out(relative.removeprefix("~/").lstrip("/")):
        head = list(takewhile(lambda part: not names_wildcard(part) and "[" not in part, each.rstrip("/").split("/")))
        plain = as_text("/".join(head))
        whole = as_text(each) if not names_wildcard(each) else plain
        if any(os.path.lexists(top / name) for top in tops for name in {plain, whole}):
            return True
    return False


def existing(denials: Sequence[Rule], workspace: Workspace) -> Hidden:
    """Return the existing files and folders that rules deny reading."""
    search = _Search()
    for top, patterns in _by_top(denials, workspace).items():
        search.walk(top, patterns)
    return Hidden(tuple(dict.fromkeys(search.files)), tuple(dict.fromkeys(search.folders)), complete=search.left > 0)


def remaining(denials: Sequence[Rule], workspace: Workspace, folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield the rest of each pattern below a folder, with its base folder: this one, or one below it.

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
    """Return the patterns as components, grouped by their base folder."""
    tops: dict[Path, list[tuple[str, ...]]] = {}
    for pattern in (each for rule in denials for each in written_out(rule.pattern)):
        if pattern.startswith("~/"):
            pattern = os.path.join(literal(str(workspace.home)), pattern[2:])
        if pattern.startswith("/"):
            tops.setdefault(Path("/"), []).append(_components(pattern[1:]))
            continue
        for root in (*workspace.resolved_roots, *workspace.exposed.paths):
            tops.setdefault(root, []).append(relative_components(pattern))
    return tops


def relative_components(pattern: str) -> tuple[str, ...]:
    """Return the components of a pattern that is relative to the top of the workspace, or to no folder."""
    text = pattern.removeprefix("./")
    return _components(text if "/" in pattern.rstrip("/") else f"**/{text}")


def _components(pattern: str) -> tuple[str, ...]:
    text = f"{pattern}**" if pattern.endswith("/") else pattern
    return tuple(part for part in text.split("/") if part not in ("", "."))


class _Search:
    """Walk only through folders that may contain a match of a pattern."""

    def __init__(self) -> None:
        self.files: list[Path] = []
        self.folders: list[Path] = []
        self.left = ENTRIES

    def walk(self, top: Path, patterns: Sequence[tuple[str, ...]]) -> None:
        """Collect the files and folders below `top` that the patterns name."""
        start = (str(top), _closed((pattern, 0) for pattern in patterns))
        if any(map(_covers, start[1])):
            self.folders.append(top)
            return
        before = _known.get(start, _NEW)
        changed = probe.changed(start[0], before.stamps)
        if before is _NEW or before.fleeting or changed:
            before = self._again(start, before, changed)
        self.files += before.files
        self.folders += before.folders
        self.left -= before.entries
        if len(self.files) + len(self.folders) > MOST:
            self.left = 0

    def _again(self, start: _Place, before: _Walk, changed: Container[str]) -> _Walk:
        """Search all folders again. Only new and changed ones are read from the disk."""
        places: dict[_Place, _Listed] = {}
        walk = _Walk(places)
        waiting = [start]
        while waiting and walk.entries < self.left and len(walk.files) + len(walk.folders) <= MOST:
            place = waiting.pop()
            if place in places:
                continue
            name = probe.name_below(start[0], place[0])
            listed = None if name in changed else before.places.get(place)
            places[place] = listed = listed or _listed(place)
            walk.stamps[name] = listed.stamp if walk.stamps.get(name, listed.stamp) == listed.stamp else None
            walk.entries += listed.entries
            waiting += listed.below
            for path, kind, after in listed.named:
                if inner := walk.found(path, kind, after):
                    waiting.append((inner, after))
        walk.fleeting |= bool(waiting)
        if len(_known) > _WALKS:
            del _known[next(iter(_known))]
        _known[start] = walk
        return walk


_State = tuple[tuple[str, ...], int]
"""A pattern, and how many of its components the path so far has used."""
_Kind = Literal["file", "covered", "folder", "link", "other"]
"""A denied file or folder, a folder to search, a link, or something that no pattern names."""


def _kind(is_folder: bool, states: frozenset[_State]) -> _Kind:
    if is_folder:
        return "covered" if any(map(_covers, states)) else "folder"
    return "file" if any(map(_ends, states)) else "other"


_Place = tuple[str, frozenset[_State]]
"""A folder, and the states of the patterns in it."""


@dataclass(frozen=True, slots=True)
class _Listed:
    """The entries of a folder that concern some patterns, with their states, and the number of all.

    `below` are the folders to search. Links are resolved each time: what they lead to may change elsewhere.
    """

    stamp: probe.Stamp | None
    entries: int
    below: tuple[_Place, ...]
    named: tuple[tuple[str, _Kind, frozenset[_State]], ...]


@dataclass(slots=True)
class _Walk:
    """The folders that a search has visited from one on, and what it found."""

    places: Mapping[_Place, _Listed]
    stamps: dict[str, probe.Stamp | None] = field(default_factory=dict)
    """The stamp of each folder, by its name from the first one."""
    files: list[Path] = field(default_factory=list)
    folders: list[Path] = field(default_factory=list)
    entries: int = 0
    fleeting: bool = False
    """True if unchanged folders do not mean the same result: it has met a link, or stopped at a limit."""

    def found(self, path: str, kind: _Kind, states: frozenset[_State]) -> str:
        """Record the denied part of an entry; return the folder to search, or an empty string."""
        if kind == "link":
            self.fleeting = True
            path = str(resolved(path))
            kind = _kind(os.path.isdir(path), states) if os.path.lexists(path) else "other"
        match kind:
            case "file":
                self.files.append(Path(path))
            case "covered":
                self.folders.append(Path(path))
            case _:
                pass
        return path if kind == "folder" else ""


_NEW = _Walk({})
_WALKS = 32
"""Maximum walks that are kept."""
_known: dict[_Place, _Walk] = {}
"""The last walks by their start: looking again costs one system call for each unchanged folder."""


def _listed(place: _Place) -> _Listed:
    """Read the entries of a folder that the patterns concern."""
    folder, states = place
    stamp = probe.stamp_of(folder)
    below: list[_Place] = []
    named: list[tuple[str, _Kind, frozenset[_State]]] = []
    count = 0
    for entry in entries_of(folder):
        count += 1
        if not (after := _after(states, entry.name)):
            continue
        kind = "link" if entry.is_symlink() else _kind(entry.is_dir(), after)
        if kind == "folder":
            below.append((entry.path, after))
        elif kind != "other":
            named.append((entry.path, kind, after))
    settled = stamp is not None and probe.is_settled(stamp)
    return _Listed(stamp if settled else None, count, tuple(below), tuple(named))


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
    next_ = _next(states)
    if not (next_.as_written(name) or next_.folded(canonical(name))):
        return next_.otherwise
    steps = ((pattern, used + 1) for pattern, used in states if used < len(pattern) and _matches(pattern[used], name))
    return _closed((*next_.otherwise, *steps))


def _matches(component: str, name: str) -> bool:
    return component != "**" and _names(component, name)


@dataclass(frozen=True, slots=True)
class _Next:
    """What tells quickly that a name, as written and in its canonical form, matches no next component of the patterns.

    `otherwise` are the states after such a name.
    """

    as_written: Callable[[str], bool]
    folded: Callable[[str], bool]
    otherwise: frozenset[_State]


@lru_cache(maxsize=1_024)
def _next(states: frozenset[_State]) -> _Next:
    following = [(pattern[used], (pattern, used)) for pattern, used in states if used < len(pattern)]
    names = {component for component, _ in following if component != "**"}
    deep = _closed(state for component, state in following if "**" in component)
    return _Next(any_component(names), any_component(each.casefold() for each in names), deep)


def _names(component: str, name: str) -> bool:
    if is_template(name) and leaves_templates(component):
        return False
    folded = component.casefold()
    return matches_in_some_reading(f"./{component}", name) or matches_in_some_reading(f"./{folded}", canonical(name))


def _ends(state: _State) -> bool:
    pattern, used = state
    return used == len(pattern)


def _covers(state: _State) -> bool:
    """Return True if a pattern ends here and also covers everything below.

    Its last component is then `**` or has no wildcard.
    """
    return _ends(state) and bool(state[0]) and covers_below(state[0][-1])
