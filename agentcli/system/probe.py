"""What lies at a path that may be a guess, such as a word of a command, of a setting or of a model.

`Path.is_dir()`, `is_file()` and `exists()` raise for a name that is too long, and for one below a folder that may not be searched; the
error carries the whole word, which may be a token or a text. These functions answer False for everything that no system call finds.
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
