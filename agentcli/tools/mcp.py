"""Tools of MCP servers.

Two of them find and call any server tool. Each tool that is loaded from the start also has its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

from agentcli.core.codec.encode import dumps
from agentcli.core.errors import ToolError
from agentcli.core.mcp_servers import MATCHED, PREFIX, SEARCH, Servers, ServerTool
from agentcli.core.model import ToolSchema
from agentcli.core.sanitise import replace_surrogates, safe_line
from agentcli.core.text.words import did_you_mean, most_alike, near_names
from agentcli.core.tool import Behaviour, Tool, ToolContext, ToolOutput, ToolServer, Traits
from agentcli.tools.entry import Entry

FOUND = 5
"""Maximum tools that a search shows by default."""
NAMES = 50
"""Maximum tool names in the answer to a call of an unknown tool."""
DESCRIPTION = 2_048
"""Maximum characters of a tool's description that are shown."""
SEARCH_SECONDS = 10.0
"""Seconds that a search waits for servers that are connecting."""
_TITLE = 80


async def mcp_search(
    ctx: ToolContext,
    call_id: str,
    query: Annotated[str, "Words, or select:NAME,NAME"],
    limit: Annotated[int, f"Tools shown, by default {FOUND}"] = FOUND,
) -> ToolOutput:
    from agentcli.tools.lib.server_answers import shortened

    servers = _servers(ctx)
    await servers.settle(SEARCH_SECONDS, again=True)
    found = servers.search(query, max(1, limit))
    if found:
        output = shortened(ctx, call_id, "\n\n".join(map(_described, found)), (), failed=False)
        return replace(output, metadata={"matches": len(found), MATCHED: [tool.name for tool in found]})
    names = [tool.name for tool in servers.tools()]
    near = most_alike(query.removeprefix("select:"), names, 0.3) or names[:FOUND]
    lines = [f"No tool fits {query!r}."]
    lines += [f"Nearest: {', '.join(near)}."] if near else []
    lines += [state.sentence for state in servers.states() if state.status != "connected"]
    return ToolOutput("\n".join(lines), metadata={"matches": 0})


async def mcp_call(
    ctx: ToolContext,
    call_id: str,
    tool: Annotated[str, "mcp__server__tool"],
    arguments: dict[str, Any] | None = None,
) -> ToolOutput:
    # A session handles calls of a server's tool itself; all others end in this refusal.
    raise ToolError(no_server_tool({"tool": tool, "arguments": arguments}, _servers(ctx).tools()))


def no_server_tool(given: Mapping[str, Any], tools: Sequence[ServerTool]) -> str:
    """Return the answer to an `mcp_call` without a server's tool, or without an object for it."""
    tool = str(given.get("tool", ""))
    if tool.startswith(PREFIX):
        return f"The arguments of {tool} must be a JSON object."
    names = {own: each.name for each in tools for own in (each.tool, each.name, each.name.removeprefix(PREFIX))}
    near = dict.fromkeys(names[each] for each in near_names(tool, names))
    listed = ", ".join([each.name for each in tools][:NAMES]) or "none"
    more = f" and {len(tools) - NAMES} more" if len(tools) > NAMES else ""
    return (
        f"{tool!r} is not a tool of a server: its whole name is mcp__server__tool.{did_you_mean(list(near))} "
        f"There are: {listed}{more}. {SEARCH} describes them."
    )


def search_title(given: Mapping[str, Any]) -> str:
    """Return a title such as `Find tools: git status`."""
    return f"Find tools: {given.get('query', '')}"


def call_title(given: Mapping[str, Any]) -> str:
    """Return a title such as `Call mcp__git__git_status`."""
    return f"Call {given.get('tool', '')}"


def server_tool(found: ServerTool) -> Tool:
    """Make a built-in tool of a server's tool; only the server checks its input."""

    async def run(ctx: ToolContext, call_id: str, /, **given: Any) -> ToolOutput:
        from agentcli.tools.lib.server_answers import output_of

        answer = await _servers(ctx).call(found, given, lambda text: ctx.progress(call_id, text))
        return output_of(ctx, call_id, answer)

    def title(given: Mapping[str, Any]) -> str:
        values = ", ".join(f"{name}: {value}" for name, value in given.items())
        text = safe_line(replace_surrogates(f"{found.server} {found.tool}({values})"))
        return text if len(text) <= _TITLE else f"{text[: _TITLE - 1]}…"

    schema = ToolSchema(found.name, found.description[:DESCRIPTION], found.parameters)
    server = ToolServer(found.server, found.reads, found.interacts, found.shadows)
    traits = Traits("run", server=server)
    return Tool(schema, run, traits, title, foreign=True)


def _servers(ctx: ToolContext) -> Servers:
    servers = ctx.service(Servers)
    if servers is None:
        raise ToolError("No MCP servers are configured here.")
    return servers


def _described(tool: ServerTool) -> str:
    text = tool.description.strip()
    text = text if len(text) <= DESCRIPTION else f"{text[:DESCRIPTION]}…"
    return replace_surrogates(f"{tool.name}: {text}\nParameters: {dumps(dict(tool.parameters))}")


MCP_SEARCH = Entry("mcp_search", mcp_search, search_title, Traits("none", behaviour=Behaviour(gate=True)))
MCP_CALL = Entry("mcp_call", mcp_call, call_title, Traits("run", behaviour=Behaviour(gate=True)))
