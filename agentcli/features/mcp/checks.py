"""Checks of the MCP servers that files define: the source and the problems of each. Nothing is started."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from agentcli.core.errors import ConfigError
from agentcli.core.sanitise import display_path
from agentcli.features.mcp.config import ServerDefinition
from agentcli.features.mcp.run_servers import RunServers, servers_of, unread
from agentcli.features.mcp.variables import MissingVariable, expanded
from agentcli.program.feature import Row
from agentcli.program.program import Program


def server_rows(program: Program) -> Iterator[Row]:
    """Return for each server of the run its name, whether it could be started, and its file or its problem."""
    servers = servers_of(program)
    try:
        found = servers.configured()
    except ConfigError as error:
        yield "servers", False, str(error)
        return
    for server in found.servers.values():
        why = _obstacle(servers, server)
        yield f"server {server.name}", not why, f"{display_path(Path(server.source))}: {why or server.target}"
    for problem in found.problems:
        yield "servers", False, problem
    if left := unread(program):
        yield "servers and hooks", False, left


def _obstacle(servers: RunServers, server: ServerDefinition) -> str:
    """Return why a server cannot be started; empty if no reason is known."""
    if server.disabled:
        return "disabled"
    if not servers.may_start(server):
        return "not approved; a session asks about it"
    try:
        command = expanded(server, servers.environment).command
    except MissingVariable as error:
        return f"it {error}"
    if command and shutil.which(command, path=server.env.get("PATH", servers.environment.get("PATH"))) is None:
        return f"{command} was not found"
    return ""
