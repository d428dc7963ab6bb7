"""First stage of a call: map the model's tool name to ours, repair slips in the input, and find the tool."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from agentcli.agent.calls.call import Call, Stage, title_of
from agentcli.core.aliases import no_tool, own_name
from agentcli.core.dataclass import replace
from agentcli.core.mcp_servers import CALL, PREFIX, SEARCH, effective
from agentcli.core.message import Part, ToolCall
from agentcli.core.tool import UNKNOWN, Tool, Traits
from agentcli.mcp.server_tools import ServerTools
from agentcli.tools.mending import mended


class Prepare(Stage):
    """Finds the tools of calls: the session's own, by name, and MCP tools."""

    def __init__(self, tools: Mapping[str, Tool], server_tools: ServerTools, cwd: Path) -> None:
        self.tools = tools
        self._server_tools = server_tools
        self._cwd = cwd

    def named(self, parts: Sequence[Part]) -> tuple[Part, ...]:
        """Return the parts of a reply whose calls have the names of our tools."""
        known = (*self.tools, *self._server_tools.names)
        return tuple(
            replace(part, name=own_name(part.name, known)) if isinstance(part, ToolCall) else part for part in parts
        )

    def prepared(self, calls: Sequence[ToolCall]) -> list[Call]:
        """Return the calls of a reply before the first stage: calls of the MCP gate unwrapped, inputs repaired."""
        begun = [self._prepared(call) for call in calls]
        return [replace(call, later=tuple(other.asked for other in begun[at + 1 :])) for at, call in enumerate(begun)]

    def known(self, name: str) -> Tool | None:
        """Return the tool of that name, if it is one of the session or a server's that was found before."""
        return self.tools.get(name) or self._server_tools.found.get(name)

    def traits_of(self, call: ToolCall) -> Traits:
        """Return the traits of the tool that a call means."""
        return self._server_tools.traits.get(call.name, UNKNOWN)

    async def judge(self, call: Call) -> Call:
        tool = await self._find(call.asked)
        if isinstance(tool, str):
            return call.refused(tool, "error")
        return replace(call, tool=tool, title=title_of(tool, call.asked))

    async def _find(self, call: ToolCall) -> Tool | str:
        """Return the tool that a call means, or the reason why there is none."""
        if call.name == CALL:
            return await self._server_tools.no_server_tool(call.input)
        if (tool := self.tools.get(call.name)) is not None:
            return tool
        if call.name.startswith(PREFIX) or call.name == SEARCH:
            return await self._server_tools.find(call.name)
        return no_tool(call.name, self.tools)

    def _prepared(self, sent: ToolCall) -> Call:
        call = effective(sent)
        tool = self.tools.get(call.name)
        if tool is None:
            return Call(call, call, sent.name)
        meant = mended(tool, call.input, self._cwd)
        call = replace(call, input=meant.input)
        return Call(call, call, sent.name, meant.ignored)
