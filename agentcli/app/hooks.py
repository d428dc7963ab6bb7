"""Hooks of files: the user's own, and those of a trusted project that a person approved."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from agentcli.app.project import ProjectContext
from agentcli.integrations.definition import Definition
from agentcli.integrations.hookfiles import HookFile, read_hooks
from agentcli.integrations.project_files import project_files

USER_FILE = "hooks.json"
"""The file of the user's own hooks, in the config folder."""
PROJECT_FILES = (".agentcli/hooks.json", ".claude/settings.json", ".claude/settings.local.json")
"""The files of a project that may define hooks."""


def user_hooks(project: ProjectContext) -> HookFile:
    """The user's own hooks."""
    return read_hooks(project.dirs.config / USER_FILE, USER_FILE)


def project_hooks(project: ProjectContext) -> HookFile:
    """The hooks that the files of a trusted project define, approved or not; none where the folder is not trusted."""
    if not project.trusted:
        return HookFile()
    found = project_files(project.cwd, PROJECT_FILES)
    read = [
        read_hooks(path, _shown(path, project.cwd), project=True, folder=path.parent.parent) for path in found.paths
    ]
    hooks = tuple(hook for file in read for hook in file.hooks)
    return HookFile(hooks, (*found.notes, *(note for file in read for note in file.notes)))


def definitions(project: ProjectContext) -> Sequence[Definition]:
    """The definitions of the project's hooks, which a person has to approve."""
    return [hook.definition for hook in project_hooks(project).hooks]


def loaded(project: ProjectContext) -> HookFile:
    """The hooks in force, in their order, with the notes about what was left out."""
    own, theirs = user_hooks(project), project_hooks(project)
    approved = tuple(hook for hook in theirs.hooks if project.approvals.allows(hook.definition))
    bundled = [plugin.hooks for plugin in project.plugins[0]]
    hooks = (*own.hooks, *(hook for file in bundled for hook in file.hooks), *approved)
    return HookFile(hooks, (*own.notes, *(note for file in bundled for note in file.notes), *theirs.notes))


def _shown(path: Path, cwd: Path) -> str:
    """The path below the folder that its settings belong to: `.claude/settings.json`, with the folder where it is another."""
    folder = path.parent.parent
    inner = str(path.relative_to(folder))
    return inner if folder == cwd else f"{folder.name}/{inner}"
