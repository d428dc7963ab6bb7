"""Path resolution: which file a model's path means, the same for permission checks and for opening it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from unicodedata import normalize
from urllib.parse import unquote

MANUAL = "manual:"
MANUAL_FOLDER = Path(os.path.realpath(__file__)).parent.parent / "manual"
_LOOKS = 100
"""Maximum attempts to follow a path that changes meanwhile."""


def spelled(cwd: Path, path: str) -> str:
    """Return the absolute path that the model's path means, with `~` expanded and links unresolved.

    `manual:keys.md` is a page of this program's own manual, wherever that is installed.
    """
    if path.startswith(MANUAL):
        return str(MANUAL_FOLDER / path.removeprefix(MANUAL))
    whole = os.path.join(cwd, os.path.expanduser(path))
    return whole if whole.isascii() or "\0" in whole or os.path.lexists(whole) else _as_it_is_there(whole)


def _as_it_is_there(path: str) -> str:
    """Return a path with the actual spelling of existing files and folders.

    The file system may store composed letters, or separate marks.
    """
    folder, name = os.path.split(path)
    if not name or folder == path:
        return path
    folder = folder if folder.isascii() or os.path.lexists(folder) else _as_it_is_there(folder)
    if not name.isascii():
        with suppress(OSError):
            same = normalize("NFC", name)
            name = next((each for each in os.listdir(folder) if normalize("NFC", each) == same), name)
    return os.path.join(folder, name)


def unwrapped(cwd: Path, path: str) -> str:
    """Return the path; if nothing exists there and the path is wrapped, return the inner path if it exists.

    A wrapped path is in quotes or blanks, after `@` or `file://`, or before a line number. It may also have the form of
    a diff (`a/src/x.py`), or begin with a slash although it is relative.
    """
    if _is_there(cwd, path):
        return path
    return next((inner for inner in _inner_paths(path) if inner and _is_there(cwd, inner)), path)


def _inner_paths(path: str) -> Iterator[str]:
    plain = path.strip().strip("\"'`").removeprefix("@")
    if plain.startswith("file://"):
        plain = unquote(plain.removeprefix("file://").removeprefix("localhost"))
    for inner in (plain, re.sub(r"(?::\d+(?:-\d+)?){1,2}:?$|#L\d+(?:-L?\d+)?$", "", plain)):
        yield inner
        yield re.sub(r"^[ab]/", "", inner)
        yield inner.lstrip("/")


def _is_there(cwd: Path, path: str) -> bool:
    return os.path.lexists(spelled(cwd, path))


def searched(path: str, pattern: str) -> tuple[str, str]:
    """Return the folder that a glob searches, and the pattern within it.

    A pattern that leads elsewhere starts at its own folder.
    """
    if not pattern.startswith(("/", "~", "../")):
        return path, pattern
    parts = os.path.expanduser(pattern).split("/")
    plain = next((n for n, part in enumerate(parts) if set(part) & set("*?[{")), len(parts) - 1)
    return os.path.join(path, "/".join(parts[:plain]) or "/"), "/" + "/".join(parts[plain:])


def follow(path: str) -> Path:
    """Return the absolute path without links and dots; it need not exist.

    Raises OSError if a name stops being a link during the read, or if the text is not a path.
    """
    for _ in range(_LOOKS):
        with suppress(OSError):
            return Path(os.path.realpath(path))
    return Path(os.path.realpath(path))
