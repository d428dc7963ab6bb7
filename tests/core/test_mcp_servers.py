"""The state of an MCP server in words."""

from __future__ import annotations

import pytest

from agentcli.core.mcp_servers import (
    CALL,
    LOADED,
    ServerPrompt,
    ServerState,
    effective,
    loaded_tools,
    server_of,
    server_prefix,
)
from agentcli.core.message import ToolCall, ToolResult
from agentcli.core.model import ToolSchema
from tests.tables import each_row


@each_row(
    ("state", "words", "sentence"),
    [
        (ServerState("git", "connected", tools=1), "connected, 1 tool", "Server git is connected, 1 tool."),
        (ServerState("git", "connected", tools=3), "connected, 3 tools", "Server git is connected, 3 tools."),
        (ServerState("git", "connecting"), "connecting", "Server git is connecting."),
        (ServerState("git", "failed", "exit status 1."), "failed: exit status 1.", "Server git failed: exit status 1."),
        (
            ServerState("git", "failed", "it needs $TOKEN, which is not set"),
            "failed: it needs $TOKEN, which is not set",
            "Server git needs $TOKEN, which is not set.",
        ),
        (ServerState("git", "not approved", "it is new here"), "is new here", "Server git is new here."),
        (ServerState("git", "not approved"), "not approved", "Server git is not approved."),
        (ServerState("git", "needs login"), "needs login", "Server git needs a login."),
        (ServerState("git", "needs login", "run x"), "needs login: run x", "Server git needs a login: run x."),
    ],
)
def test_a_state_is_told_in_a_word_and_in_a_sentence(state: ServerState, words: str, sentence: str) -> None:
    assert (str(state), state.sentence) == (words, sentence)
    assert state.settled is (state.status != "connecting")


@each_row(
    ("given", "name", "arguments"),
    [
        ({"tool": "mcp__a__b", "arguments": {"x": 1}}, "mcp__a__b", {"x": 1}),
        ({"tool": "mcp__a__b", "arguments": '{"x": 1}'}, "mcp__a__b", {"x": 1}),
        ({"tool": "mcp__a__b", "arguments": ""}, "mcp__a__b", {}),
        ({"tool": "mcp__a__b", "arguments": None}, "mcp__a__b", {}),
        ({"tool": "mcp__a__b"}, "mcp__a__b", {}),
        ({"tool": "mcp__a__b", "arguments": "{"}, CALL, {"tool": "mcp__a__b", "arguments": "{"}),
        ({"tool": "mcp__a__b", "arguments": [1]}, CALL, {"tool": "mcp__a__b", "arguments": [1]}),
        ({"tool": "bash", "arguments": {"command": "ls"}}, CALL, {"tool": "bash", "arguments": {"command": "ls"}}),
        ({"server": "a", "tool": "b", "arguments": {"x": 1}}, "mcp__a__b", {"x": 1}),
        ({"server": "a", "tool": "mcp__a__b"}, "mcp__a__b", {}),
        ({"server": "", "tool": "b"}, CALL, {"server": "", "tool": "b"}),
        ({"tool": 5}, CALL, {"tool": 5}),
        ({}, CALL, {}),
    ],
)
def test_a_call_of_the_gate_means_a_call_of_the_servers_tool(
    given: dict[str, object], name: str, arguments: object
) -> None:
    found = effective(ToolCall("c", CALL, given))
    assert (found.call_id, found.name, found.input) == ("c", name, arguments)


@each_row(
    ("tool", "means"),
    [("b", "mcp__a__b"), ("a__b", "mcp__a__b"), ("c", ""), ("a__c", "mcp__a__c"), ("d__e", "mcp__a__d__e"), ("e", "")],
)
def test_a_servers_tool_is_known_by_its_own_name_if_only_one_has_it(tool: str, means: str) -> None:
    names = ["mcp__a__b", "mcp__a__c", "mcp__x__c", "mcp__a__d__e"]
    assert effective(ToolCall("c", CALL, {"tool": tool}), names).name == (means or CALL)


def test_a_call_of_another_tool_is_itself() -> None:
    call = ToolCall("c", "bash", {"tool": "mcp__a__b"})
    assert effective(call) is call


@pytest.mark.parametrize(
    ("state", "obstacle"),
    [
        (ServerState("git", "failed", "exit status 1."), "Server git is not connected: exit status 1."),
        (ServerState("git", "needs login"), "Server git is not connected: needs login."),
        (ServerState("git", "connecting"), "Server git is not connected: connecting."),
    ],
)
def test_a_call_of_a_server_that_is_not_connected_is_answered_with_the_reason(
    state: ServerState, obstacle: str
) -> None:
    assert state.obstacle == obstacle


@each_row(
    ("name", "server"),
    [("mcp__git__log", "git"), ("mcp__my_git__a__b", "my_git"), ("git__log", "git"), ("mcp__git", "git")],
)
def test_the_name_of_a_tool_begins_with_that_of_its_server(name: str, server: str) -> None:
    assert (server_of(name), server_prefix(name)) == (server, f"mcp__{server}__")


def test_a_prompt_is_called_by_its_server_and_name() -> None:
    assert ServerPrompt("git", "review").command == "git:review"


def test_the_tools_that_searches_load_stand_by_name_and_the_first_definition_counts() -> None:
    def search(*tools: ToolSchema) -> ToolResult:
        return ToolResult("c", "mcp_search", "success", "", metadata={LOADED: [tool.raw for tool in tools]})

    b, a, other_b = (ToolSchema(name, text, {"type": "object"}) for name, text in (("b", "1"), ("a", "2"), ("b", "3")))
    assert loaded_tools([search(b), ToolResult("d", "read", "success", ""), search(a, other_b)]) == (a, b)
    assert loaded_tools([]) == ()
