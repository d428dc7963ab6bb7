"""Which paths a tool may touch, and how it gets there without following a link that somebody swaps in meanwhile."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from agentcli.core.errors import ToolError
from agentcli.core.near import did_you_mean, near_names
from agentcli.core.resolve import follow, spelled
from agentcli.core.tool import ToolContext

_TRIES = 5
_WALK = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | getattr(os, "O_PATH", os.O_RDONLY)
_KERNEL = (Path("/proc"), Path("/sys"), Path("/dev"))
_KINDS = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFLNK: "a link that was just put there",
}


@dataclass(frozen=True, slots=True)
class ResolvedPath:
    """A resolved path, the folder beneath which it was reached, and its name for people: relative to the current folder if inside."""

    path: Path
    root: Path
    shown: str


@dataclass(frozen=True, slots=True)
class FileHandle:
    """A place whose folder is held open as `folder`, so that everything done to `name` happens in that very folder."""

    place: ResolvedPath
    folder: int
    name: str

    @property
    def path(self) -> Path:
        """The resolved path."""
        return self.place.path

    @property
    def shown(self) -> str:
        """The name for people."""
        return self.place.shown


def locate(work: ToolContext, path: str) -> ResolvedPath:
    """Where a path given by the model leads once all links are followed. Raises ToolError outside what the call may touch.

    With `work.allowed_path` it is this one or none. Without it a call may touch what lies beneath one of `work.roots`.
    """
    real = resolve(work.cwd, path)
    if work.allowed_path is not None and real != work.allowed_path:
        raise ToolError(f"{path} is being changed by something else. Try again.")
    # The outermost folder: an inner one can be swapped for a link by whoever may write in the outer one.
    around = [root for root in work.roots if real.is_relative_to(root)]
    if not around and work.allowed_path is None:
        roots = ", ".join(str(root) for root in work.roots)
        raise ToolError(f"{path} is outside the workspace ({roots}). The user can add its folder with --add-dir.")
    base = min(around, key=lambda root: len(root.parts), default=Path(real.anchor))
    _refuse_kernel_files(real, base, path)
    return ResolvedPath(real, base, _shown(real, work.cwd))


def resolve(cwd: Path, path: str) -> Path:
    """The absolute path without links and dots that a path given by the model stands for; it need not exist."""
    if not path.strip():
        raise ToolError("The path is empty.")
    if "\0" in path:
        raise ToolError("The path has a NUL character in it.")
    try:
        return follow(spelled(cwd, path))
    except (OSError, ValueError) as error:
        raise ToolError(f"{path!r} cannot be a path: {error}") from error


@contextmanager
def held(work: ToolContext, path: str, make: bool = False) -> Iterator[FileHandle]:
    """The place with its folder held open, reached component by component from the root without following a link.

    With `make`, missing folders are made. Raises ToolError if there is no such folder, or if the path keeps changing.
    """
    for _ in range(_TRIES):
        place = locate(work, path)
        try:
            folder = _descend(place, make)
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENOTDIR) and not _is_below_a_file(place):
                continue
            raise _no_folder(place, error) from error
        try:
            yield FileHandle(place, folder, "." if place.path == place.root else place.path.name)
        finally:
            os.close(folder)
        return
    raise ToolError(f"{path} is being changed by something else. Try again.")


def open_regular(spot: FileHandle) -> int:
    """A descriptor that reads a regular file. Raises ToolError for anything else, at once, without waiting for a writer."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    try:
        _require_regular(spot, os.stat(spot.name, dir_fd=spot.folder, follow_symlinks=False))
        fd = os.open(spot.name, flags, dir_fd=spot.folder)
    except OSError as error:
        raise _unreadable(spot, error) from error
    try:
        _require_regular(spot, os.fstat(fd))
    except ToolError:
        os.close(fd)
        raise
    return fd


def open_folder(work: ToolContext, path: str) -> tuple[ResolvedPath, int]:
    """A descriptor that lists a folder. Raises ToolError if it is none."""
    with held(work, path) as spot:
        try:
            flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
            return spot.place, os.open(spot.name, flags, dir_fd=spot.folder)
        except NotADirectoryError as error:
            raise ToolError(f"{spot.shown} is a file, not a folder. Use read.") from error
        except OSError as error:
            raise _unreadable(spot, error) from error


def nearby(spot: FileHandle) -> str:
    """` Did you mean …?` with the names in the same folder that look alike, or nothing."""
    try:
        names = os.listdir(spot.path.parent)[:5_000]
    except OSError:
        return ""
    return did_you_mean(near_names(spot.name, names, 0.6))


def _descend(place: ResolvedPath, make: bool) -> int:
    folder = os.open(place.root, _WALK)
    try:
        for part in place.path.relative_to(place.root).parts[:-1]:
            inner = _enter(folder, part, make)
            os.close(folder)
            folder = inner
    except OSError:
        os.close(folder)
        raise
    return folder


def _enter(folder: int, part: str, make: bool) -> int:
    try:
        return os.open(part, _WALK, dir_fd=folder)
    except FileNotFoundError:
        if not make:
            raise
    with suppress(FileExistsError):
        os.mkdir(part, dir_fd=folder)
    return os.open(part, _WALK, dir_fd=folder)


def _refuse_kernel_files(real: Path, root: Path, path: str) -> None:
    """What looks like files there are doors into the kernel, and some never end; a workspace that lies there is another matter."""
    if any(real.is_relative_to(folder) and not root.is_relative_to(folder) for folder in _KERNEL):
        raise ToolError(f"{path} belongs to the kernel and is no regular file. Use bash if you really need it.")


def _shown(real: Path, cwd: Path) -> str:
    here = os.path.realpath(cwd)
    return str(real.relative_to(here)) if real.is_relative_to(here) else str(real)


def _is_below_a_file(place: ResolvedPath) -> bool:
    return any(parent.is_file() and not parent.is_symlink() for parent in place.path.parents)


def _no_folder(place: ResolvedPath, error: OSError) -> ToolError:
    if isinstance(error, FileNotFoundError):
        return ToolError(f"{place.shown} does not exist: there is no folder {place.path.parent}.")
    return ToolError(f"{place.shown} cannot be reached: {error.strerror}.")


def _unreadable(spot: FileHandle, error: OSError) -> ToolError:
    if isinstance(error, FileNotFoundError):
        return ToolError(f"{spot.shown} does not exist.{nearby(spot)}")
    if error.errno == errno.ELOOP:
        return ToolError(f"{spot.shown} is being changed by something else. Try again.")
    return ToolError(f"{spot.shown} cannot be opened: {error.strerror}.")


def _require_regular(spot: FileHandle, found: os.stat_result) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise ToolError(f"{spot.shown} is a folder. Use list or glob.")
    if not stat.S_ISREG(found.st_mode):
        kind = _KINDS.get(stat.S_IFMT(found.st_mode), "no regular file")
        raise ToolError(f"{spot.shown} is {kind}; only regular files are read and written.")
