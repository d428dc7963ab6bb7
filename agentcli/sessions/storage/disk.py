"""Writing so that it lasts: every system call of the write path passes through here, where a test can fail or record it."""

from __future__ import annotations

import contextlib
import fcntl
import os
from pathlib import Path

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW


class Disk:
    """The system calls that change files, one method each. Every one of them may raise OSError."""

    def create(self, path: str | Path) -> int:
        """A new file, for its owner alone, open for writing."""
        return os.open(path, _NEW, 0o600)

    def write(self, file: int, data: memoryview) -> int:
        """Return the number of bytes written, which may be fewer than were given."""
        return os.write(file, data)

    def fsync(self, file: int) -> None:
        """Until the bytes lie on the medium. On macOS only F_FULLFSYNC promises that."""
        full = getattr(fcntl, "F_FULLFSYNC", None)
        if full is None:
            os.fsync(file)
        else:
            fcntl.fcntl(file, full)

    def close(self, file: int) -> None:
        os.close(file)

    def rename(self, old: Path, new: Path) -> None:
        os.replace(old, new)

    def link(self, old: str | Path, new: str | Path) -> None:
        os.link(old, new)

    def unlink(self, path: Path) -> None:
        os.unlink(path)

    def mkdir(self, path: Path) -> None:
        """A folder for its owner alone; no error when it is there already."""
        with contextlib.suppress(FileExistsError):
            os.mkdir(path, 0o700)

    def open_folder(self, path: Path) -> int:
        """A folder, to be synced."""
        return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)


DISK = Disk()


def write_file(disk: Disk, path: Path, data: bytes, *, durable: bool = True) -> None:
    """The whole file or nothing: a temporary file in the same folder, fsync, rename, fsync of the folder.

    Not `durable` leaves out both fsyncs: whoever reads sees old or new, but a power cut may bring back the old.
    Raises OSError; a temporary file that cannot be trusted is then removed, and whatever stood there before stands still.
    """
    put_file(disk, path, data, durable=durable)
    if durable:
        sync_folder(disk, path.parent)


def put_file(disk: Disk, path: Path, data: bytes, *, durable: bool = True) -> None:
    """The same without the fsync of the folder: after a power cut the file is whole, or not there until the folder was synced. Raises OSError."""
    temporary = path.with_name(f".{path.name}.{os.urandom(4).hex()}.tmp")
    try:
        _fill(disk, temporary, data, durable)
        disk.rename(temporary, path)
    except OSError:
        with contextlib.suppress(OSError):
            disk.unlink(temporary)
        raise


def write_new(disk: Disk, path: str | Path, data: bytes) -> None:
    """A file in a folder that nobody reads yet: neither a temporary file nor the medium is needed. Raises OSError."""
    _fill(disk, path, data, durable=False)


def sync_folder(disk: Disk, folder: Path) -> None:
    """Until the names in a folder lie on the medium."""
    file = disk.open_folder(folder)
    try:
        disk.fsync(file)
    finally:
        disk.close(file)


def make_folder(disk: Disk, path: Path, *, durable: bool = True) -> None:
    """A folder with its missing parents, each for its owner alone and, if `durable`, on the medium when this returns."""
    if path.is_dir():
        return
    make_folder(disk, path.parent, durable=durable)
    disk.mkdir(path)
    if not durable:
        return
    try:
        sync_folder(disk, path.parent)
    except OSError:
        with contextlib.suppress(OSError):
            os.rmdir(path)  # so that the next try syncs it again
        raise


def is_temporary(name: str) -> bool:
    """True if `write_file` left this behind when it was killed."""
    return name.startswith(".") and name.endswith(".tmp")


def reason(error: OSError) -> str:
    """The system's error text, for people."""
    return error.strerror or str(error)


def _fill(disk: Disk, path: str | Path, data: bytes, durable: bool) -> None:
    file = disk.create(path)
    try:
        _write_all(disk, file, memoryview(data))
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
