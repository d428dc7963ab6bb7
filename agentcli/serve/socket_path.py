"""Paths of sockets: systems allow about 100 bytes, so a socket whose path is longer lies in a private folder among the temporary files."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

SOCKET = "http.sock"
"""The server's socket in its folder."""
_LONGEST = 100
"""Bytes of a socket's path: systems allow 103 or 107."""
_PREFIX = "agentcli-"


def usable_path(path: Path) -> Path:
    """Return `path`, or a shorter one in a folder that only this user can enter if it is too long for a socket. Raises OSError."""
    if len(os.fsencode(path)) <= _LONGEST:
        return path
    return Path(tempfile.mkdtemp(prefix=_PREFIX)) / "s"


def linked_path(path: Path) -> Path:
    """Return the path of the socket that `path` is, or is a link to."""
    return path.readlink() if path.is_symlink() else path


def is_private(path: Path) -> bool:
    """Return True for a path in a folder that `usable_path` made."""
    return path.parent.name.startswith(_PREFIX)


def remove_socket(path: Path) -> None:
    """Remove a socket, and the folder that `usable_path` made for it."""
    with contextlib.suppress(OSError):
        path.unlink(missing_ok=True)
        if is_private(path):
            path.parent.rmdir()
