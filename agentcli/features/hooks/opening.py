"""Hooks of a session, from settings and files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from agentcli.agent.hooks import Hooks
from agentcli.agent.setup import SessionSetup
from agentcli.core.journal import Journal
from agentcli.core.record import Mode
from agentcli.features.hooks.loaded import loaded
from agentcli.features.hooks.settings import HookSettings
from agentcli.program.feature import FoundHooks
from agentcli.program.project import Project

if TYPE_CHECKING:
    from agentcli.features.hooks.files import Hook


def found_hooks(project: Project) -> FoundHooks:
    """Return the hooks in force, with notes about entries that were skipped."""
    found = loaded(project)
    return FoundHooks(partial(hooks_of, project.config[HookSettings], found.hooks), found.notes)


def hooks_of(
    settings: HookSettings,
    from_files: Sequence[Hook],
    journal: Journal,
    setup: SessionSetup,
    mode: Callable[[], Mode],
    model: Callable[[], str],
) -> Hooks:
    """Return the hooks of settings and files, around a session with this journal. Without any, nothing is imported for them."""
    if not (settings.pre_compress or settings.commands or from_files):
        return Hooks()
    from agentcli.features.hooks.configured import configured
    from agentcli.features.hooks.session_hooks import HookPlace, SessionHooks

    workspace = setup.workspace
    place = HookPlace(
        journal,
        workspace.cwd,
        mode,
        model,
        setup.tools.traits,
        workspace,
        setup.settings.agent.effort,
        setup.parent.identity,
    )
    return SessionHooks((*configured(settings), *from_files), place)
