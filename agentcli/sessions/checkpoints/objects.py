"""File contents kept by their hash, shared between the sessions of a project, apart from any repository of the user's."""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path

from agentcli.sessions.storage.disk import Disk, make_folder, write_file


class Objects:
    """Contents by SHA-256 under `folder`. With a `pool`, equal contents of several sessions are one file with several names."""

    def __init__(self, folder: Path, disk: Disk, pool: Path | None = None) -> None:
        self._folder, self._disk, self._pool = folder, disk, pool
        self._size: int | None = None
        self._folders: set[Path] = set()

    @property
    def size(self) -> int:
        """Bytes kept for this session."""
        if self._size is None:
            self._size = sum(path.stat().st_size for path in self._folder.glob("??/*"))
        return self._size

    def keep(self, data: bytes, durable: bool = False) -> str:
        """Keep a content; its hash. Raises OSError.

        Not `durable`, a power cut may lose it; `get` never takes anything else for it.
        """
        key = hashlib.sha256(data).hexdigest()
        path = self._path(self._folder, key)
        if _size(path) == len(data):
            return key
        size = self.size
        self._make(path.parent)
        if not self._from_pool(key, path, len(data)):
            if durable:
                write_file(self._disk, path, data)
            else:
                _write_plainly(self._disk, path, data)
            self._to_pool(key, path)
        self._size = size + len(data)
        return key

    def get(self, key: str) -> bytes | None:
        """A content, or None when it is lost or no longer what was kept."""
        try:
            data = self._path(self._folder, key).read_bytes()
        except OSError:
            return None
        return data if hashlib.sha256(data).hexdigest() == key else None

    def _path(self, folder: Path, key: str) -> Path:
        return folder / key[:2] / key[2:]

    def _from_pool(self, key: str, path: Path, size: int) -> bool:
        if self._pool is None:
            return False
        shared = self._path(self._pool, key)
        if _size(shared) == size:
            with contextlib.suppress(OSError):
                self._disk.link(shared, path)
                return True
        return False

    def _to_pool(self, key: str, path: Path) -> None:
        if self._pool is None:
            return
        shared = self._path(self._pool, key)
        with contextlib.suppress(OSError):  # sharing saves space; without it each session has its own
            self._make(shared.parent)
            self._disk.link(path, shared)

    def _make(self, folder: Path) -> None:
        if folder not in self._folders:
            make_folder(self._disk, folder.parent)
            self._disk.mkdir(folder)
            self._folders.add(folder)


def sweep_pool(pool: Path) -> None:
    """Remove contents that no session names any more."""
    for path in pool.glob("??/*"):
        with contextlib.suppress(OSError):
            if path.stat().st_nlink == 1:
                os.unlink(path)


def _size(path: Path) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return -1


def _write_plainly(disk: Disk, path: Path, data: bytes) -> None:
    """Without the care that records get: what a crash cuts off has another size, and is written again."""
    with contextlib.suppress(FileNotFoundError):
        disk.unlink(path)
    file = disk.create(path)
    try:
        left = memoryview(data)
        while left:
            left = left[disk.write(file, left) :]
    finally:
        disk.close(file)
