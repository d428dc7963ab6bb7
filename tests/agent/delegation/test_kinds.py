"""The servers of a run for an agent whose definition denies some of their tools."""

from __future__ import annotations

import asyncio

import pytest

from agentcli.agent.delegation.kinds import servers_for
from agentcli.agent.project.prompt_files import AgentKind
from agentcli.core.errors import ToolError
from agentcli.program.prompt_files.agents import allowed_tools, denied_tools, tool_switches
from tests.features.mcp.played_servers import LARGE, STATUS, Played


@pytest.mark.parametrize("name", ["git_*", "git_status", "g*"])
def test_tools_that_opencode_denies_cannot_be_found_or_called(name: str) -> None:
    played = Played(STATUS, LARGE)
    kind = AgentKind("a", "d", denied=denied_tools(tool_switches({"tools": {name: False}})))
    servers = servers_for(kind, played)
    assert servers is not None
    assert [tool.name for tool in servers.tools()] == ["mcp__big__do"]
    with pytest.raises(ToolError, match="This agent may not use mcp__git__status"):
        asyncio.run(servers.call(STATUS, {}, lambda _: None))
    assert played.called == []


def test_an_agent_to_which_everything_is_denied_reaches_no_server() -> None:
    kind = AgentKind("a", "d", tools=allowed_tools(tool_switches({"permission": {"*": "deny", "read": "allow"}})))
    assert servers_for(kind, Played(STATUS)) is None
