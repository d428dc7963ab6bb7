"""One writer per session: a lock that the system releases when its process dies, in whatever way."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

from agentcli.core.errors import SessionBusy
from agentcli.core.locks import FileLock, is_held

_PATIENCE = 0.3  # seconds: a process that only checks if a session is open holds the lock for a moment


class Lock:
    """An exclusive lock on `path`, from here to `release`. The file itself remains: removing it would open a race."""

    def __init__(self, path: Path, patience: float = _PATIENCE) -> None:
        """Take the lock. Raises SessionBusy if another process holds it, OSError if the file cannot be made."""
        self._lock = _acquired(path, patience)

    def release(self) -> None:
        """Release the lock. A second call does nothing."""
        self._lock.release()


def is_locked(path: Path) -> bool:
    """Return True if a living process holds the lock."""
    return is_held(path)


def holder(path: Path) -> str:
    """Return the id of the process that took the lock last, or an empty text."""
    try:
        return path.read_text(encoding="ascii", errors="replace").strip()[:20]
    except OSError:
        return ""


def _acquired(path: Path, patience: float) -> FileLock:
    until = time.monotonic() + patience
    while True:
        try:
            lock = FileLock(path, patience=max(0.0, until - time.monotonic()))
        except BlockingIOError:
            raise SessionBusy(_busy(path)) from None
        if lock.is_at(path):
            _sign(lock.file)
            return lock
        lock.release()  # the session was moved to the trash between our open and our lock


def _sign(file: int) -> None:
    """Write the holder's process id, for the message to others; the lock itself does not depend on it."""
    with contextlib.suppress(OSError):
        os.ftruncate(file, 0)
        os.write(file, f"{os.getpid()}\n".encode())


def _busy(path: Path) -> str:
    who = holder(path)
    process = f" (process {who})" if who else ""
    return (
        f"Session {path.parent.name} is open for writing in another agentcli{process}. "
        f"Open it read-only with `agentcli sessions show {path.parent.name}`, "
        f"or go on in a copy with `agentcli resume {path.parent.name} --fork`."
    )
