"""Our own tools that list and read a server's resources, offered beside its tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from agentcli.core.mcp_servers import Content, ServerAnswer, ServerResource, ServerTool
from agentcli.features.mcp.config import ServerDefinition
from agentcli.features.mcp.names import tool_name

if TYPE_CHECKING:
    from agentcli.features.mcp.listing import Listing

READ, LISTS = "read_resource", "list_resources"
_READ = {"type": "object", "properties": {"uri": {"type": "string"}}, "required": ["uri"]}
_NONE: Mapping[str, Any] = {"type": "object", "properties": {}}


def resource_tools(server: ServerDefinition, listing: Listing) -> Sequence[ServerTool]:
    """Return the tools for the resources that a server declares or lists."""
    reading = [_tool(server, READ, _READ, aside=not listing.readable)] if listing.resourceful else []
    return [*reading, *([_tool(server, LISTS, _NONE)] if listing.readable else [])]


def reads(tool: ServerTool) -> bool:
    """Return True for our tool that reads a resource, not a server's tool of the same name."""
    return tool.tool == READ and tool.parameters is _READ


def lists(tool: ServerTool) -> bool:
    """Return True for our tool that lists the resources."""
    return tool.tool == LISTS and tool.parameters is _NONE


def listed(resources: Sequence[ServerResource]) -> ServerAnswer:
    """Return the list of resources as the answer to a call."""
    lines = [f"{found.uri}  {found.name}  {found.description}".rstrip() for found in resources]
    return ServerAnswer((Content("text", "\n".join(lines) or "It lists none."),))


def _tool(server: ServerDefinition, name: str, parameters: Mapping[str, Any], *, aside: bool = False) -> ServerTool:
    text = "Read a resource of the server by its URI." if name == READ else "List the resources of the server."
    return ServerTool(
        tool_name(server.name, name),
        server.name,
        name,
        text,
        parameters,
        reads=server.trust_hints,
        aside=aside,
        shadows=server.shadows,
    )
