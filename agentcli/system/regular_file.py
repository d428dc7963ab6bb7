"""Read untrusted files: only regular files, of limited size, and none outside a folder."""

from __future__ import annotations

import os
import stat
import time
from pathlib import Path

from agentcli.core.text.encodings import is_binary, readable

_FRESH = 50_000_000
"""Time in nanoseconds after a change within which another change may have the same timestamp."""


class Unusable(Exception):
    """A file that cannot be used; the text is the reason."""


class Missing(Unusable):
    """A file that does not exist."""


def version(path: Path) -> tuple[int, ...]:
    """Return a cache key for the content of a file: it differs after the file was written or replaced.

    For a file changed just now, each call returns another key. Empty for a missing file.
    """
    try:
        about = os.stat(path)
    except OSError:
        return ()
    fresh = time.time_ns() - max(about.st_mtime_ns, about.st_ctime_ns) < _FRESH
    now = (time.monotonic_ns(),) if fresh else ()
    return (about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns, *now)


def read_text(path: Path, most: int, within: Path | None = None) -> str:
    """Return the text of a regular file of any encoding. Raise Unusable if it is binary, or if `read_regular` refuses it."""
    data = read_regular(path, most, within)
    if is_binary(data):
        raise Unusable("it is not text")
    return readable(data)


def read_regular(path: Path, most: int, within: Path | None = None) -> bytes:
    """Return the bytes of a regular file. Pipes and devices are refused, because opening one could block forever.

    Raise Unusable for any other file, and for more than `most` bytes. Raise it also for a file outside `within`, a real
    path. Raise Missing if there is no file.
    """
    try:
        real = Path(os.path.realpath(path, strict=True))
        if within is not None and not real.is_relative_to(within):
            raise Unusable("a link leads out of the repository")
        descriptor = os.open(real, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise Unusable("it is not a regular file")
        with open(descriptor, "rb") as file:
            data = file.read(most + 1)
    except FileNotFoundError as error:
        raise Missing(f"can't read it ({error.strerror})") from error
    except OSError as error:
        raise Unusable(f"can't read it ({error.strerror or error})") from error
    if len(data) > most:
        raise Unusable(f"it is larger than {most:,} bytes")
    return data
