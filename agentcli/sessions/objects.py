"""File contents kept by their hash, shared between the sessions of a project, apart from any repository of the user's."""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path

from agentcli.sessions.disk import Disk, make_folder, write_file


class Objects:
    """Contents by SHA-256 under `folder`. With a `pool`, equal contents of several sessions are one file with several names."""

    def __init__(self, folder: Path, disk: Disk, pool: Path | None = None) -> None:
        self._folder, self._disk, self._pool = folder, disk, pool
        self._size: int | None = None

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
        if path.exists():
            return key
        size = self.size
        make_folder(self._disk, path.parent)
        if not self._from_pool(key, path, len(data)):
            write_file(self._disk, path, data, durable=durable)
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
        with contextlib.suppress(OSError):
            if shared.stat().st_size == size:
                self._disk.link(shared, path)
                return True
        return False

    def _to_pool(self, key: str, path: Path) -> None:
        if self._pool is None:
            return
        shared = self._path(self._pool, key)
        with contextlib.suppress(OSError):  # sharing saves space; without it each session has its own
            make_folder(self._disk, shared.parent)
            self._disk.link(path, shared)


def sweep_pool(pool: Path) -> int:
    """Remove contents that no session names any more; how many bytes that frees."""
    freed = 0
    for path in pool.glob("??/*"):
        with contextlib.suppress(OSError):
            status = path.stat()
            if status.st_nlink == 1:
                os.unlink(path)
                freed += status.st_size
    return freed
