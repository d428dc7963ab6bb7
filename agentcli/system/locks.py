"""Locks on files between processes: the system releases each lock when its holder ends, even by a crash."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path
from types import TracebackType

_PAUSE = 0.005
"""Seconds between two attempts if the wait has a limit."""


class FileLock:
    """A lock on a file, kept from its creation to `release`, and its open `file` descriptor for reading and writing.

    `guards` is False if the file system has no locks: the lock then keeps no other process out, and the work continues.
    """

    def __init__(
        self, path: str | Path, *, shared: bool = False, make: bool = True, patience: float | None = None
    ) -> None:
        """Open the file and wait for its lock for `patience` seconds, or without a limit. `make` creates a missing file, for its owner only.

        Raises BlockingIOError if another process still holds the lock then, OSError if the file cannot be opened.
        """
        flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | (os.O_CREAT if make else 0)
        self.file = os.open(path, flags, 0o600)
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
        """Return True if the path still names this file: another holder may have removed or replaced it while we waited."""
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
            # The request itself is valid, so the file system does not support locks: ENOLCK, ENOTSUP, ENOSYS, EINVAL by its kind.
            # Unguarded files are better than a program that does not work there.
            return False
        else:
            return True
