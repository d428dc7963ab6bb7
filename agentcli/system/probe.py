"""Checks of a path that may be a guess, such as a word of a command or a setting.

`Path.is_dir()`, `is_file()` and `exists()` raise for a name that is too long. They also raise below a folder without
search permission. The error contains the whole word, which may be a token or a text. These functions return False for
everything that no system call finds.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping

_FRESH, _COARSE = 20_000_000, 2_000_000_000
"""Nanoseconds for which a folder's time does not reveal a further change.

The second is for file systems that store times in full seconds, or in hundredths of them.
"""
_HUNDREDTH = 10_000_000
Stamp = tuple[int, int, int]
"""Device, number and time of a folder."""


def exists(path: str | os.PathLike[str]) -> bool:
    """Return True if a file or folder can be seen there. A link counts as the file that it leads to."""
    return os.path.exists(path)


def is_dir(path: str | os.PathLike[str]) -> bool:
    """Return True if a folder, or a link to one, can be seen there."""
    return os.path.isdir(path)


def is_file(path: str | os.PathLike[str]) -> bool:
    """Return True if a regular file, or a link to one, can be seen there."""
    return os.path.isfile(path)


def stamp_of(folder: str) -> Stamp | None:
    """Return what any change of the names in a folder changes; None if the folder cannot be seen."""
    try:
        status = os.lstat(folder)
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_ctime_ns


def changed(top: str, stamps: Mapping[str, Stamp | None]) -> set[str]:
    """Return the folders below `top` that have another stamp now, or none; a name begins at `top`, or with `/`."""
    found: set[str] = set()
    try:
        start = os.open(top, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return set(stamps)
    try:
        for name, stamp in stamps.items():
            try:
                status = os.stat(name, dir_fd=start, follow_symlinks=False)
            except OSError:
                found.add(name)
                continue
            if stamp != (status.st_dev, status.st_ino, status.st_ctime_ns):
                found.add(name)
    finally:
        os.close(start)
    return found


def name_below(top: str, path: str) -> str:
    """Return a path as `changed` takes it: relative if it is in `top`, which is shorter to look up."""
    inside = top.rstrip("/") + "/"
    return path[len(inside) :] or "." if f"{path}/".startswith(inside) else path


def is_settled(stamp: Stamp) -> bool:
    """Return True if any later change in the folder gives another stamp. Ask after reading it, with the stamp before."""
    return stamp[2] + (_FRESH if stamp[2] % _HUNDREDTH else _COARSE) < time.time_ns()
