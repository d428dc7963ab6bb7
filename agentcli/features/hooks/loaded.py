"""Hooks in force: of the settings, of plugins, the user's own, and a trusted project's approved ones."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from agentcli.core.dataclass import dataclass
from agentcli.features.hooks.settings import HookSettings
from agentcli.program.feature import FoundHooks
from agentcli.program.files import CLAUDE_FILES, label, project_files
from agentcli.program.project import Project
from agentcli.system.regular_file import version

if TYPE_CHECKING:
    from agentcli.features.hooks.files import Hook, HookFile
    from agentcli.permissions.started import Started
    from agentcli.program.definition import Definition
    from agentcli.program.prompt_files.plugins import Plugin


USER_FILE = "hooks.json"
"""File of the user's own hooks, in the config folder."""
PROJECT_FILES = (".agentcli/hooks.json", *CLAUDE_FILES)
"""The files of a project that may define hooks."""


@dataclass(frozen=True, slots=True)
class LoadedHooks:
    """Hooks from files, and notes for the person about skipped entries."""

    hooks: tuple[Hook, ...] = ()
    notes: tuple[str, ...] = ()
    files: tuple[HookFile, ...] = ()
    """The files with lists of what their HTTP hooks may do."""


def user_hooks(project: Project) -> LoadedHooks:
    """Return the user's own hooks."""
    return _read(project.dirs.config / USER_FILE, USER_FILE)


def project_hooks(project: Project) -> LoadedHooks:
    """Return the hooks in a trusted project's files, approved or not; none if the folder is not trusted."""
    if not project.trusted:
        return LoadedHooks()
    found = project_files(project.cwd, PROJECT_FILES)
    read = [_read(path, label(path, project.cwd), path.parent.parent) for path in found.paths]
    hooks = tuple(hook for file in read for hook in file.hooks)
    limits = tuple(limit for file in read for limit in file.files)
    return LoadedHooks(hooks, (*found.notes, *(note for file in read for note in file.notes)), limits)


def _read(path: Path, source: str, folder: Path | None = None) -> LoadedHooks:
    """Read the hooks of a file; `folder` is given for a project's file. If the file does not exist, nothing is imported."""
    return _parsed(path, source, folder, version(path)) if os.path.lexists(path) else LoadedHooks()


@lru_cache(maxsize=64)
def _parsed(path: Path, source: str, folder: Path | None, _: tuple[int, ...]) -> LoadedHooks:
    """Parse the hooks of one version of a file."""
    from agentcli.features.hooks.files import read_hooks

    found = read_hooks(path, source, project=folder is not None, folder=folder)
    limited = found.urls is not None or found.variables is not None
    return LoadedHooks(found.hooks, found.notes, (found,) if limited else ())


def definitions(project: Project) -> Sequence[Definition]:
    """Return the definitions of the project's hooks, which a person must approve."""
    return [hook.definition for hook in project_hooks(project).hooks]


def loaded(project: Project) -> LoadedHooks:
    """Return the hooks in force, in order, with notes about skipped hooks."""
    own, theirs = user_hooks(project), project_hooks(project)
    approved = tuple(hook for hook in theirs.hooks if project.approvals.allows(hook.definition))
    bundled = [*_bundled(project.plugins[0])]
    hooks: tuple[Hook, ...] = (*own.hooks, *(hook for file in bundled for hook in file.hooks), *approved)
    notes = (*own.notes, *(note for file in bundled for note in file.notes), *theirs.notes)
    if limits := (*own.files, *theirs.files):
        from agentcli.features.hooks.files import within

        for limit in limits:  # each list narrows what the others allow
            hooks, more = within(hooks, limit)
            notes = (*notes, *more)
    return LoadedHooks(hooks, notes)


def _bundled(plugins: Sequence[Plugin]) -> Iterator[HookFile]:
    """Yield the hooks of each plugin."""
    if plugins:
        from agentcli.features.hooks.files import bundled_hooks

        yield from (bundled_hooks(plugin.hooks) for plugin in plugins)


def started(project: Project) -> Sequence[Started]:
    """Return the commands of the hooks in force."""
    from agentcli.permissions.started import Started

    hooks = [
        Started(f"the hook {hook.event} of {hook.source}", [hook.command, *hook.args], hook.folder or project.cwd)
        if hook.args is not None
        else Started(f"the hook {hook.event} of {hook.source}", hook.command, hook.folder or project.cwd)
        for hook in loaded(project).hooks
        if hook.kind == "command"
    ]
    settings = project.config[HookSettings]
    tables = (*settings.commands, {"event": "PreCompress", "command": settings.pre_compress})
    own = [
        Started(f"the hook {table.get('event')} of config.toml", str(table.get("command")), project.cwd)
        for table in tables
    ]
    return [*hooks, *own]


def found_hooks(project: Project) -> FoundHooks:
    """Return the hooks in force, with notes about skipped entries. Without any, nothing is imported for them."""
    found, settings = loaded(project), project.config[HookSettings]
    if not (settings.pre_compress or settings.commands or found.hooks):
        return FoundHooks(notes=found.notes)
    from agentcli.features.hooks.files import configured
    from agentcli.features.hooks.session_hooks import hooks_of

    return FoundHooks(partial(hooks_of, (*configured(settings), *found.hooks)), found.notes)
