"""Lookup of programs by name: those started without asking come from outside the workspace."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

_given = ""
_cleaned: str | None = None
_workspace: set[Path] = set()


def leave_out(workspace: Iterable[Path]) -> None:
    """From now on this process finds no program in these folders by name, whichever library starts one.

    `search_path` still returns PATH as it was at start.
    """
    global _given, _cleaned
    _given = search_path()
    _workspace.update(workspace)
    _cleaned = os.environ["PATH"] = trusted_path(_given, _workspace)


def search_path() -> str:
    """PATH as it was when the program started: commands that a person or a rule allowed find their programs there."""
    now = os.environ.get("PATH", "")
    return _given if _cleaned is not None and now == _cleaned else now


def trusted_path(path: str, workspace: Iterable[Path]) -> str:
    """A search path without its empty and relative entries and without those that lie in the workspace."""
    closed = tuple(untrusted(workspace))
    kept = (entry for entry in path.split(os.pathsep) if os.path.isabs(entry) and not lies_in(entry, closed))
    # An empty PATH means the current folder to some programs, and so does a missing one.
    return os.pathsep.join(dict.fromkeys(kept)) or os.defpath


def find_program(name: str, workspace: Iterable[Path] = (), path: str | None = None) -> str:
    """The absolute path of a program outside of the workspace, or the empty string. `path` replaces PATH."""
    outside = (*workspace, *_workspace)
    closed = tuple(untrusted(outside))
    entries = trusted_path(search_path() if path is None else path, outside).split(os.pathsep)
    found = (located(name, entry, Path("/")) for entry in entries)
    return next((file for file in found if file and not lies_in(file, closed)), "")


def located(name: str, path: str, folder: Path) -> str:
    """The file that a shell in `folder` would start for a name, looking through `path`; empty where there is none."""
    for entry in path.split(os.pathsep):
        file = os.path.join(folder, entry, name)
        if os.path.isfile(file) and os.access(file, os.X_OK):
            return file
    return ""


def untrusted(workspace: Iterable[Path]) -> Iterator[str]:
    """The folders that programs are not taken from: the workspace, and the repository around each of its folders.

    A repository that holds the whole home folder is none of these: its programs are the user's own.
    """
    home = os.path.realpath(Path.home())
    for root in map(os.path.realpath, workspace):
        yield root
        above = (str(folder) for folder in (Path(root), *Path(root).parents))
        top = next((folder for folder in above if os.path.lexists(os.path.join(folder, ".git"))), root)
        if not lies_in(home, (top,)):
            yield top


def lies_in(path: str, folders: Iterable[str]) -> bool:
    """True if a path lies in one of the folders, as it is written or with its links resolved."""
    forms = {os.path.normpath(path), os.path.realpath(path)}
    return any(form == top or form.startswith(top.rstrip("/") + "/") for top in folders for form in forms)
