"""Folders of skills, commands and agents, and their files: found and read with limits, never outside the repository."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Generic, Literal, Protocol, TypeVar

from agentcli.core.dataclass import dataclass
from agentcli.core.sanitise import display_path
from agentcli.system import probe, regular_file
from agentcli.system.regular_file import version

Scope = Literal["project", "user", "plugin"]
Kind = Literal["skills", "commands", "agents"]

FILE_BYTES = 1_000_000
"""Maximum bytes of a file; larger ones are omitted."""
ENTRIES = 5_000
"""Largest number of entries to look at below one folder."""
_PASSED_OVER = frozenset({".git", "node_modules"})
_PROGRAMS: dict[Kind, tuple[str, ...]] = {
    "skills": (".agentcli", ".agents", ".claude", ".codex", ".gemini", ".opencode", ".pi"),
    "commands": (".agentcli", ".claude", ".gemini", ".opencode", ".pi"),
    "agents": (".agentcli", ".claude", ".gemini", ".opencode"),
}
"""Folders of the programs that have each kind; of several files with one name, the first counts."""
_HOMES_ONLY: Mapping[Kind, Sequence[tuple[str, str]]] = {
    "skills": (
        (".gemini", ".gemini/config/skills"),
        (".gemini", ".gemini/antigravity-cli/skills"),
        (".gemini", ".gemini/antigravity/skills"),
        (".copilot", ".copilot/skills"),
    ),
    "commands": ((".antigravity", ".gemini/antigravity/global_workflows"),),
    "agents": ((".copilot", ".copilot/agents"),),
}
"""Further folders of the user below the home, each with its program."""
_OWN_HOMES: Mapping[str, str] = {".opencode": ".config/opencode", ".pi": ".pi/agent"}
"""Folders of the user's own files, if they are not the project's below the home."""


def _folder_of(folder: Path, program: str, kind: Kind) -> Path:
    """Return the folder of a kind; pi's commands are its prompts."""
    return folder / ("prompts" if (program, kind) == (".pi", "commands") else kind)


@dataclass(frozen=True, slots=True)
class Place:
    """A folder of extensions of one kind. `program` determines the conventions of its files: `.claude`, `.gemini`, …

    Its files must be below `within`; None for the user's own folders, whose links may lead anywhere.
    """

    folder: Path
    scope: Scope
    program: str
    within: Path | None = None
    plugin: str = ""
    only: str = ""
    """The only entry of the folder that counts; empty: all."""

    @property
    def label(self) -> str:
        """Its name for people."""
        return f"plugin {self.plugin}" if self.plugin else str(self.folder)

    def named(self, name: str) -> str:
        """Return the name of an entry; a plugin's has the plugin's name as a prefix."""
        return f"{self.plugin}:{name}" if self.plugin else name


@dataclass(frozen=True, slots=True)
class Found:
    """A file below a place, and its path from there."""

    place: Place
    path: Path
    inner: str


class Named(Protocol):
    """A skill, command or agent."""

    @property
    def name(self) -> str:
        """Name by which it is called."""
        ...


T = TypeVar("T", bound=Named)


def folders(cwd: Path) -> Iterator[Path]:
    """Return the folders from the repository's root (with `.git`) down to `cwd`; only `cwd` outside a repository."""
    above = (cwd, *cwd.parents)
    root = next((folder for folder in above if probe.exists(folder / ".git")), cwd)
    return reversed([folder for folder in above if folder == root or root in folder.parents])


def places(kind: Kind, cwd: Path | None, home: Path, config: Path) -> list[Place]:
    """Return the folders of one kind, the most important first.

    The project's folders come first, from `cwd` up to its root, then the user's.

    `cwd` is None to skip the project's folders. `config` is agentcli's own config folder.
    """
    below = [*folders(cwd)] if cwd is not None else []
    root = Path(os.path.realpath(below[0])) if below else None
    found = [
        Place(_folder_of(folder / program, program, kind), "project", program, root)
        for folder in reversed(below)
        for program in _PROGRAMS[kind]
        if folder != home
    ]
    found.append(Place(config / kind, "user", ".agentcli"))
    for program in _PROGRAMS[kind][1:]:
        own = home / _OWN_HOMES.get(program, program)
        found.append(Place(_folder_of(own, program, kind), "user", program))
    return [*found, *(Place(home / inner, "user", program) for program, inner in _HOMES_ONLY[kind])]


def defines(name: str, cwd: Path) -> bool:
    """Return True if a project has a file for a command or skill of this name without slashes. Reads nothing."""
    inner = name.replace(":", os.sep)
    endings: Mapping[Kind, Sequence[str]] = {"commands": (".md", ".toml"), "skills": (f"{os.sep}SKILL.md",)}
    return any(
        os.path.lexists(_folder_of(folder / program, program, kind) / f"{inner}{ending}")
        for folder in folders(cwd)
        for kind in endings
        for program in _PROGRAMS[kind]
        for ending in endings[kind]
    )


def programs(kind: Kind) -> Sequence[str]:
    """Return the folders of the programs that have this kind, the most important first."""
    return _PROGRAMS[kind]


def read_text(path: Path, within: Path | None = None) -> str:
    """Return the text of a file. Raises Unusable if it is binary, or if `read_regular` refuses it."""
    return regular_file.read_text(path, FILE_BYTES, within)


