"""Protected names in a workspace: which exist, and which a sandboxed command has created."""

from __future__ import annotations

import os
import stat
from collections import Counter, deque
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import field
from functools import lru_cache
from pathlib import Path

from agentcli.core.dataclass import dataclass
from agentcli.permissions.git_config import BARE
from agentcli.permissions.paths import PROTECTED_FILES, canonical, names_protected, resolved
from agentcli.system import probe

FOLDERS = 20_000
"""Maximum folders of a workspace to search; the others are closed to writing."""
NAMES = 300
"""Maximum protected names to close one by one; beyond it, the folders with the most are closed completely."""
SET_ASIDE = ".made-in-sandbox"
"""Suffix of a protected file that a sandboxed command created: under this name nothing reads it."""
_SKIPPED = "node_modules"
"""Folders of published packages, in which nothing counts as protected."""
_GIT_FOLDERS = (".git", "git~1")
GIT_SETTINGS = ("config", "config.worktree", "hooks", "info", "modules", "commondir", "worktrees")
"""Names in a repository's folder that decide which programs git runs and where it looks."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Name:
    """A protected name, with the number of its file: a replacement file is a new one."""

    path: Path
    inode: int


@dataclass(frozen=True, slots=True)
class Found:
    """Result of looking at a workspace: `closed` are folders that exceed the limits of the search."""

    protected: tuple[Name, ...] = ()
    private: tuple[Name, ...] = ()
    """Files such as `.env`, which commands in the sandbox do not see."""
    special: tuple[Path, ...] = ()
    """Sockets and pipes."""
    closed: tuple[Path, ...] = ()
    loose: tuple[Name, ...] = ()
    """Protected names that are not closed one by one: links, whose targets are protected or outside, and git settings.
    """

    @property
    def names(self) -> dict[int, Path]:
        """All protected names by their file numbers."""
        return {name.inode: name.path for name in (*self.protected, *self.loose)}

    @property
    def sockets(self) -> tuple[Path, ...]:
        """Sockets, through which programs outside may be reached."""
        return tuple(path for path in self.special if os.path.exists(path) and path.is_socket())


@dataclass(slots=True)
class _Folder:
    """One folder at a time: its own contents, and its subfolders to search."""

    stamp: probe.Stamp | None = None
    below: list[str] = field(default_factory=list)
    protected: list[Name] = field(default_factory=list)
    private: list[Name] = field(default_factory=list)
    special: list[Path] = field(default_factory=list)
    loose: list[Name] = field(default_factory=list)

    fleeting: bool = False
    """True if its contents depend on other folders: what a link leads to, or what a folder named `.env` holds."""

    @property
    def names(self) -> bool:
        """True if it has anything to report."""
        return bool(self.protected or self.private or self.special or self.loose)


class Watched:
    """Protected names below one root. Looking again costs one system call for each unchanged folder."""

    def __init__(self, root: Path, folders: int = FOLDERS, names: int = NAMES) -> None:
        self._root, self._folders, self._names = root, folders, names
        self._known: dict[str, _Folder] = {}
        self._stamps: dict[str, probe.Stamp | None] = {}
        self.last: Found | None = None
        """Result of the last look."""

    def look(self) -> Found:
        """Return what is there now."""
        changed = probe.changed(str(self._root), self._stamps)
        if self.last is None or changed:
            self.last = self._search({str(self._root / name) for name in changed})
        return self.last

    def _search(self, changed: Container[str]) -> Found:
        """Search all folders again. Only new and changed ones are read from the disk."""
        waiting, known = deque([str(self._root)]), dict[str, _Folder]()
        while waiting and len(known) < self._folders:
            path = waiting.popleft()
            folder = None if path in changed else self._known.get(path)
            if folder is None:
                folder = self._read(path)
            if folder is not None:
                known[path] = folder
                waiting += folder.below
        self._known = known
        top = str(self._root)
        self._stamps = {probe.name_below(top, path): folder.stamp for path, folder in known.items()}
        seen = [folder for folder in known.values() if folder.names]
        protected = tuple(name for folder in seen for name in folder.protected)
        closed = self._closed(protected, waiting)
        return Found(
            tuple(name for name in protected if not any(map(name.path.is_relative_to, closed)))
            if closed
            else protected,
            tuple(name for folder in seen for name in folder.private),
            tuple(path for folder in seen for path in folder.special),
            closed,
            tuple(name for folder in seen for name in folder.loose),
        )

    def _read(self, path: str) -> _Folder | None:
        stamp = probe.stamp_of(path)
        if stamp is None:
            return None
        folder = _listed(path, path == str(self._root))
        if probe.is_settled(stamp) and not folder.fleeting:
            folder.stamp = stamp
        return folder

    def _closed(self, protected: Sequence[Name], unseen: Iterable[str]) -> tuple[Path, ...]:
        """Return the top folders with unsearched parts, and those with the most names if there are too many."""
        closed = {self._top(Path(path)) for path in unseen}
        counts = Counter(self._top(name.path) for name in protected)
        left = sum(count for top, count in counts.items() if top not in closed)
        for top, count in counts.most_common():
            if left > self._names and top not in closed:
                closed.add(top)
                left -= count
        return (self._root,) if len(closed) > self._names else tuple(sorted(closed))

    def _top(self, path: Path) -> Path:
        below = path.relative_to(self._root).parts
        return self._root / below[0] if below else self._root


@lru_cache(maxsize=32)
def _watched(root: Path) -> Watched:
    """Return the watch of a root; it keeps its results as long as the process lives."""
    return Watched(root)


def found_in(roots: Iterable[Path], *, again: bool = True) -> Found:
    """Return what exists now in all of these roots, or, unless `again`, the results of the last look."""
    each = [one.look() if again or one.last is None else one.last for one in map(_watched, roots)]
    return Found(
        tuple(name for found in each for name in found.protected),
        tuple(name for found in each for name in found.private),
        tuple(path for found in each for path in found.special),
        tuple(path for found in each for path in found.closed),
        tuple(name for found in each for name in found.loose),
    )


def set_aside(path: Path) -> str:
    """Rename a protected file or folder so that nothing reads it, and return its new name.

    Return an empty string if that is not possible. No link is followed on the way. In a folder that git treats as a
    repository, HEAD is renamed.
    """
    itself = bool(names_protected(path.name, write=True)) or path.name in GIT_SETTINGS
    top, name = (path.parent, path.name) if itself else (path, "HEAD")
    with suppress(OSError), _opened(top) as folder:
        for number in range(1, 100):
            other = f"{name}{SET_ASIDE}{f'-{number}' if number > 1 else ''}"
            with suppress(FileNotFoundError):
                os.stat(other, dir_fd=folder, follow_symlinks=False)
                continue
            os.rename(name, other, src_dir_fd=folder, dst_dir_fd=folder)
            return other
    return ""


def remove_mount_point(path: Path, since: int) -> None:
    """Remove the file that bubblewrap created to mount something over a path that had vanished.

    Such a file is empty, read-only, and newer than `since`, in nanoseconds. No link is followed on the way.
    """
    with suppress(OSError), _opened(path.parent) as folder:
        there = os.stat(path.name, dir_fd=folder, follow_symlinks=False)
        if (there.st_mode, there.st_size) == (_MOUNT_POINT, 0) and there.st_ctime_ns >= since:
            os.unlink(path.name, dir_fd=folder)


_MOUNT_POINT = stat.S_IFREG | 0o444


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    """Open a folder without following links on the way. Raises OSError."""
    folder = os.open("/", _FOLDER)
    try:
        for part in path.parts[1:]:
            inner = os.open(part, _FOLDER, dir_fd=folder)
            os.close(folder)
            folder = inner
        yield folder
    finally:
        os.close(folder)


def _listed(path: str, is_root: bool) -> _Folder:
    folder = _Folder()
    try:
        with os.scandir(path) as entries:
            listed = sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return folder
    by_name = {entry.name: entry for entry in listed}
    settings = [Name(Path(path, name), by_name[name].inode()) for name in GIT_SETTINGS if name in by_name]
    if canonical(os.path.basename(path)) in _GIT_FOLDERS:
        folder.loose += settings
        return folder
    if by_name.keys() >= BARE and all(entry.is_dir() for entry in (by_name["objects"], by_name["refs"])):
        head = Name(Path(path, "HEAD"), by_name["HEAD"].inode())
        folder.protected += [head, *settings] if is_root else [Name(Path(path), head.inode)]
        if not is_root:
            return folder
    for entry in listed:
        _sort_in(entry, folder)
    return folder


def _sort_in(entry: os.DirEntry[str], folder: _Folder) -> None:
    """Add an entry to what its folder holds."""
    if entry.is_symlink():
        if names_protected(entry.name, write=False):
            folder.private.append(Name(resolved(entry.path), entry.inode()))
            folder.fleeting = True
        elif names_protected(entry.name, write=True):
            folder.loose.append(Name(Path(entry.path), entry.inode()))
        return
    is_folder, is_private = entry.is_dir(follow_symlinks=False), names_protected(entry.name, write=False)
    folder.fleeting |= is_folder and bool(is_private)
    if is_private and not (is_folder and os.path.isfile(f"{entry.path}/pyvenv.cfg")):
        folder.private.append(Name(Path(entry.path), entry.inode()))
        if canonical(entry.name) in PROTECTED_FILES:  # it also starts programs
            folder.loose.append(Name(Path(entry.path), entry.inode()))
    elif names_protected(entry.name, write=True):
        folder.protected.append(Name(Path(entry.path), entry.inode()))
        if is_folder and canonical(entry.name) in _GIT_FOLDERS:
            folder.below.append(entry.path)
    elif is_folder and entry.name != _SKIPPED:
        folder.below.append(entry.path)
    elif not is_folder and not entry.is_file(follow_symlinks=False):
        folder.special.append(Path(entry.path))
