"""Rights of a sandboxed command, independent of the mechanism."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from agentcli.core.dataclass import dataclass
from agentcli.permissions.denied.files import NOTHING, Hidden
from agentcli.permissions.paths import Workspace, names_protected, resolved
from agentcli.system import probe

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
"""Paths below the home folder that a command in the box cannot see."""

UNSET = (
    "SSH_AUTH_SOCK",
    "SSH_AGENT_PID",
    "DBUS_SESSION_BUS_ADDRESS",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "GPG_AGENT_INFO",
)
"""Variables that lead to programs outside, which would act for a command."""


@dataclass(frozen=True, slots=True)
class Box:
    """Rights of a command: it may write below `writable` except `readonly`, cannot see `hidden`, and has the network if `network`.

    It sees everything else, unless `readable` is given: then it sees only those paths, and opens no sockets. `scratch`
    is a folder for temporary files and caches. No mechanism here can forbid a protected name that does not exist yet:
    `protected_since` finds such names that a command made.
    """

    cwd: Path
    writable: tuple[Path, ...]
    readonly: tuple[Path, ...]
    hidden: tuple[Path, ...]
    network: bool = False
    scratch: str = "/tmp"
    readable: tuple[Path, ...] | None = None
    home: Path | None = None
    tmp: Path | None = None
    """The folder that it sees as /tmp; None for an empty one of its own."""
    denied: Hidden = NOTHING
    """Files and folders that deny rules keep from being read."""


def fixed(hidden: Hidden, roots: Sequence[Path]) -> list[Path]:
    """Return the workspace's folders around hidden paths, outermost first: if they were moved, no rule would fit."""
    around = {folder for path in hidden.paths for folder in path.parents}
    return sorted(folder for folder in around if any(map(folder.is_relative_to, roots)))


_GIT_SETTINGS = ("config", "config.worktree", "hooks", "info", "modules", "commondir", "worktrees")
"""Names in a repository's folder that decide which programs git runs and where it looks."""
_GIT_USER = (".config/git",)
"""Settings of the user, with name and address, that git needs to record anything."""


def box_for(workspace: Workspace, network: bool = False, limit: int = 2_000, git: bool = False) -> Box:
    """Return the box for a workspace: it is writable, its protected files are read-only, private files are hidden.

    With `git`, the repository around the current folder is writable except for its settings and hooks. `limit` is the
    maximum number of the workspace's entries that are searched for protected files, and for sockets, through which
    programs outside can be reached.
    """
    roots = tuple(dict.fromkeys(workspace.resolved_roots))
    readonly, sockets = [], []
    for root in roots:
        for entry in _entries_below(root, limit):
            if _is_protected(entry):
                readonly.append(Path(entry.path))
            elif _is_socket(entry):
                sockets.append(Path(entry.path))
    readonly += [path for path in workspace.started() if probe.is_file(path) and path not in readonly]
    hidden = [*private(workspace, roots), *sockets]
    if git and (repository := _repository(workspace)):
        settings = [repository / name for name in _GIT_SETTINGS if probe.exists(repository / name)]
        readonly = [*(path for path in readonly if path != repository), *settings]
        hidden = [path for path in hidden if path not in [resolved(workspace.home / name) for name in _GIT_USER]]
    return Box(resolved(workspace.cwd), roots, tuple(readonly), tuple(hidden), network)


def private(workspace: Workspace, roots: tuple[Path, ...] = ()) -> tuple[Path, ...]:
    """Return existing private files and folders of the user, except folders that contain the workspace."""
    homes = (workspace.home, *workspace.other_homes)
    named = [home / name for home in homes for name in _HIDDEN_IN_HOME] + list(workspace.own)
    roots = (*workspace.resolved_roots, *roots)
    return tuple(path for path in dict.fromkeys(map(resolved, named)) if probe.exists(path) and not _holds(path, roots))


def protected_since(workspace: Workspace, before: Collection[Path], limit: int = 2_000) -> list[str]:
    """Return the protected files of a workspace that are not in `before`, by their names from its current folder."""
    found = [
        Path(entry.path)
        for root in workspace.resolved_roots
        for entry in _entries_below(root, limit)
        if _is_protected(entry)
    ]
    new = [path for path in found if path not in before]
    return [str(path.relative_to(here) if (here := resolved(workspace.cwd)) in path.parents else path) for path in new]


def _repository(workspace: Workspace) -> Path | None:
    """Return the folder of the repository around the current folder, if it is in the workspace."""
    cwd = resolved(workspace.cwd)
    found = next((top / ".git" for top in (cwd, *cwd.parents) if probe.is_dir(top / ".git")), None)
    return found if found and any(root in found.parents for root in workspace.resolved_roots) else None


def _holds(path: Path, roots: tuple[Path, ...]) -> bool:
    return any(path == root or path in root.parents for root in roots)


def _entries_below(root: Path, limit: int) -> Iterator[os.DirEntry[str]]:
    """Yield entries below a root, breadth first, without entering protected folders and `node_modules`."""
    waiting, seen = [root], 0
    while waiting and seen < limit:
        for entry in _entries(waiting.pop(0)):
            seen += 1
            yield entry
            if entry.is_dir(follow_symlinks=False) and entry.name != "node_modules" and not _is_protected(entry):
                waiting.append(Path(entry.path))


def _is_protected(entry: os.DirEntry[str]) -> bool:
    """Return True if a file or folder is protected. Links are not: their targets are, or are outside."""
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
