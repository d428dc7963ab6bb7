"""File contents by hash, shared between the sessions of a project, separate from the user's repositories."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from agentcli.system.disk import Disk, make_folder, sync_folder, write_file

POOL = ".objects"
"""The folder of a project in which its sessions share file contents."""
CONTENTS = "checkpoints/objects"
"""The folder of a session's contents."""
Inode = tuple[int, int]
"""Identity of a file under any name: its device and inode number."""


class Objects:
    """Contents by SHA-256 under `folder`.

    With a `pool`, equal contents of several sessions are hard links to one file.
    """

    def __init__(self, folder: Path, disk: Disk, pool: Path | None = None) -> None:
        self._folder, self._disk, self._pool = folder, disk, pool
        self._size: int | None = None
        self._folders: set[Path] = set()
        self._kept: set[str] = set()
        """Contents that were found intact in this process; `_synced` has the durable ones among them."""
        self._synced: set[str] = set()

    @property
    def size(self) -> int:
        """Bytes kept for this session."""
        if self._size is None:
            self._size = sum(path.stat().st_size for path in self._folder.glob("??/*"))
        return self._size

    def keep(self, data: bytes, durable: bool = False) -> str:
        """Store a content; return its hash. Raises OSError.

        Without `durable`, a power cut may lose it, but `get` never returns anything else for it.
        """
        key = hashlib.sha256(data).hexdigest()
        path = _path(self._folder, key)
        if key in self._kept and _size(path) == len(data) and (key in self._synced or not durable):
            return key
        if not _holds(path, data):
            self._put(key, path, data, durable)
        elif durable:
            self._sync(path)
        self._kept.add(key)
        if durable:
            self._synced.add(key)
        return key

    def get(self, key: str) -> bytes | None:
        """Return a content, also from another session's intact copy; None if it is lost or damaged."""
        for folder in filter(None, (self._folder, self._pool)):
            with contextlib.suppress(OSError):
                data = _path(folder, key).read_bytes()
                if hashlib.sha256(data).hexdigest() == key:
                    return data
        return None

    def _put(self, key: str, path: Path, data: bytes, durable: bool) -> None:
        """Write a content to a free path, or replace a damaged one."""
        size, before = self.size, max(_size(path), 0)
        self._make(path.parent, durable)
        if self._from_pool(key, path, data):
            if durable:
                self._sync(path)
        else:
            if durable:
                write_file(self._disk, path, data)
            else:
                _write_plainly(self._disk, path, data)
            self._to_pool(key, path, data)
        self._size = size - before + len(data)

    def _from_pool(self, key: str, path: Path, data: bytes) -> bool:
        if self._pool is None:
            return False
        shared = _path(self._pool, key)
        if _holds(shared, data):
            with contextlib.suppress(OSError):
                with contextlib.suppress(FileNotFoundError):
                    self._disk.unlink(path)
                self._disk.link(shared, path)
                return True
        return False

    def _to_pool(self, key: str, path: Path, data: bytes) -> None:
        if self._pool is None:
            return
        shared = _path(self._pool, key)
        with contextlib.suppress(OSError):  # sharing saves space; without it each session has its own
            self._make(shared.parent)
            if _size(shared) >= 0 and not _holds(shared, data):
                self._disk.unlink(shared)  # damaged: no session can use it
            self._disk.link(path, shared)

    def _sync(self, path: Path) -> None:
        """Wait until a content stored without `durable` is on the medium."""
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            self._disk.fsync(file)
        finally:
            os.close(file)
        sync_folder(self._disk, path.parent)
        sync_folder(self._disk, path.parent.parent)

    def _make(self, folder: Path, durable: bool = False) -> None:
        if folder not in self._folders:
            make_folder(self._disk, folder.parent)
            self._disk.mkdir(folder)
            if durable:
                sync_folder(self._disk, folder.parent)
            self._folders.add(folder)


def damaged_contents(folder: Path, whole: set[Inode]) -> Iterator[tuple[Path, str]]:
    """Yield the damaged contents in a folder, each with its fault. Skip files in `whole`, and add intact ones to it."""
    for path in sorted(folder.glob("??/*")):
        try:
            status = path.stat()
            if (status.st_dev, status.st_ino) in whole:
                continue
            data = path.read_bytes()
        except IsADirectoryError:
            yield path, "is a folder"
            continue
        except OSError as error:
            yield path, f"can't read it: {error.strerror}"
            continue
        if hashlib.sha256(data).hexdigest() == path.parent.name + path.name:
            whole.add((status.st_dev, status.st_ino))
        else:
            yield path, "is empty" if not data.strip(b"\0") else "is not what was kept"


def mend_content(path: Path, pool: Path, disk: Disk) -> bool:
    """Link the pool's content to the path of a damaged content that was moved away.

    Return False if the pool has no intact copy. A damaged content in the pool is removed. Raises OSError.
    """
    key = path.parent.name + path.name
    shared = _path(pool, key)
    try:
        data = shared.read_bytes()
    except FileNotFoundError:
        return False
    if hashlib.sha256(data).hexdigest() == key:
        disk.link(shared, path)
        return True
    disk.unlink(shared)
    return False


def sweep_pool(pool: Path) -> None:
    """Remove contents that no session refers to any more."""
    for path in pool.glob("??/*"):
        with contextlib.suppress(OSError):
            if path.stat().st_nlink == 1:
                os.unlink(path)


def _path(folder: Path, key: str) -> Path:
    return folder / key[:2] / key[2:]


def _size(path: Path) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return -1


def _holds(path: Path, data: bytes) -> bool:
    """Return True if a file has this content. Its size alone proves nothing on a disk that lost data."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        return os.read(file, len(data) + 1) == data  # a regular file returns all its bytes at once
    except OSError:
        return False
    finally:
        os.close(file)


def _write_plainly(disk: Disk, path: Path, data: bytes) -> None:
    """Write without durability: a content truncated by a crash fails its hash, and is written again."""
    with contextlib.suppress(FileNotFoundError):
        disk.unlink(path)
    file = disk.create(path)
    try:
        left = memoryview(data)
        while left:
            left = left[disk.write(file, left) :]
    finally:
        disk.close(file)
