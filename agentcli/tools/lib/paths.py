"""Resolve the paths that a tool may touch, without following a link that is swapped in meanwhile."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import ToolError
from agentcli.core.tool import ToolContext
from agentcli.system import probe
from agentcli.system.resolve import follow, spelled

_TRIES = 5
_WALK = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | getattr(os, "O_PATH", os.O_RDONLY)
_KERNEL = (("/", "proc"), ("/", "sys"), ("/", "dev"))
_KINDS = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFLNK: "a link that was just put there",
}


@dataclass(frozen=True, slots=True)
class ResolvedPath:
    """A resolved path."""

    path: Path
    root: Path
    """The folder through which it is reached."""
    display: str
    """Its name for people: relative to the current folder if inside."""
    cwd: Path = Path()


@dataclass(frozen=True, slots=True)
class FileHandle:
    """A path whose parent folder is open as `folder`, so that every operation on `name` happens in that very folder."""

    target: ResolvedPath
    folder: int
    name: str

    @property
    def path(self) -> Path:
        """The resolved path."""
        return self.target.path

    @property
    def display(self) -> str:
        """The name for people."""
        return self.target.display


def locate(ctx: ToolContext, path: str) -> ResolvedPath:
    """Return the resolved form of a path from the model. Raises ToolError for a path that the call may not touch.

    If `ctx.scope.allowed_paths` is set, these are the only paths it may touch; otherwise all paths below one of
    `ctx.roots`.
    """
    real = resolve(ctx.cwd, path)
    if ctx.scope.allowed_paths and real not in ctx.scope.allowed_paths:
        raise ToolError(f"{path} is being changed by something else. Try again.")
    # The outermost folder: with write access to it, an inner one can be swapped for a link.
    around = [root for root in ctx.roots if real.is_relative_to(root)]
    if not around and not ctx.scope.allowed_paths:
        roots = ", ".join(str(root) for root in ctx.roots)
        raise ToolError(f"{path} is outside the workspace ({roots}). The user can add its folder with --add-dir.")
    base = min(around, key=lambda root: len(root.parts), default=Path(real.anchor))
    _refuse_kernel_files(real, base, path)
    return ResolvedPath(real, base, _display(real, ctx.cwd), ctx.cwd)


def resolve(cwd: Path, path: str) -> Path:
    """Return the absolute path, without links and dots, for a path from the model; it need not exist."""
    if not path.strip():
        raise ToolError("The path is empty.")
    if "\0" in path:
        raise ToolError("The path has a NUL character in it.")
    try:
        return follow(spelled(cwd, path))
    except (OSError, ValueError) as error:
        raise ToolError(f"{path!r} cannot be a path: {error}") from error


@contextmanager
def open_parent(ctx: ToolContext, path: str, make: bool = False) -> Iterator[FileHandle]:
    """Open a file handle with its parent folder, reached part by part from the root without following a link.

    With `make`, missing folders are created. Raises ToolError if there is no such folder, or if the path keeps
    changing.
    """
    for _ in range(_TRIES):
        target = locate(ctx, path)
        try:
            folder = _descend(target, make)
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENOTDIR) and not _is_below_a_file(target):
                continue
            raise _no_folder(target, error) from error
        try:
            yield FileHandle(target, folder, "." if target.path == target.root else target.path.name)
        finally:
            os.close(folder)
        return
    raise ToolError(f"{path} is being changed by something else. Try again.")


def open_regular(handle: FileHandle) -> int:
    """Open a regular file for reading; return the descriptor.

    Raises ToolError for others, without waiting for a writer.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    try:
        _require_regular(handle, os.stat(handle.name, dir_fd=handle.folder, follow_symlinks=False))
        fd = os.open(handle.name, flags, dir_fd=handle.folder)
    except OSError as error:
        raise _unreadable(handle, error) from error
    try:
        _require_regular(handle, os.fstat(fd))
    except ToolError:
        os.close(fd)
        raise
    return fd


def open_folder(ctx: ToolContext, path: str) -> tuple[ResolvedPath, int]:
    """Open a folder for listing; return the descriptor. Raises ToolError if it is not a folder."""
    with open_parent(ctx, path) as handle:
        try:
            flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
            return handle.target, os.open(handle.name, flags, dir_fd=handle.folder)
        except NotADirectoryError as error:
            raise ToolError(f"{handle.display} is a file, not a folder. Use read.") from error
        except OSError as error:
            raise _unreadable(handle, error) from error


def missing(handle: FileHandle) -> ToolError:
    """Return the error for a missing file, with similar existing paths."""
    return ToolError(f"{handle.display} does not exist.{_near(handle.target)}")


def _descend(target: ResolvedPath, make: bool) -> int:
    folder = os.open(target.root, _WALK)
    try:
        for part in target.path.parts[len(target.root.parts) : -1]:
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
    """Refuse files of kernel file systems, some of which never end, unless the workspace itself is there."""
    top = real.parts[:2]
    if top in _KERNEL and root.parts[:2] != top:
        raise ToolError(f"{path} belongs to the kernel and is not a regular file. Use bash if you really need it.")


def _display(real: Path, cwd: Path) -> str:
    try:
        return str(real.relative_to(os.path.realpath(cwd)))
    except ValueError:
        return str(real)


def _is_below_a_file(target: ResolvedPath) -> bool:
    return any(probe.is_file(parent) and not parent.is_symlink() for parent in target.path.parents)


def _no_folder(target: ResolvedPath, error: OSError) -> ToolError:
    if isinstance(error, FileNotFoundError):
        folder = _display(target.path.parent, target.cwd)
        return ToolError(f"{target.display} does not exist: there is no folder {folder}.{_near(target)}")
    return ToolError(f"Can't reach {target.display}: {error.strerror}.")


def _near(target: ResolvedPath) -> str:
    from agentcli.tools.lib.near_files import did_you_mean_file  # only a mistake needs it

    return did_you_mean_file(target.path, target.root, target.cwd)


def _unreadable(handle: FileHandle, error: OSError) -> ToolError:
    if isinstance(error, FileNotFoundError):
        return missing(handle)
    if error.errno == errno.ELOOP:
        return ToolError(f"{handle.display} is being changed by something else. Try again.")
    return ToolError(f"Can't open {handle.display}: {error.strerror}.")


def _require_regular(handle: FileHandle, found: os.stat_result) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise ToolError(f"{handle.display} is a folder. Use list or glob.")
    if not stat.S_ISREG(found.st_mode):
        kind = _KINDS.get(stat.S_IFMT(found.st_mode), "no regular file")
        raise ToolError(f"{handle.display} is {kind}; only regular files are read and written.")
