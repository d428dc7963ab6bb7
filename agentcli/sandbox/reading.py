"""The box of a command that runs unasked because it only reads: it sees the system, the workspace and installed programs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from agentcli.permissions.git_config import repository
from agentcli.permissions.paths import Workspace, resolved
from agentcli.sandbox.box import Box, private
from agentcli.system import probe

SYSTEM = tuple(
    map(
        Path,
        (
            *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/sys"),
            *("/nix", "/gnu", "/run/current-system", "/var/lib/dpkg"),
            *("/System", "/Library", "/Applications", "/private/etc", "/private/var/db", "/dev"),
        ),
    )
)
"""Folders of the system: nothing in them belongs to one person."""

_GIT_FILES = (".gitconfig", ".gitignore_global", ".config/git/config", ".config/git/ignore", ".config/git/attributes")
"""Files in the home folder that git reads for every repository."""

_SHARED = (".local", ".cargo", "go")
"""Folders of the home folder that hold more than programs: only the folder on PATH itself is visible."""
_MORE = (".local/lib", ".rustup")
"""Further folders that programs in `_SHARED` need."""
_INSTALLED = ("lib", "lib64", "libexec", "versions", "installs", "tools", "shims")
"""Names beside a `bin` that mark a folder as an installation, which has all it needs."""
_LINKS = 2_000
"""Maximum entries of one folder on PATH that are checked for links."""


def box_for_reader(workspace: Workspace, path: str) -> Box:
    """Return the box for a workspace; `path` is the command's PATH. Nothing is writable, and there is no network."""
    tops = (*workspace.resolved_roots, resolved(workspace.cwd))
    seen = [top for top in SYSTEM if probe.exists(top)]
    seen += _programs(path, workspace.home, workspace.resolved_roots)
    seen += [folder for top in tops for folder in repository(top)]
    seen += [*tops, *(file for name in _GIT_FILES if probe.is_file(file := workspace.home / name))]
    hidden = (*private(workspace), *(_unreadable_for_others() if os.geteuid() == 0 else ()))
    return Box(resolved(workspace.cwd), (), (), hidden, readable=tuple(dict.fromkeys(seen)), home=workspace.home)


@lru_cache(maxsize=16)
def _programs(path: str, home: Path, roots: tuple[Path, ...]) -> tuple[Path, ...]:
    """Return folders outside the system with programs of a PATH, with their installations.

    The workspace is visible anyway, and its links are not trusted to name further folders.
    """
    home = resolved(home)
    found: list[Path] = []
    for name in path.split(":"):
        folder = resolved(name) if os.path.isabs(name) else None
        if folder is None or _below(folder, (*SYSTEM, *roots)) or not probe.is_dir(folder):
            continue
        found += [Path(name), folder, *_installation(folder, home, roots)]
        for target in _link_targets(folder):
            if not _below(target, (*SYSTEM, *roots)):
                found += [target.parent, *_installation(target.parent, home, roots)]
    if any(_below(folder, [home / shared for shared in _SHARED]) for folder in found):
        found += [home / name for name in _MORE if probe.is_dir(home / name)]
    return tuple(dict.fromkeys(folder for folder in found if not _around(folder, home, roots)))


def _installation(folder: Path, home: Path, roots: tuple[Path, ...]) -> Iterator[Path]:
    """Yield the folder above a `bin` if it is an installation and contains nothing else."""
    above = folder.parent
    if folder.name not in ("bin", "sbin", "shims", "libexec") or _around(above, home, roots):
        return
    if above not in [home / name for name in _SHARED] and any(probe.is_dir(above / name) for name in _INSTALLED):
        yield above


def _link_targets(folder: Path) -> Iterator[Path]:
    with os.scandir(folder) as entries:
        for _, entry in zip(range(_LINKS), entries, strict=False):
            if entry.is_symlink():
                yield resolved(entry.path)


@lru_cache(maxsize=1)
def _unreadable_for_others() -> tuple[Path, ...]:
    """Return system settings that only root may read: password hashes, the machine's keys."""
    found: list[Path] = []
    for top, folders, files in os.walk("/etc"):
        for name in (*folders, *files):
            path = Path(top, name)
            try:
                private = not path.is_symlink() and not path.stat().st_mode & 0o004
            except OSError:
                continue
            if private:
                found.append(path)
                if name in folders:
                    folders.remove(name)
    return tuple(found)


def _around(folder: Path, home: Path, roots: tuple[Path, ...]) -> bool:
    """Return True if a folder is, or contains, the home folder or the workspace: it holds more than programs."""
    return any(top == folder or folder in top.parents for top in (home, *roots))


def _below(path: Path, tops: tuple[Path, ...] | list[Path]) -> bool:
    return any(path.is_relative_to(top) for top in tops)
