"""Built-in extensions: loaded like those of installed packages, and run like all others."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from agentcli.features.extensions.loading import Extension, load
from agentcli.features.extensions.session import SessionHost
from agentcli.features.extensions.slash import command_of
from agentcli.features.extensions.sources import Source
from agentcli.features.extensions.worker import Worker

if TYPE_CHECKING:
    from agentcli.agent.core import SessionCore
    from agentcli.agent.session import AgentSession
    from agentcli.core.tool import Tool
    from agentcli.program.command import Command, Group

WORKER = Worker(prints=False)
"""Threads of the built-in extensions of the process."""


class OwnRun:
    """A built-in extension in all runs of the process, with the settings of one run."""

    def __init__(self, extension: Extension, settings: Any = None) -> None:
        self.worker, self.all, self._settings = WORKER, [extension], settings

    def active(self) -> Sequence[Extension]:
        """Return the extension, unless it is off."""
        return [one for one in self.all if not one.off]

    def named(self, name: str) -> Extension | None:
        """Return the extension if it has this name."""
        return next((one for one in self.active() if one.name == name), None)

    def settings_of(self, extension: Extension) -> Any:
        """Return its settings."""
        return self._settings

    def present_tools(self) -> Sequence[Tool]:
        """Return no tools: features have their own."""
        return ()

    def refresh(self) -> bool:
        """Return False: nothing changes."""
        return False


@cache
def extension_of(name: str, module: ModuleType) -> Extension:
    """Return the extension in a module."""
    return load(Source(name, Path(module.__file__ or ""), "package", {}, module=module.__name__), WORKER)


def host_of(extension: Extension, core: SessionCore) -> SessionHost:
    """Return the host of an extension in a session."""
    return SessionHost(OwnRun(extension), core)


def commands_of(extension: Extension, group: Group) -> Sequence[Command]:
    """Return the slash commands of an extension."""

    def host(session: AgentSession) -> SessionHost:
        return host_of(extension, session.core)

    return [command_of(extension, function, use, group, host) for function, use in extension.commands]
