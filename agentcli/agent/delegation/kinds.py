"""Kinds of subagents (two built in, others defined in files), with the tools and servers of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any, cast

from agentcli.agent.project.prompt_files import BUILT_IN, STEPS, AgentKind
from agentcli.agent.request_builder import keeps_model
from agentcli.agent.settings import AgentSettings, Effort
from agentcli.core.aliases import AGENTS, known_as, like_tool
from agentcli.core.errors import AgentError, ToolError
from agentcli.core.mcp_servers import (
    PREFIX,
    Content,
    Progress,
    ServerAnswer,
    Servers,
    ServerState,
    ServerTool,
)
from agentcli.core.model import Model
from agentcli.core.text.words import instead
from agentcli.core.tool import Tool

DEPTH = 2
"""Maximum levels of subagents: on the last level they start none."""


def kind_named(name: str, found: Mapping[str, AgentKind]) -> AgentKind:
    """Return the kind that a call of `task` requests, by default `general`. Raises ToolError with similar names."""
    known = {**found, **BUILT_IN}
    name = name or "general"
    kind = (
        known.get(name)
        or known.get(AGENTS.get(name, ""))
        or next((one for one in known.values() if one.name.endswith(f":{name}")), None)
    )
    if kind is None:
        near = instead(name, known)
        raise ToolError(f"There is no kind of agent {name!r}.{near} Use one of: {', '.join(known)}.")
    return kind


def tools_for(kind: AgentKind, tools: Sequence[Tool], *, depth: int, planning: bool = False) -> list[Tool]:
    """Return the parent's tools that a subagent of this kind may use.

    `depth` is its level, 0 for the main session.

    In plan mode (`planning`) it can only read. Raises ToolError for a definition if none of its tools exists here.
    """
    offered = [
        tool
        for tool in tools
        if not tool.traits.behaviour.needs_person and not (tool.traits.behaviour.delegates and depth >= DEPTH)
    ]
    if kind.tools is None:
        chosen = [tool for tool in offered if not tool.traits.behaviour.delegates]
    else:
        servers = _reaches_servers(kind)
        chosen = [
            tool for tool in offered if _listed(tool.name, kind.tools) or (tool.traits.behaviour.gate and servers)
        ]
        if not chosen:
            raise ToolError(
                f"Agent {kind.name} lists no tool that exists here: {', '.join(kind.tools) or 'all are denied'}."
            )
    chosen = [
        tool for tool in chosen if not any(_listed(name, kind.denied) for name in (tool.name, like_tool(tool.name)))
    ]
    return [tool for tool in chosen if _only_looks(tool)] if kind.only_looks or planning else chosen


def servers_for(kind: AgentKind, servers: Servers | None, *, planning: bool = False) -> Servers | None:
    """Return a run's servers with the tools that an agent of this kind may use.

    Return None if it lists none of them.

    A read-only agent gets the tools that change nothing, as far as the user trusts their servers' declarations.
    """
    looks = kind.only_looks or planning

    def allows(tool: ServerTool) -> bool:
        listed = kind.tools is None or _listed(tool.name, kind.tools)
        return listed and not _listed(tool.name, kind.denied) and (tool.reads or not looks)

    if servers is None or not _reaches_servers(kind):
        return None
    return ServerSubset(servers, allows) if kind.tools is not None or kind.denied or looks else servers


def _reaches_servers(kind: AgentKind) -> bool:
    """Return True if an agent of this kind may use tools of servers."""
    return kind.tools is None or any(name.startswith(PREFIX) for name in kind.tools)


def unknown_tools(kind: AgentKind, tools: Sequence[Tool]) -> list[str]:
    """Return the tools in a definition that do not exist here, except servers' tools, which come and go."""
    listed = [name for name in kind.tools or () if not name.startswith(PREFIX)]
    return [name for name in listed if not any(_listed(tool.name, [name]) for tool in tools)]


def model_for(kind: AgentKind, default: str, own: Model, connect: Callable[[str], Model]) -> tuple[Model, str]:
    """Return the model of a subagent, and the reason if it is not its definition's.

    The definition's model comes first, then the configured `default`, then the parent's model.
    """
    if not keeps_model(kind.model, own.spec):
        try:
            return connect(kind.model), ""
        except AgentError as error:
            return own, f"Agent {kind.name} runs with {own.spec.name}, because {kind.model} is not available: {error}"
    return (connect(default) if default and not kind.model else own), ""


def settings_for(kind: AgentKind, settings: AgentSettings) -> AgentSettings:
    """Return the settings of a session that works by this definition. It gets all tools that it lists, in a window of any size."""
    small = settings.small_window if kind.tools is None else 0
    steps = min(filter(None, (kind.max_steps or STEPS, settings.max_steps)))
    effort = cast(Effort, kind.effort) or settings.effort  # as in the file: later models may know other names
    return replace(settings, effort=effort, max_steps=steps, small_window=small)


def _listed(tool: str, names: Sequence[str]) -> bool:
    """Return True if names, as files write them, include our tool; `mcp__server` means all tools of a server."""
    for text in names:
        name = text.partition("(")[0].strip()
        server = name.startswith(PREFIX) and (tool.startswith(f"{name}__") or fnmatchcase(tool, name))
        if tool == name or server or known_as(name) == tool:
            return True
    return False


def _only_looks(tool: Tool) -> bool:
    """Return True if a read-only agent has the tool. The session's approval allows only commands that read."""
    traits = tool.traits
    return traits.effect in ("read", "network") or traits.behaviour.recalls or traits.runs_commands


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
