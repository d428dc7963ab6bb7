"""A project in which recorded commands of others are judged."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from agentcli.permissions.paths import UndoCover, Workspace
from tests.permissions.corpus import make_workspace


def project(top: Path) -> Workspace:
    """A small project with a sandbox and /undo, whose commands get an empty environment."""
    made = make_workspace(top.resolve())
    (made.cwd / ".git/hooks").mkdir()
    cover = UndoCover(bytes=1_000_000, files=10_000, skipped=frozenset({"node_modules", ".git"}))
    return replace(made, sandboxed=True, records=True, undo=cover, shell_env=dict)


def filled(command: str, workspace: Workspace) -> str:
    """A recorded command with the paths of this project in place of the recorded ones."""
    places = {"{work}": workspace.cwd, "{beside}": workspace.cwd.parent, "{home}": workspace.home}
    for mark, path in places.items():
        command = command.replace(mark, str(path))
    return command
