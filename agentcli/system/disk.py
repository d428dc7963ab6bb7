"""Durable writing. Every system call of the write path passes through here, so a test can fail or record it.

To replace a file, it is first written under a temporary name in the same folder.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterable
from pathlib import Path

from agentcli.system import probe

_KEPT = 100
"""Bytes of a file's name kept in its temporary name: a name may have 255 bytes, including the additions."""


def temporary_name(name: str) -> str:
    """Return a name for the temporary file of a file: hidden, and different with each call."""
    head = name.encode("utf-8", "surrogateescape")[:_KEPT].decode("utf-8", "ignore")
    return f".{head}.{os.urandom(6).hex()}.tmp"


def is_temporary(name: str) -> bool:
    """Return True if a file has such a name: its writer was killed."""
    return name.startswith(".") and name.endswith(".tmp")


_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW


class Disk:
    """System calls that change files, one method each. Each may raise OSError."""

    def create(self, path: str | Path) -> int:
        """Create a file, for its owner alone, open for writing."""
        return os.open(path, _NEW, 0o600)

    def write(self, file: int, data: memoryview) -> int:
        """Return the number of bytes written, which may be fewer than were given."""
        return os.write(file, data)

    def fsync(self, file: int) -> None:
        """Wait until the bytes are on the medium. On macOS only F_FULLFSYNC guarantees that."""
        full = getattr(fcntl, "F_FULLFSYNC", None)
        if full is None:
            os.fsync(file)
        else:
            fcntl.fcntl(file, full)

    def close(self, file: int) -> None:
        os.close(file)

    def rename(self, old: Path, new: Path) -> None:
        os.replace(old, new)

    def link(self, old: str | Path, new: str | Path, folders: tuple[int | None, int | None] = (None, None)) -> None:
        """Give a file a second name. Relative names begin at the open `folders` of the old and the new one."""
        os.link(old, new, src_dir_fd=folders[0], dst_dir_fd=folders[1], follow_symlinks=False)

    def unlink(self, path: Path) -> None:
        os.unlink(path)

    def mkdir(self, path: Path) -> None:
        """Make a folder for its owner alone; no error if it exists."""
        with contextlib.suppress(FileExistsError):
            os.mkdir(path, 0o700)

    def open_folder(self, path: Path) -> int:
        """Open a folder, to sync it."""
        return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)


DISK = Disk()


def write_file(disk: Disk, path: Path, data: bytes | Iterable[bytes], *, durable: bool = True) -> None:
    """Write the whole file or nothing: a temporary file in the same folder, fsync, rename, fsync of the folder.

    The data may come in pieces.

    Without `durable`, both fsyncs are skipped. Readers then see the old or the new file, but a power cut may restore
    the old one. Raises OSError; then the temporary file is removed, and the old file remains.
    """
    put_file(disk, path, data, durable=durable)
    if durable:
        sync_folder(disk, path.parent)


def put_file(disk: Disk, path: Path, data: bytes | Iterable[bytes], *, durable: bool = True) -> None:
    """Write a file like `write_file`, without the fsync of the folder. Raises OSError.

    After a power cut, the file is complete, or missing if the folder was not synced.
    """
    temporary = path.with_name(temporary_name(path.name))
    try:
        _fill(disk, temporary, data, durable)
        disk.rename(temporary, path)
    except OSError:
        with contextlib.suppress(OSError):
            disk.unlink(temporary)
        raise


def write_new(disk: Disk, path: str | Path, data: bytes) -> None:
    """Write a file into a folder that has no readers yet, without a temporary file or fsync. Raises OSError."""
    _fill(disk, path, data, durable=False)


def sync_folder(disk: Disk, folder: Path) -> None:
    """Wait until the names in a folder are on the medium."""
    file = disk.open_folder(folder)
    try:
        disk.fsync(file)
    finally:
        disk.close(file)


def make_folder(disk: Disk, path: Path, *, durable: bool = True) -> None:
    """Make a folder and its missing parents, each private to its owner.

    If `durable`, they are on the medium on return.
    """
    if probe.is_dir(path):
        return
    make_folder(disk, path.parent, durable=durable)
    disk.mkdir(path)
    if not durable:
        return
    try:
        sync_folder(disk, path.parent)
    except OSError:
        with contextlib.suppress(OSError):
            os.rmdir(path)  # so that the next attempt syncs it again
        raise


def reason(error: OSError) -> str:
    """Return the system's error text, for people."""
    return error.strerror or str(error)


def _fill(disk: Disk, path: str | Path, data: bytes | Iterable[bytes], durable: bool) -> None:
    file = disk.create(path)
    try:
        for piece in (data,) if isinstance(data, bytes) else data:
            _write_all(disk, file, memoryview(piece))
        if durable:
            disk.fsync(file)
    finally:
        disk.close(file)


def _write_all(disk: Disk, file: int, data: memoryview) -> None:
    while data:
        count = disk.write(file, data)
        if count == 0:
            raise OSError(5, "Nothing was written")
        data = data[count:]
