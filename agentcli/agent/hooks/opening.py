"""Hooks of a session as its setup names them."""

from __future__ import annotations

from collections.abc import Callable

from agentcli.agent.hooks.configured import configured
from agentcli.agent.hooks.session_hooks import HookPlace, SessionHooks
from agentcli.agent.setup import SessionSetup
from agentcli.core.journal import Journal
from agentcli.core.record import Mode


def hooks_of(journal: Journal, setup: SessionSetup, mode: Callable[[], Mode], model: Callable[[], str]) -> SessionHooks:
    """The hooks of configuration and files, around a session with this journal."""
    workspace = setup.workspace
    place = HookPlace(journal, workspace.cwd, mode, model, setup.traits, workspace, setup.agent.effort, setup.subagent)
    return SessionHooks((*configured(setup.hooks), *setup.file_hooks), place)
