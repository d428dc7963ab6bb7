"""Servers of a run for an agent that may use only some of their tools."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agentcli.core.errors import ToolError
from agentcli.core.mcp_servers import (
    Content,
    Progress,
    ServerAnswer,
    Servers,
    ServerState,
    ServerTool,
)

_ALL = 100_000
"""Tools that a search returns before refused ones are removed."""


class ServerSubset:
    """Servers without the tools that `allows` refuses; all else unchanged."""

    def __init__(self, servers: Servers, allows: Callable[[ServerTool], bool]) -> None:
        self._servers, self._allows = servers, allows
        self.states = servers.states
        self.prompts = servers.prompts
        self.resources = servers.resources
        self.changes = servers.changes
        self.log = servers.log

    def tools(self) -> Sequence[ServerTool]:
        """Return the tools that the agent may use."""
        return [tool for tool in self._servers.tools() if self._allows(tool)]

    def obstacle(self, name: str) -> str:
        """Return why there is no tool of that name."""
        known = any(tool.name == name for tool in self._servers.tools())
        return f"This agent may not use {name}." if known else self._servers.obstacle(name)

    def search(self, query: str, limit: int) -> Sequence[ServerTool]:
        """Return the allowed tools that match a query best, best first."""
        return [tool for tool in self._servers.search(query, _ALL) if self._allows(tool)][:limit]

    async def settle(self, seconds: float | None, tool: str = "", *, again: bool = False) -> None:
        """Wait until no server, or this tool's server, is connecting any more, or for so many seconds."""
        await self._servers.settle(seconds, tool, again=again)

    async def restart(self, server: str) -> ServerState:
        """Reconnect a server."""
        return await self._servers.restart(server)

    async def disable(self, server: str) -> None:
        """End a server until it is restarted."""
        await self._servers.disable(server)

    async def prompt(self, server: str, name: str, arguments: Mapping[str, str]) -> Sequence[Content]:
        """Return the texts of a prompt."""
        return await self._servers.prompt(server, name, arguments)

    async def read(self, server: str, uri: str) -> ServerAnswer:
        """Read a resource."""
        return await self._servers.read(server, uri)

    async def call(self, tool: ServerTool, arguments: Mapping[str, Any], progress: Progress) -> ServerAnswer:
        """Call a tool. Raises ToolError if the agent may not use it."""
        if not self._allows(tool):
            raise ToolError(self.obstacle(tool.name))
        return await self._servers.call(tool, arguments, progress)
