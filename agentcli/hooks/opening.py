"""Hooks of a session as its setup names them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from agentcli.agent.hooks import Hooks
from agentcli.agent.setup import SessionSetup
from agentcli.core.journal import Journal
from agentcli.core.record import Mode

if TYPE_CHECKING:
    from agentcli.hooks.files import Hook


def hooks_of(
    from_files: Sequence[Hook],
    journal: Journal,
    setup: SessionSetup,
    mode: Callable[[], Mode],
    model: Callable[[], str],
) -> Hooks:
    """Return the hooks of configuration and files, around a session with this journal. Without any, nothing is imported for them."""
    if not (setup.settings.hooks.pre_compress or setup.settings.hooks.commands or from_files):
        return Hooks()
    from agentcli.hooks.configured import configured
    from agentcli.hooks.session_hooks import HookPlace, SessionHooks

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
    return SessionHooks((*configured(setup.settings.hooks), *from_files), place)
