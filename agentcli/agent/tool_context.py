"""Tool context of a session: its services behind a narrow port, so that tools stay stateless."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import cast

from agentcli.agent.calls.call import PrintedEvents
from agentcli.core.event import ToolProgress
from agentcli.core.journal import Journal
from agentcli.core.model import LineNumbers
from agentcli.core.tool import CallScope, Service, ToolLimits
from agentcli.permissions.paths import Workspace

Offer = tuple[type, object]
"""A service, by the type that its tools ask for."""


def offer(kind: type[Service], service: Service) -> Offer:
    """Return a service by its type, checked."""
    return kind, service


class SessionToolContext:
    """Tool context of one open session.

    `printed` gets the output of running tools. Its services are added before the first call.
    """

    def __init__(self, workspace: Workspace, journal: Journal, limits: ToolLimits, printed: PrintedEvents) -> None:
        self.cwd = workspace.cwd
        self._workspace = workspace
        self.env = workspace.command_env
        self.limits = limits
        self.scope = CallScope()
        self._journal, self._printed = journal, printed
        self._services: dict[type, object] = {}
        self._shows = True

    @property
    def roots(self) -> tuple[Path, ...]:
        """Resolved folders of the workspace."""
        return self._workspace.resolved_roots

    def add(self, services: Iterable[Offer]) -> None:
        """Add services to all calls of the session."""
        self._services.update(services)

    def service(self, kind: type[Service]) -> Service | None:
        """Return the service of a type; None if the session has none."""
        return cast("Service | None", self._services.get(kind))

    def for_call(self, scope: CallScope, line_numbers: LineNumbers | None = None) -> SessionToolContext:
        """Return a copy for one call; without `line_numbers` files are numbered according to the settings."""
        ctx = copy(self)
        ctx.scope = scope
        ctx.cwd = scope.folder or self.cwd
        if line_numbers is not None:
            ctx.limits = replace(self.limits, line_numbers=line_numbers)
        return ctx

    def inside(self, limits: ToolLimits) -> SessionToolContext:
        """Return a copy for calls that a running call makes: they have these limits, and show no progress."""
        ctx = copy(self)
        ctx.limits, ctx._shows = limits, False
        return ctx

    def keep_output(self, call_id: str, output: str | bytes, ending: str = ".txt") -> str:
        """Save a whole output, or a file, and return its path for the model."""
        return self._journal.keep_output(call_id, output, ending)

    def progress(self, call_id: str, text: str) -> None:
        """Show the output of a running call."""
        if self._shows:
            self._printed.add(ToolProgress(call_id, text))
