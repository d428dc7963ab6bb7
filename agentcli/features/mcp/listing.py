"""Tools, prompts and resources of a server, read page by page."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import mcp_types as types
from mcp import Client, MCPError

from agentcli.core.dataclass import dataclass
from agentcli.core.mcp_servers import ServerPrompt, ServerResource, ServerTool
from agentcli.features.mcp.answers import WRITTEN_SCHEMA
from agentcli.features.mcp.config import ServerDefinition
from agentcli.features.mcp.names import tool_name

_log = logging.getLogger("mcp")
PAGES, TOOLS = 100, 500
"""Maximum pages of a list, and maximum tools of a server, to read."""
INTERACTION = "anthropic/requiresUserInteraction"
"""Metadata key of a tool that must ask a person at each call."""


@dataclass(frozen=True, slots=True)
class Listing:
    """Everything that a server offers."""

    tools: tuple[ServerTool, ...] = ()
    prompts: tuple[ServerPrompt, ...] = ()
    resources: tuple[ServerResource, ...] = ()
    instructions: str = ""
    readable: bool = False
    """True if the server lists resources, or resource templates."""
    resourceful: bool = False
    """True if the server declares resources, as many do that list none."""
    odd: tuple[str, ...] = ()
    """Repaired or dropped parts of the server's answers."""


async def listed(client: Client, server: ServerDefinition, odd: Sequence[str] = ()) -> Listing:
    """Return all pages of a server's lists; `odd` grows meanwhile.

    Raise any error of the SDK about an invalid answer.
    """
    offered = client.server_capabilities
    # An older server does not have to declare its lists.
    tools = await _all(client.list_tools, "tools") if offered.tools else []
    prompts = await _perhaps(client.list_prompts, "prompts") if offered.prompts else []
    resources = await _perhaps(client.list_resources, "resources") if offered.resources else []
    templates = []
    if offered.resources and not resources:
        templates = await _perhaps(client.list_resource_templates, "resource_templates")
    return Listing(
        tools_of(server, tools[:TOOLS]),
        tuple(sorted((_prompt(server, each) for each in prompts), key=lambda prompt: prompt.name)),
        tuple(
            ServerResource(server.name, str(found.uri), found.name, found.description or "")
            for found in sorted(resources, key=lambda found: str(found.uri))
        ),
        client.instructions or "",
        bool(resources or templates),
        offered.resources is not None,
        tuple(odd),
    )


def tools_of(server: ServerDefinition, tools: Sequence[types.Tool]) -> tuple[ServerTool, ...]:
    """Return the tools of a list that the definition includes, by name."""
    return tuple(
        sorted((_tool(server, tool) for tool in tools if server.offers(tool.name)), key=lambda tool: tool.name)
    )


def _tool(server: ServerDefinition, tool: types.Tool) -> ServerTool:
    hints, trusted = tool.annotations, server.trust_hints
    return ServerTool(
        tool_name(server.name, tool.name),
        server.name,
        tool.name,
        tool.description or "",
        (tool.meta or {}).get(WRITTEN_SCHEMA, tool.input_schema),
        reads=bool(trusted and hints and hints.read_only_hint),
        interacts=bool((tool.meta or {}).get(INTERACTION)),
        always=server.always_load,
        shadows=server.shadows,
    )


def _prompt(server: ServerDefinition, prompt: types.Prompt) -> ServerPrompt:
    arguments = tuple((each.name, bool(each.required)) for each in prompt.arguments or ())
    return ServerPrompt(server.name, prompt.name, prompt.description or "", arguments)


async def _perhaps(list_page: Callable[..., Awaitable[Any]], kind: str) -> list[Any]:
    """Return all pages of an optional list; empty if the server declares but refuses it, because its tools work anyway."""
    try:
        return await _all(list_page, kind)
    except MCPError as error:
        _log.warning("can't list the %s of a server: %s", kind, error)
        return []


async def _all(list_page: Callable[..., Awaitable[Any]], kind: str) -> list[Any]:
    """Return all pages of a list."""
    found: list[Any] = []
    cursor: str | None = None
    for _ in range(PAGES):
        page = await list_page(cursor=cursor, cache_mode="bypass")
        found += getattr(page, kind)
        cursor = page.next_cursor
        if cursor is None or len(found) > TOOLS:
            break
    return found
