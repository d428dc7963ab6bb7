"""Rights of a sandboxed command, independent of the mechanism."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from agentcli.permissions.paths import Workspace, names_protected, resolved

_HIDDEN_IN_HOME = (
    *(
        ".ssh",
        ".aws",
        ".gnupg",
        ".netrc",
        ".config/git",
        ".config/agentcli",
        ".config/gh",
        ".config/gcloud",
        ".docker",
        ".kube",
        ".azure",
    ),
    *(".password-store", ".npmrc", ".pypirc", ".git-credentials", ".claude", ".codex", ".gemini"),
)
"""What a command in the box does not even see, below the home folder."""

UNSET = (
    "SSH_AUTH_SOCK",
    "SSH_AGENT_PID",
    "DBUS_SESSION_BUS_ADDRESS",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "GPG_AGENT_INFO",
)
"""Variables that lead to something outside which would act for a command."""


@dataclass(frozen=True, slots=True)
class Box:
    """A command may write below `writable` but for `readonly`, sees nothing of `hidden`, and has the network if `network`.

    It sees all else, or where `readable` is given only what lies there, and then opens no socket of any kind. `scratch` is a folder for temporary files and caches. No mechanism here can forbid a protected name that does not exist
    yet: `protected_since` tells which ones a command made.
    """

    cwd: Path
    writable: tuple[Path, ...]
    readonly: tuple[Path, ...]
    hidden: tuple[Path, ...]
    network: bool = False
    scratch: str = "/tmp"
    readable: tuple[Path, ...] | None = None
    home: Path | None = None


def box_for(workspace: Workspace, network: bool = False, limit: int = 2_000) -> Box:
    """The box for a workspace: it is writable, its protected files are read-only, private files are hidden.

    `limit` is how many entries of the workspace are looked through for protected files, and for sockets, behind which
    programs outside listen.
    """
    roots = tuple(dict.fromkeys(workspace.resolved_roots))
    readonly, sockets = [], []
    for root in roots:
        for entry in _entries_below(root, limit):
            if _is_protected(entry):
                readonly.append(Path(entry.path))
            elif _is_socket(entry):
                sockets.append(Path(entry.path))
    hidden = (*private(workspace, roots), *sockets)
    return Box(resolved(workspace.cwd), roots, tuple(readonly), hidden, network)


def private(workspace: Workspace, roots: tuple[Path, ...] = ()) -> tuple[Path, ...]:
    """Existing private files and folders of the user, except a folder that the workspace lies in."""
    named = [workspace.home / name for name in _HIDDEN_IN_HOME] + list(workspace.own)
    roots = (*workspace.resolved_roots, *roots)
    return tuple(path for path in dict.fromkeys(map(resolved, named)) if path.exists() and not _holds(path, roots))


def protected_since(workspace: Workspace, before: Collection[Path], limit: int = 2_000) -> list[str]:
    """The protected files of a workspace that were not among those `before`, by their names from its current folder."""
    found = [
        Path(entry.path)
        for root in workspace.resolved_roots
        for entry in _entries_below(root, limit)
        if _is_protected(entry)
    ]
    new = [path for path in found if path not in before]
    return [str(path.relative_to(here) if (here := resolved(workspace.cwd)) in path.parents else path) for path in new]


def _holds(path: Path, roots: tuple[Path, ...]) -> bool:
    return any(path == root or path in root.parents for root in roots)


def _entries_below(root: Path, limit: int) -> Iterator[os.DirEntry[str]]:
    """Entries below a root, breadth first, not entering protected folders and `node_modules`."""
    waiting, seen = [root], 0
    while waiting and seen < limit:
        for entry in _entries(waiting.pop(0)):
            seen += 1
            yield entry
            if entry.is_dir(follow_symlinks=False) and entry.name != "node_modules" and not _is_protected(entry):
                waiting.append(Path(entry.path))


def _is_protected(entry: os.DirEntry[str]) -> bool:
    """True if a file or folder is protected. A link is left out: it is bound where it leads, or it leads outside."""
    return not entry.is_symlink() and bool(names_protected(entry.name, write=True))


def _is_socket(entry: os.DirEntry[str]) -> bool:
    if entry.is_symlink() or entry.is_dir(follow_symlinks=False) or entry.is_file(follow_symlinks=False):
        return False
    try:
        return stat.S_ISSOCK(entry.stat(follow_symlinks=False).st_mode)
    except OSError:
        return False


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []
