"""`/mcp`: the servers of a session with their state, and what can be done with one."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

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


class LoginHost:
    """A host whose logins end as laid down; `pasted` is what the person gave."""

    def __init__(self, outcome: bool) -> None:
        self.outcome, self.asked, self.pasted = outcome, "", ""

    async def log_in(self, server: str, say: Any, pasted: Any) -> bool:
        self.asked, self.pasted = server, str(await pasted())
        return self.outcome


def test_a_login_is_made_in_the_session_and_the_server_connected_with_it(tmp_path: Path) -> None:
    context = opened(tmp_path, STATUS)
    context.entered = "http://127.0.0.1:1/callback?code=x"
    context.host = LoginHost(True)
    assert said(context, "/mcp login git") == "Logged in to git. Server git is connected, 1 tool."
    assert (context.host.asked, context.host.pasted) == ("git", context.entered)
    context.host = LoginHost(False)
    assert said(context, "/mcp login git") == "Server git asks for no login."