class Form(Generic[T]):
    """How files define extensions of one kind: their extension, by program if it differs, and their reader."""

    def __init__(
        self,
        kind: Kind,
        load: Callable[[Found, list[str]], T | None],
        *,
        most: int,
        depth: int,
        ending: str = ".md",
        endings: Mapping[str, str] | None = None,
        in_folders: bool = False,
    ) -> None:
        """At most `most` names and `depth` levels of folders are examined.

        With `in_folders`, each has its own folder and counts once even if several links lead to it.
        """
        self.kind, self.load, self.most, self.depth = kind, load, most, depth
        self.ending, self.endings, self.in_folders = ending, endings or {}, in_folders


def find(form: Form[T], places: Iterable[Place], notes: list[str]) -> tuple[dict[str, T], list[T]]:
    """Find a form's extensions, sorted by name, and the shadowed extensions of the same names."""
    return first_of_each_name(_of_form(form, places, notes), form.load, form.kind, form.most, notes)


def _of_form(form: Form[T], places: Iterable[Place], notes: list[str]) -> Iterator[Found]:
    seen: set[Path] = set()
    for place in places:
        for file in files(place, form.endings.get(place.program, form.ending), form.depth, notes):
            if form.in_folders:
                real = Path(os.path.realpath(file.path))
                if "/" not in file.inner or real in seen:
                    continue
                seen.add(real)
            yield file


def first_of_each_name(
    found: Iterable[Found], load: Callable[[Found, list[str]], T | None], kind: Kind, most: int, notes: list[str]
) -> tuple[dict[str, T], list[T]]:
    """Return the extensions in files, sorted by name, and the extensions shadowed by an earlier one of the same name.

    Files after the first `most` names are omitted, with a note.
    """
    first: dict[str, T] = {}
    shadowed: list[T] = []
    for file in found:
        if len(first) >= most:
            where = f"those of {display_path(file.place.folder)} from {file.inner} on"
            notes.append(f"There are more than {most:,} {kind}: {where} are left out.")
            break
        one, remarks = _loaded(load, file, version(file.path))
        notes += remarks
        if one is None:
            continue
        if first.setdefault(one.name, one) is not one:
            shadowed.append(one)
    return dict(sorted(first.items())), shadowed


@lru_cache(maxsize=4_096)
def _loaded(
    load: Callable[[Found, list[str]], T | None], file: Found, _: tuple[int, ...]
) -> tuple[T | None, tuple[str, ...]]:
    """Return the extension in one version of a file, with its notes.

    The cache serves each prompt, which searches for them again.
    """
    notes: list[str] = []
    return load(file, notes), tuple(notes)


def files(place: Place, ending: str, depth: int, notes: list[str]) -> Iterator[Found]:
    """Yield the files below a place whose names end with `ending`, in order; enter each folder once."""
    if not os.path.isdir(place.folder):
        return
    if place.within is not None and not Path(os.path.realpath(place.folder)).is_relative_to(place.within):
        notes.append(f"{display_path(place.folder)} leads out of the repository: left out.")
        return
    left, seen = [ENTRIES], set[tuple[int, int]]()
    yield from _below(place, place.folder, "", ending, depth, left, seen, notes)
    if left[0] <= 0:
        notes.append(f"{display_path(place.folder)} has more than {ENTRIES:,} entries: the rest is left out.")


def _below(
    place: Place,
    folder: Path,
    prefix: str,
    ending: str,
    depth: int,
    left: list[int],
    seen: set[tuple[int, int]],
    notes: list[str],
) -> Iterator[Found]:
    for entry in _entries(folder, left, seen, notes):
        path, inner = folder / entry.name, f"{prefix}{entry.name}"
        if (place.only and not prefix and entry.name != place.only) or not _inside(path, place, notes):
            continue
        if entry.name.endswith(ending) and not _is_folder(entry):
            yield Found(place, path, inner)
        elif depth > 1 and _is_folder(entry):
            yield from _below(place, path, f"{inner}/", ending, depth - 1, left, seen, notes)


def _entries(folder: Path, left: list[int], seen: set[tuple[int, int]], notes: list[str]) -> Sequence[os.DirEntry[str]]:
    """Return the entries of a folder by name; none if it was visited before, or does not exist."""
    try:
        about = os.stat(folder)
        if (about.st_dev, about.st_ino) in seen or not stat.S_ISDIR(about.st_mode):
            return ()
        seen.add((about.st_dev, about.st_ino))
        found = []
        with os.scandir(folder) as entries:
            for entry in entries:
                left[0] -= 1
                if left[0] <= 0:
                    break
                if entry.name not in _PASSED_OVER:
                    found.append(entry)
    except FileNotFoundError:
        return ()
    except OSError as error:
        notes.append(f"Can't list {display_path(folder)}: {error.strerror}.")
        return ()
    return sorted(found, key=lambda entry: entry.name)


def _inside(path: Path, place: Place, notes: list[str]) -> bool:
    """Return True unless a link leads out of its repository; then add a note."""
    if place.within is None or not path.is_symlink():
        return True
    if Path(os.path.realpath(path)).is_relative_to(place.within):
        return True
    notes.append(f"{display_path(path)} is a link that leads out of the repository: left out.")
    return False


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False
