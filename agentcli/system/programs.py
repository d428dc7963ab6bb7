"""Lookup of programs by name: programs started without approval come from outside the workspace."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

_given = ""
_cleaned: str | None = None
_workspace: set[Path] = set()


def leave_out(workspace: Iterable[Path]) -> None:
    """Keep this process from finding programs in these folders by name, in every library that starts one.

    `search_path` still returns PATH as it was at start.
    """
    global _given, _cleaned
    _given = search_path()
    _workspace.update(workspace)
    _cleaned = os.environ["PATH"] = trusted_path(_given, _workspace)


def search_path() -> str:
    """Return PATH from the start of the program: commands that a person or a rule allowed find their programs there."""
    now = os.environ.get("PATH", "")
    return _given if _cleaned is not None and now == _cleaned else now


def trusted_path(path: str, workspace: Iterable[Path]) -> str:
    """Return a search path without its empty and relative entries and without entries inside the workspace."""
    closed = tuple(untrusted(workspace))
    kept = (entry for entry in path.split(os.pathsep) if os.path.isabs(entry) and not lies_in(entry, closed))
    # An empty PATH means the current folder to some programs, and so does a missing one.
    return os.pathsep.join(dict.fromkeys(kept)) or os.defpath


def find_program(name: str, workspace: Iterable[Path] = (), path: str | None = None) -> str:
    """Return the absolute path of a program outside the workspace, or an empty string. `path` replaces PATH."""
    outside = (*workspace, *_workspace)
    closed = tuple(untrusted(outside))
    entries = trusted_path(search_path() if path is None else path, outside).split(os.pathsep)
    found = (located(name, entry, Path("/")) for entry in entries)
    return next((file for file in found if file and not lies_in(file, closed)), "")


def located(name: str, path: str, folder: Path) -> str:
    """Return the file that a shell in `folder` would start for a name, looking through `path`; empty if there is none."""
    for entry in path.split(os.pathsep):
        file = os.path.join(folder, entry, name)
        if os.path.isfile(file) and os.access(file, os.X_OK):
            return file
    return ""


def untrusted(workspace: Iterable[Path]) -> Iterator[str]:
    """Yield the folders that programs are not taken from: the workspace, and the repository around each of its folders.

    A repository that contains the whole home folder is not among them: its programs are the user's own.
    """
    home = os.path.realpath(Path.home())
    for root in map(os.path.realpath, workspace):
        yield root
        above = (str(folder) for folder in (Path(root), *Path(root).parents))
        top = next((folder for folder in above if os.path.lexists(os.path.join(folder, ".git"))), root)
        if not lies_in(home, (top,)):
            yield top


def lies_in(path: str, folders: Iterable[str]) -> bool:
    """Return True if a path is inside one of the folders, as written or with its links resolved."""
    forms = {os.path.normpath(path), os.path.realpath(path)}
    return any(form == top or form.startswith(top.rstrip("/") + "/") for top in folders for form in forms)
