"""The tools of servers in one session: the ones listed up front, the reminders about them, and the one that a call means."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from agentcli.agent.core import SessionCore
from agentcli.context.tokens.counter import TokenCounter
from agentcli.context.tokens.estimators import Estimator
from agentcli.core.event import Event, Warned
from agentcli.core.history import History
from agentcli.core.mcp_servers import (
    CALL,
    LOADED,
    MATCHED,
    SEARCH,
    Servers,
    ServerState,
    ServerTool,
    loaded_tools,
    not_connected,
    server_of,
)
from agentcli.core.message import ToolResult
from agentcli.core.model import ToolSchema
from agentcli.core.tool import Tool, ToolOutput, Traits
from agentcli.mcp import schema
from agentcli.tools.mcp import DESCRIPTION, SEARCH_SECONDS, no_server_tool, server_tool

CATALOGUE = "MCP servers of this session"
"""The beginning of the reminder that lists the servers."""
INSTRUCTIONS = 500
"""Characters of a server's instructions that the catalogue gives."""
CATALOGUE_SHARE = 1 / 16
"""Largest list of servers and tools, as a share of the window."""
_CHARACTERS_A_TOKEN = 4
_NOT_CONFIGURED = "No MCP servers are configured here, so there is no tool {}."
_TROUBLE = ("failed", "needs login")


class ServerTools:
    """The MCP tools that one session may call. `traits` gains the traits of each tool that is `found`."""

    def __init__(self, servers: Servers | None, traits: dict[str, Traits], estimator: Callable[[], Estimator]) -> None:
        self.traits = traits
        self.found: dict[str, Tool] = {}
        self._servers = servers
        self._estimator = estimator
        self._changes_told = len(servers.changes()) if servers is not None else 0
        self._listed = False
        self._warned: set[str] = set()

    @property
    def names(self) -> Sequence[str]:
        """The names of all tools of servers."""
        return [tool.name for tool in self._servers.tools()] if self._servers is not None else []

    async def find(self, name: str) -> Tool | str:
        """Return the tool of that name, waiting while its server connects; or the reason why there is none."""
        if self._servers is None:
            if name == SEARCH:
                return _NOT_CONFIGURED.format(name)
            return not_connected(server_of(name), "it is not configured here")
        if self._known(name) is None:
            await self._servers.settle(SEARCH_SECONDS, name, again=True)
        known = self._known(name)
        if known is None:
            return self._servers.obstacle(name)
        tool = self.found[name] = server_tool(known)
        self.traits[name] = tool.traits
        return tool

    async def no_server_tool(self, given: Mapping[str, Any]) -> str:
        """Answer a call of the gate that names no tool of a server, with the tools that there are."""
        if self._servers is None:
            return _NOT_CONFIGURED.format(CALL)
        await self._servers.settle(SEARCH_SECONDS, again=True)
        return no_server_tool(given, self._servers.tools())

    def upfront(self, tokens: int) -> Sequence[ToolSchema]:
        """Return the tools that follow the built-in ones: of the servers that fit whole into `tokens`, smallest first."""
        if self._servers is None:
            return ()
        counter = TokenCounter(self._estimator())
        chosen: list[ToolSchema] = []
        for _, size, schemas in sorted(self._sized(counter), key=lambda each: each[:2]):
            if size <= tokens:
                tokens -= size
                chosen += schemas
        return sorted(chosen, key=lambda tool: tool.name)

    def loading(self, output: ToolOutput, history: History) -> ToolOutput:
        """Return the output of a search with the definitions of the tools that it found, for a model that loads them itself.

        Unchanged if no provider takes a definition, or if it differs from the one that the model has loaded already: that would
        change earlier requests.
        """
        upfront = {tool["name"] for tool in history.tools}
        known = {tool.name: tool for tool in loaded_tools(_results(history))}
        fresh: list[ToolSchema] = []
        for name in output.metadata.get(MATCHED, ()):
            tool = self._known(name)
            if name in upfront or tool is None:
                continue
            definition = _schema(tool)
            if definition is None or known.get(name, definition) != definition:
                return output
            fresh.append(definition)
        if not fresh:
            return output
        return replace(output, metadata={**output.metadata, LOADED: [definition.raw for definition in fresh]})

    def catalogue(self, tokens: int) -> str:
        """Return the reminder that lists servers and tools; empty without servers."""
        states = self._servers.states() if self._servers is not None else ()
        if self._servers is None or not states:
            return ""
        if not self._listed:
            self._listed, self._changes_told = True, len(self._servers.changes())
        head = f"{CATALOGUE}. Find their tools with {SEARCH}, call them with {CALL}."
        tools = self._servers.tools()
        whole = "\n".join([head, *(_entry(state, tools, names=True) for state in states)])
        if len(whole) <= tokens * _CHARACTERS_A_TOKEN:
            return whole
        short = "\n".join([head, *(_entry(state, tools, names=False) for state in states)])
        return short[: tokens * _CHARACTERS_A_TOKEN]

    def catalogue_for(self, core: SessionCore) -> str:
        """Return the reminder that lists servers and tools, in the room that settings and window leave it."""
        tokens = core.setup.settings.mcp.catalogue_tokens
        return self.catalogue(min(tokens, int(core.model.window * CATALOGUE_SHARE)))

    def changes(self) -> Sequence[str]:
        """Return the changes among the servers since the last call, and since the catalogue."""
        if self._servers is None:
            return ()
        lines = self._servers.changes()
        fresh, self._changes_told = lines[self._changes_told :], len(lines)
        return fresh

    def warnings(self) -> Iterator[Event]:
        """Yield a line for the person about each server that does not work, once."""
        for state in self._servers.states() if self._servers is not None else ():
            if state.status in _TROUBLE and state.name not in self._warned:
                self._warned.add(state.name)
                yield Warned(state.sentence)

    def _known(self, name: str) -> ServerTool | None:
        tools = self._servers.tools() if self._servers is not None else ()
        return next((tool for tool in tools if tool.name == name), None)

    def _sized(self, counter: TokenCounter) -> Iterator[tuple[bool, int, Sequence[ToolSchema]]]:
        """For each connected server: whether it may wait, the tokens of its tools, and these."""
        assert self._servers is not None
        tools = [tool for tool in self._servers.tools() if not tool.aside]
        for state in self._servers.states():
            own = [tool for tool in tools if tool.server == state.name and state.status == "connected"]
            schemas = [found for tool in own if (found := _schema(tool)) is not None]
            if schemas:
                yield not own[0].always, counter.overhead((), schemas), schemas


def _results(history: History) -> Iterator[ToolResult]:
    return (entry.body for entry in history.entries if isinstance(entry.body, ToolResult))


def _schema(tool: ServerTool) -> ToolSchema | None:
    parameters = schema.upfront(tool.parameters)
    return None if parameters is None else ToolSchema(tool.name, tool.description[:DESCRIPTION], parameters)


def _entry(state: ServerState, tools: Sequence[ServerTool], *, names: bool) -> str:
    own = [tool.name for tool in tools if tool.server == state.name and not tool.aside]
    said = " ".join(state.instructions.split())[:INSTRUCTIONS] if names else ""
    lines = [f"- {state.name} ({state})"]
    lines += [f"  says of itself: {said}"] if said else []
    lines += [f"  tools: {', '.join(own)}"] if own and names else []
    return "\n".join(lines)
