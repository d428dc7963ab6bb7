"""Checks of the MCP servers that files define: the source and the problems of each. Nothing is started."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from agentcli.core.errors import ConfigError
from agentcli.core.sanitise import display_path
from agentcli.mcp.config import ServerDefinition
from agentcli.mcp.run_servers import RunServers, unread
from agentcli.mcp.variables import MissingVariable, expanded
from agentcli.project.opened import OpenedProject


class CheckedProject(OpenedProject, Protocol):
    """A project with its servers."""

    @property
    def servers(self) -> RunServers:
        """The servers of the run."""
        ...


def server_rows(program: CheckedProject) -> Iterator[tuple[str, bool, str]]:
    """Return for each server its name, whether it could be started, and its file or its problem."""
    try:
        found = program.servers.configured()
    except ConfigError as error:
        yield "servers", False, str(error)
        return
    for server in found.servers.values():
        why = _obstacle(program, server)
        yield f"server {server.name}", not why, f"{display_path(Path(server.source))}: {why or server.target}"
    for problem in found.problems:
        yield "servers", False, problem
    if left := unread(program):
        yield "servers and hooks", False, left


def _obstacle(program: CheckedProject, server: ServerDefinition) -> str:
    """Return why a server cannot be started; empty if no reason is known."""
    if server.disabled:
        return "disabled"
    if not program.servers.may_start(server):
        return "not approved; a session asks about it"
    try:
        command = expanded(server, program.servers.environment).command
    except MissingVariable as error:
        return f"it {error}"
    if command and shutil.which(command, path=server.env.get("PATH", program.servers.environment.get("PATH"))) is None:
        return f"{command} was not found"
    return ""
