"""Paths of sockets.

Systems allow about 100 bytes. A socket with a longer path lies in a private folder among the temporary files.
"""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import tempfile
import time
from pathlib import Path

SOCKET = "http.sock"
"""The server's socket in its folder."""
_LONGEST = 100
"""Bytes of a socket's path: systems allow 103 or 107."""
_PREFIX, _NAME = "agentcli-", "s"
_OLD = 3600
"""Seconds after which a socket that nobody listens on is that of a killed process."""


def usable_path(path: Path) -> Path:
    """Return `path` if it is short enough for a socket.

    Otherwise return a shorter path, in a folder that only this user can enter. Raises OSError. Sockets that killed
    processes left there are removed.
    """
    if len(os.fsencode(path)) <= _LONGEST:
        return path
    for left in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*/{_NAME}"):
        if is_private(left) and _is_abandoned(left):
            remove_socket(left)
    return Path(tempfile.mkdtemp(prefix=_PREFIX)) / _NAME


def linked_path(path: Path) -> Path:
    """Return the path of the socket that `path` is, or is a link to."""
    return path.readlink() if path.is_symlink() else path


def is_private(path: Path) -> bool:
    """Return True for a path in a folder made by `usable_path`: owned by this user, for nobody else."""
    folder = path.parent
    if path.name != _NAME or folder.parent != Path(tempfile.gettempdir()) or not folder.name.startswith(_PREFIX):
        return False
    try:
        status = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and stat.S_IMODE(status.st_mode) == 0o700 and status.st_uid == os.getuid()


def _is_abandoned(path: Path) -> bool:
    """Return True for an old socket on which no process listens."""
    try:
        if not stat.S_ISSOCK(path.lstat().st_mode) or path.lstat().st_mtime > time.time() - _OLD:
            return False
        with socket.socket(socket.AF_UNIX) as asked:
            asked.settimeout(1)
            asked.connect(str(path))
    except ConnectionRefusedError:
        return True
    except OSError:
        pass
    return False


def remove_socket(path: Path) -> None:
    """Remove a socket, and the folder that `usable_path` made for it; leave anything that is not a socket."""
    with contextlib.suppress(OSError):
        if stat.S_ISSOCK(path.lstat().st_mode):
            path.unlink()
    if is_private(path):
        with contextlib.suppress(OSError):
            path.parent.rmdir()
