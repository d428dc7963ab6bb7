"""`/mcp`: the servers of a session with their state, and what can be done with one."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agentcli.core.errors import UsageError
from agentcli.core.mcp_servers import ServerState, ServerTool
from agentcli.features.mcp import commands
from agentcli.providers.scripted.model import say
from tests.agent.open_session import open_session
from tests.features.mcp.played_servers import STATUS, Played
from tests.frontends.terminal.contexts import ScriptedContext
from tests.frontends.terminal.slash import COMMANDS


def said(context: ScriptedContext, line: str) -> str:
    before = len(context.output)
    asyncio.run(COMMANDS.run(context, line))
    return "\n".join(context.output[before:])


def opened(folder: Path, *tools: ServerTool) -> ScriptedContext:
    return ScriptedContext(session=open_session(folder, [say("ok")], servers=Played(*tools) if tools else None))


def test_the_servers_are_listed_with_their_state(tmp_path: Path) -> None:
    assert "git  connected, 0 tools" in said(opened(tmp_path, STATUS), "/mcp")
    assert "No MCP servers. See" in said(opened(tmp_path), "/mcp")


def test_a_server_is_disabled_reconnected_and_looked_at(tmp_path: Path) -> None:
    context = opened(tmp_path, STATUS)
    assert said(context, "/mcp disable git") == "Server git is disabled in this run."
    assert said(context, "/mcp enable git") == "Server git is connected, 1 tool."
    assert "mcp__git__status  Show the state." in said(context, "/mcp tools git")
    assert said(context, "/mcp log git") == "a line on stderr"
    with pytest.raises(UsageError, match="Servers: git"):
        said(context, "/mcp enable nobody")


class Failing(Played):
    """Servers that cannot be connected."""

    async def restart(self, server: str) -> ServerState:
        return ServerState(server, "failed", "it needs $TOKEN, which is not set")


def test_a_server_that_cannot_be_connected_says_why(tmp_path: Path) -> None:
    context = ScriptedContext(session=open_session(tmp_path, [say("ok")], servers=Failing(STATUS)))
    assert said(context, "/mcp reconnect git") == "Server git needs $TOKEN, which is not set."


def test_completion_offers_the_resources_that_a_prompt_can_name(tmp_path: Path) -> None:
    (item,) = commands.resources(opened(tmp_path, STATUS).session)
    assert (item.label, "\x1b" in item.detail) == ("@git:note://1", False)
    assert commands.resources(opened(tmp_path).session) == []
