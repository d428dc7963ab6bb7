"""Rights of a sandboxed command, independent of the mechanism."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterator
from pathlib import Path

from agentcli.core.dataclass import dataclass
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


_GIT_SETTINGS = ("config", "config.worktree", "hooks", "info", "modules", "commondir", "worktrees")
"""What lies in a repository's folder and decides what git runs and where it looks."""
_GIT_USER = (".config/git",)
"""Settings of the user, with name and address, that git needs to record anything."""


def box_for(workspace: Workspace, network: bool = False, limit: int = 2_000, git: bool = False) -> Box:
    """The box for a workspace: it is writable, its protected files are read-only, private files are hidden.

    With `git` the repository around the current folder is writable but for its settings and hooks. `limit` is how many entries of the workspace are looked through for protected files, and for sockets, behind which
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
    hidden = [*private(workspace, roots), *sockets]
    if git and (repository := _repository(workspace)):
        settings = [repository / name for name in _GIT_SETTINGS if (repository / name).exists()]
        readonly = [*(path for path in readonly if path != repository), *settings]
        hidden = [path for path in hidden if path not in [resolved(workspace.home / name) for name in _GIT_USER]]
    return Box(resolved(workspace.cwd), roots, tuple(readonly), tuple(hidden), network)


def private(workspace: Workspace, roots: tuple[Path, ...] = ()) -> tuple[Path, ...]:
    """Existing private files and folders of the user, except a folder that the workspace lies in."""
    homes = (workspace.home, *workspace.other_homes)
    named = [home / name for home in homes for name in _HIDDEN_IN_HOME] + list(workspace.own)
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


def _repository(workspace: Workspace) -> Path | None:
    """The folder of the repository around the current folder, as far as it lies in the workspace."""
    cwd = resolved(workspace.cwd)
    found = next((top / ".git" for top in (cwd, *cwd.parents) if (top / ".git").is_dir()), None)
    return found if found and any(root in found.parents for root in workspace.resolved_roots) else None


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
