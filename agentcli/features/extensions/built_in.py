"""Built-in extensions: loaded like the extensions of installed packages, and run like any other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from agentcli.features.extensions.loading import Extension, Loaded, load, settings_of
from agentcli.features.extensions.session import SessionHost
from agentcli.features.extensions.slash import command_of
from agentcli.features.extensions.sources import Source
from agentcli.features.extensions.turns import run_around
from agentcli.features.extensions.worker import Worker

if TYPE_CHECKING:
    import asyncio

    from agentcli.agent.core import SessionCore
    from agentcli.agent.ports import RunTurn
    from agentcli.agent.session import AgentSession
    from agentcli.core.event import Emit, TurnEnded
    from agentcli.program.command import Command, Group
    from agentcli.program.feature import WrapTurn

WORKER = Worker(prints=False)
"""Threads of the built-in extensions of the process."""


class OwnRun(Loaded):
    """A built-in extension in all runs of the process, with the settings of one run."""

    def __init__(self, extension: Extension, table: Mapping[str, Any]) -> None:
        """Raise AgentError for settings that the extension refuses."""
        self.worker, self.all, self._settings = WORKER, [extension], settings_of(extension, table)

    def settings_of(self, extension: Extension) -> Any:
        """Return its settings."""
        return self._settings


@cache
def extension_of(name: str, module: ModuleType) -> Extension:
    """Return the extension in a module."""
    return load(Source(name, Path(module.__file__ or ""), "package", {}, module=module.__name__), WORKER)


def host_of(extension: Extension, table: Mapping[str, Any], core: SessionCore) -> SessionHost:
    """Return the host of an extension with these settings in a session."""
    return SessionHost(OwnRun(extension, table), core)


def commands_of(extension: Extension, group: Group, table: Mapping[str, Any]) -> Sequence[Command]:
    """Return the slash commands of an extension with these settings."""

    def host(session: AgentSession) -> SessionHost:
        return host_of(extension, table, session.core)

    return [command_of(extension, function, use, group, host) for function, use in extension.commands]


def wraps_of(extension: Extension, table: Mapping[str, Any]) -> Sequence[WrapTurn]:
    """Return what an extension with these settings wraps around turns. Raise AgentError for settings that it refuses."""
    run = OwnRun(extension, table)

    def around(function: Any) -> WrapTurn:
        async def wrapped(turn: RunTurn, session: AgentSession, interrupt: asyncio.Event, emit: Emit) -> TurnEnded:
            host = SessionHost(run, session.core)
            return await run_around(host, extension, function, turn, session, interrupt, emit)

        return wrapped

    return [around(function) for function in extension.around]
