"""Checks of a path that may be a guess, such as a word of a command or a setting.

`Path.is_dir()`, `is_file()` and `exists()` raise for a name that is too long. They also raise below a folder without
search permission. The error contains the whole word, which may be a token or a text. These functions return False for
everything that no system call finds.
"""

from __future__ import annotations

import os


def exists(path: str | os.PathLike[str]) -> bool:
    """Return True if a file or folder can be seen there. A link counts as the file that it leads to."""
    return os.path.exists(path)


def is_dir(path: str | os.PathLike[str]) -> bool:
    """Return True if a folder, or a link to one, can be seen there."""
    return os.path.isdir(path)


def is_file(path: str | os.PathLike[str]) -> bool:
    """Return True if a regular file, or a link to one, can be seen there."""
    return os.path.isfile(path)
