"""What commands in the sandbox leave in the workspace that would take effect outside: it is set aside, or reported."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence, Set
from pathlib import Path
from typing import TYPE_CHECKING

from agentcli.permissions.git_config import leads_nowhere, linked_repository
from agentcli.permissions.paths import Workspace, recorded_in, resolved

if TYPE_CHECKING:
    from agentcli.permissions.sandbox.protected import Found


class Aftermath:
    """Protected names of a workspace that are known to come from outside the sandbox.

    Others are searched after each command in the sandbox, and before a command runs outside.
    """

    def __init__(self) -> None:
        self._known: set[tuple[int, str]] = set()
        """Numbers and names of files. A new file may get the number of one that git has replaced."""
        self._special: set[Path] = set()
        self._secrets = list[Path]()
        """Files of secrets that had content at `_since`, in nanoseconds."""
        self._since = 0
        self._running = 0
        self._begun = 0
        """Commands that have begun in the sandbox."""
        self._found: list[str] = []

    def inside(self, workspace: Workspace, *, aside: bool, by_git: bool = False) -> Callable[[], Sequence[str]]:
        """Record what exists before a command runs in the sandbox; call the result for what the command left.

        What it created is set `aside`; otherwise only reported, because something that a person has created meanwhile
        looks the same. `by_git` is true if only git runs. A new repository that starts nothing and leads nowhere is then
        not reported, unless another command runs beside it.
        """
        from agentcli.permissions.sandbox.protected import found_in

        if not self._running:
            self._accept(found_in(workspace.resolved_roots, again=False))
        self._running += 1
        self._begun += 1
        begun, first = self._begun, self._running == 1

        def left() -> Sequence[str]:
            self._running -= 1
            self._settle(workspace, aside, by_git and first and self._begun == begun)
            found, self._found = self._found, []
            return found

        return left

    def outside(self, workspace: Workspace) -> Callable[[], Sequence[str]]:
        """Look at what running sandboxed commands have created, before a command runs outside whose files count as
        known.
        """
        from agentcli.permissions.sandbox.protected import found_in

        if self._running:
            self._settle(workspace, aside=False)

        def left() -> Sequence[str]:
            if self._running:
                self._accept(found_in(workspace.resolved_roots))
            found, self._found = self._found, []
            return found

        return left

    def _accept(self, found: Found) -> None:
        names = [*found.names.items(), *((name.inode, name.path) for name in found.private)]
        self._known = {(inode, path.name) for inode, path in names}
        self._special = set(found.special)
        self._since = time.time_ns()
        self._secrets = [name.path for name in found.private if os.path.isfile(name.path) and name.path.stat().st_size]

    def _settle(self, workspace: Workspace, aside: bool, by_git: bool = False) -> None:
        from agentcli.permissions.sandbox.protected import found_in, remove_mount_point, set_aside

        for path in self._secrets:
            remove_mount_point(path, self._since - _CLOCK)
        now = found_in(workspace.resolved_roots)
        cwd = resolved(workspace.cwd)
        own = set(recorded_in(workspace))
        others = {path for inode, path in now.names.items() if (inode, path.name) not in self._known}
        plain = {path for path in others if by_git and path.name == ".git" and leads_nowhere(path)}
        new = {path for path in others if not _by_git(path, own) and plain.isdisjoint((path, *path.parents))}
        for path in sorted(path for path in new if new.isdisjoint(path.parents)):
            other = set_aside(path) if aside else ""
            self._found.append(f"{_shown(path, cwd)} (now {other})" if other else _shown(path, cwd))
        secrets = (
            name.path
            for name in now.private
            if (name.inode, name.path.name) not in self._known and name.path not in new
        )
        self._found += [_shown(path, cwd) for path in secrets]
        self._found += [f"{_shown(path, cwd)} (a special file)" for path in now.special if path not in self._special]
        self._accept(now)


def _by_git(path: Path, own: Set[Path]) -> bool:
    """Return True for what git has made outside the sandbox, in which its repositories' settings are closed.

    `own` are the folders of the workspace's repositories.
    """
    if path.name == ".git":
        return linked_repository(path.parent) in own
    return path.parent in own and path.name in ("config", "worktrees")


_CLOCK = 20_000_000
"""Nanoseconds by which times of files may lag behind the clock."""


def _shown(path: Path, cwd: Path) -> str:
    return os.path.relpath(path, cwd) if path.is_relative_to(cwd) else str(path)
