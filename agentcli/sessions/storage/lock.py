"""One writer a session: a lock that the system releases when its process dies, however it dies."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import time
from pathlib import Path

from agentcli.core.errors import SessionBusy

_PATIENCE = 0.3  # seconds: whoever only looks whether a session is open holds the lock for a moment
_PAUSE = 0.01
_NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS)


class Lock:
    """An exclusive lock on `path`, held from here to `release`. The file itself stays: removing it would open a race."""

    def __init__(self, path: Path, patience: float = _PATIENCE) -> None:
        """Raises SessionBusy when another process holds it, OSError when the file cannot be made."""
        self._file = _acquired(path, patience)

    def release(self) -> None:
        """Let others have it. Harmless when called twice."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def is_locked(path: Path) -> bool:
    """True if a living process holds the lock."""
    try:
        file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(file)
    return False


def holder(path: Path) -> str:
    """The id of the process that took the lock last, or an empty text."""
    try:
        return path.read_text(encoding="ascii", errors="replace").strip()[:20]
    except OSError:
        return ""


def _acquired(path: Path, patience: float) -> int:
    until = time.monotonic() + patience
    while True:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(file)
            if time.monotonic() > until:
                raise SessionBusy(_busy(path)) from None
            time.sleep(_PAUSE)
            continue
        except OSError as error:
            # On a file system without locks a session that nobody guards is better than one that is never saved.
            if error.errno not in _NO_LOCKS:
                os.close(file)
                raise
        if _still_there(file, path):
            _sign(file)
            return file
        os.close(file)  # the session was moved to the trash between our open and our lock


def _still_there(file: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file), os.stat(path))
    except FileNotFoundError:
        return False


def _sign(file: int) -> None:
    """The holder's description, for the message to others; the lock itself does not depend on it."""
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
