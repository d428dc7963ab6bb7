"""Read below an open folder with openat(2), without following a link that is swapped in meanwhile."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path

from agentcli.core.dataclass import dataclass
from agentcli.core.tool import ToolContext
from agentcli.tools.lib.paths import ResolvedPath, open_folder, open_parent

_WALK = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | getattr(os, "O_PATH", os.O_RDONLY)
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


@dataclass(slots=True)
class DirHandle:
    """An open folder; `folder` is its descriptor, and `path` its name for programs that only list its entries.

    The folder of the last name stays open, because names come sorted.
    """

    path: Path
    folder: int
    _inner: str = ""
    _inner_fd: int = field(default=-1)

    def open(self, name: str) -> int:
        """Open a regular file for reading by its relative path; return the descriptor.

        Raises OSError for links and `..`.
        """
        fd = os.open(name.rpartition("/")[2], _READ, dir_fd=self._parent(name))
        if stat.S_ISREG(os.fstat(fd).st_mode):
            return fd
        os.close(fd)
        raise FileNotFoundError(name)

    def changed(self, name: str) -> float | None:
        """Return the time of a file's last change, in seconds since 1970; None if there is no such file."""
        try:
            return os.stat(name.rpartition("/")[2], dir_fd=self._parent(name), follow_symlinks=False).st_mtime
        except OSError:
            return None

    def close(self) -> None:
        """Close the descriptors."""
        for fd in {self._inner_fd, self.folder} - {-1}:
            os.close(fd)
        self.folder = self._inner_fd = -1

    def _parent(self, name: str) -> int:
        inner = name.rpartition("/")[0]
        if self._inner_fd < 0 or inner != self._inner:
            fresh = self._descend(inner)
            if self._inner_fd >= 0:
                os.close(self._inner_fd)
            self._inner, self._inner_fd = inner, fresh
        return self._inner_fd

    def _descend(self, inner: str) -> int:
        folder = os.open(".", _WALK, dir_fd=self.folder)
        for part in filter(None, inner.split("/")):
            try:
                if part == "..":
                    raise FileNotFoundError(inner)
                fresh = os.open(part, _WALK, dir_fd=folder)
            finally:
                os.close(folder)
            folder = fresh
        return folder


@contextmanager
def top(ctx: ToolContext, path: str) -> Iterator[tuple[ResolvedPath, DirHandle]]:
    """Open a folder to search, without following a swapped link. Raises ToolError if it is not a folder."""
    target, fd = open_folder(ctx, path)
    folder = DirHandle(target.path, fd)
    try:
        yield target, folder
    finally:
        folder.close()


@contextmanager
def beside(ctx: ToolContext, path: str) -> Iterator[tuple[ResolvedPath, DirHandle, str]]:
    """Open the folder of a single file to search; yield it with the file's name.

    Raises ToolError outside the workspace.
    """
    with open_parent(ctx, path) as handle:
        folder = DirHandle(handle.path.parent, os.dup(handle.folder))
        try:
            yield (
                ResolvedPath(handle.path.parent, handle.path.parent, str(Path(handle.display).parent)),
                folder,
                handle.name,
            )
        finally:
            folder.close()
