"""Files that several running agentcli share: changed under a lock, replaced whole, never overwritten unread."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from agentcli.core.errors import StoreError
from agentcli.sessions.storage.disk import DISK, Disk, make_folder, reason, write_file

PATIENCE = 10.0
"""Seconds to wait for another process to be done with a shared file."""
LINES = 10_000
"""Lines that a shared list keeps; the oldest go first."""
_PAUSE = 0.005


def update(
    path: Path,
    change: Callable[[str], str],
    *,
    disk: Disk = DISK,
    patience: float = PATIENCE,
    lock: Path | None = None,
) -> str:
    """Replace a text file by what `change` makes of its present text (empty when there is none); the new text.

    A link stays a link and keeps its target's mode. `lock` is the file of the lock, which stays; without one it lies beside `path`.

    Raises StoreError when the file cannot be read as text (it is then left
    alone), cannot be written, or stays locked.
    """
    path = Path(os.path.realpath(path))
    with _holding(path, disk, patience, lock):
        try:
            before = _text(path)
            after = change(before)
            if after != before:
                mode = path.stat().st_mode if path.exists() else None
                write_file(disk, path, after.encode("utf-8"))
                if mode is not None:
                    os.chmod(path, mode & 0o777)
        except OSError as error:
            raise StoreError(f"{path} cannot be changed: {reason(error)}. It was left as it was.") from error
        except UnicodeDecodeError as error:
            raise StoreError(f"{path} is not UTF-8 text, so it was left as it was.") from error
    return after


def add_line(path: Path, line: str, *, limit: int = LINES, disk: Disk = DISK, patience: float = PATIENCE) -> None:
    """Add a line to a list that grows at its end, such as the history of what was typed; it must hold no line break.

    Raises StoreError as `update` does. When the list has grown a tenth over `limit`, the oldest lines go.
    """
    path = Path(os.path.realpath(path))
    with _holding(path, disk, patience):
        try:
            _append(path, (line + "\n").encode("utf-8", "replace"))
            known = path.read_bytes().splitlines(keepends=True)
            if len(known) > limit * 1.1:
                write_file(disk, path, b"".join(known[-limit:]))
        except OSError as error:
            raise StoreError(f"{path} cannot be written: {reason(error)}.") from error


def lines(path: Path) -> list[str]:
    """The lines of a shared list, oldest first; no file is an empty list.

    A line whose writer was killed in the middle stands among them, cut short: whoever parses the lines passes it over.
    """
    try:
        data = path.read_bytes()
    except OSError:
        return []
    return [line.decode("utf-8", "replace") for line in data.split(b"\n") if line]


@contextmanager
def _holding(path: Path, disk: Disk, patience: float, lock: Path | None = None) -> Iterator[None]:
    # The lock is a file of its own: the shared file itself is replaced, and a lock on what was replaced locks nothing.
    lock = lock or path.with_name(f".{path.name}.lock")
    try:
        make_folder(disk, path.parent)
        make_folder(disk, lock.parent)
        file = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise StoreError(f"{path} cannot be locked: {reason(error)}.") from error
    try:
        _wait_for(file, path, patience)
        yield
    finally:
        os.close(file)


def _wait_for(file: int, path: Path, patience: float) -> None:
    until = time.monotonic() + patience
    while True:
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        if time.monotonic() > until:
            raise StoreError(f"{path} stays locked by another process; nothing was changed.")
        time.sleep(_PAUSE)


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return ""


def _append(path: Path, line: bytes) -> None:
    file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        size = os.fstat(file).st_size
        torn = size > 0 and os.pread(file, 1, size - 1) != b"\n"  # its writer was killed in the middle
        data = b"\n" + line if torn else line
        while data:
            data = data[os.write(file, data) :]
    finally:
        os.close(file)
