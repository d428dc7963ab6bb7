"""Locks between processes, which the system releases when their holder ends, and files shared by processes.

A shared file is changed under a lock and replaced as a whole, never overwritten unread.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from agentcli.core.errors import StoreError, ToolError
from agentcli.core.text.encodings import Encoding, decode, encode
from agentcli.system.disk import DISK, Disk, make_folder, reason, write_file

_PAUSE = 0.005
"""Seconds between two attempts if the wait has a limit."""


class FileLock:
    """A lock on a file or a folder, held from creation to `release`.

    `file` is the open descriptor; that of a file can be read and written. `guards` is False if the file system has no
    locks. Then the lock keeps no other process out, and work continues.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        shared: bool = False,
        make: bool = True,
        folder: bool = False,
        patience: float | None = None,
    ) -> None:
        """Open the file and wait for its lock, for `patience` seconds or without a limit.

        `make` creates a missing file, private to its owner. Raises BlockingIOError if another process still holds the
        lock, OSError if the file cannot be opened.
        """
        how = os.O_RDONLY | os.O_DIRECTORY if folder else os.O_RDWR | (os.O_CREAT if make else 0)
        self.file = os.open(path, how | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            self.guards = _locked(self.file, fcntl.LOCK_SH if shared else fcntl.LOCK_EX, patience)
        except BaseException:
            self.release()
            raise

    def release(self) -> None:
        """Close the file, which releases the lock. Harmless if called twice."""
        if self.file >= 0:
            os.close(self.file)
            self.file = -1

    def is_at(self, path: str | Path) -> bool:
        """Return True if the path is still this file: another holder may have removed or replaced it meanwhile."""
        try:
            return os.path.samestat(os.fstat(self.file), os.stat(path))
        except FileNotFoundError:
            return False

    def __enter__(self) -> FileLock:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def is_held(path: str | Path) -> bool:
    """Return True if a living process is known to hold the lock of a file."""
    try:
        FileLock(path, shared=True, make=False, patience=0).release()
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _locked(file: int, kind: int, patience: float | None) -> bool:
    """Wait for the lock; False if the file system has none. Raises BlockingIOError."""
    until = None if patience is None else time.monotonic() + patience
    while True:
        try:
            fcntl.flock(file, kind if until is None else kind | fcntl.LOCK_NB)
        except BlockingIOError:
            if until is None or time.monotonic() >= until:
                raise
            time.sleep(_PAUSE)
        except OSError:
            # The request is valid, so the file system does not support locks: ENOLCK, ENOTSUP, ENOSYS, EINVAL,
            # depending on its kind. Unguarded files are better than a program that does not work there.
            return False
        else:
            return True


PATIENCE = 10.0
"""Seconds to wait for another process that uses a shared file."""
LINES = 10_000
"""Maximum lines of a shared list; the oldest lines go first."""


def update(
    path: Path,
    change: Callable[[str], str],
    *,
    disk: Disk = DISK,
    patience: float = PATIENCE,
    lock: Path | None = None,
) -> str:
    """Replace a text file by `change(its current text)` and return the new text.

    The current text of a missing file is empty. A link remains a link, and a file keeps its mode. `lock` is the lock
    file, which remains; by default it is beside `path`.

    Raises StoreError if the file cannot be read or written, stays locked, or is not text. A file that is not text stays
    unchanged.
    """
    path = Path(os.path.realpath(path))
    with _holding(path, disk, patience, lock):
        try:
            before, encoding = _text(path)
            after = change(before)
            if after != before:
                mode = path.stat().st_mode if path.exists() else None
                write_file(disk, path, encode(after, encoding, str(path)))
                if mode is not None:
                    os.chmod(path, mode & 0o777)
        except OSError as error:
            raise StoreError(f"Can't change {path}: {reason(error)}. It was left as it was.") from error
        except ToolError as error:
            raise StoreError(str(error)) from error
    return after


def add_line(path: Path, line: str, *, limit: int = LINES, patience: float = PATIENCE) -> None:
    """Add a line, without a line break, to a list that grows at its end, such as the prompt history.

    If the list exceeds `limit` by a tenth, the oldest lines are removed. Raises StoreError if the file cannot be
    written, or stays locked.
    """
    path = Path(os.path.realpath(path))
    with _holding(path, DISK, patience):
        try:
            _append(path, (line + "\n").encode("utf-8", "replace"))
            known = path.read_bytes().splitlines(keepends=True)
            if len(known) > limit * 1.1:
                write_file(DISK, path, b"".join(known[-limit:]))
        except OSError as error:
            raise StoreError(f"Can't write {path}: {reason(error)}.") from error


def lines(path: Path) -> list[str]:
    """Return the lines of a shared list, oldest first; empty without a file.

    A line may be truncated because its writer was killed: readers must skip it.
    """
    try:
        data = path.read_bytes()
    except OSError:
        return []
    return [line.decode("utf-8", "replace") for line in data.split(b"\n") if line]


@contextmanager
def _holding(path: Path, disk: Disk, patience: float, lock: Path | None = None) -> Iterator[None]:
    # The lock is a separate file, because the shared file is replaced. A lock on a replaced file locks nothing.
    lock = lock or path.with_name(f".{path.name}.lock")
    try:
        make_folder(disk, path.parent)
        make_folder(disk, lock.parent)
        held = FileLock(lock, patience=patience)
    except BlockingIOError:
        raise StoreError(f"{path} stays locked by another process; nothing was changed.") from None
    except OSError as error:
        raise StoreError(f"Can't lock {path}: {reason(error)}.") from error
    with held:
        yield


def _text(path: Path) -> tuple[str, Encoding]:
    """Return the text of a file and its encoding. Raises StoreError for a binary file.

    UTF-8 with a null byte is text here: `change` can then replace a damaged file.
    """
    try:
        content = path.read_bytes()
        return decode(content) or (content.decode(), Encoding())
    except FileNotFoundError:
        return "", Encoding()
    except UnicodeDecodeError:
        raise StoreError(f"{path} is not text, so it was not changed.") from None


def _append(path: Path, line: bytes) -> None:
    file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        size = os.fstat(file).st_size
        torn = size > 0 and os.pread(file, 1, size - 1) != b"\n"  # its writer was killed while it wrote
        data = b"\n" + line if torn else line
        while data:
            data = data[os.write(file, data) :]
    finally:
        os.close(file)
