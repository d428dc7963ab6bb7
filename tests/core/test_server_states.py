"""The state of an MCP server in words."""

from __future__ import annotations

import pytest

from agentcli.core.mcp_servers import CALL, ServerState, effective
from agentcli.core.message import ToolCall


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
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
        ({"tool": 5}, CALL, {"tool": 5}),
        ({}, CALL, {}),
    ],
)
def test_a_call_of_the_gate_means_a_call_of_the_servers_tool(
    given: dict[str, object], name: str, arguments: object
) -> None:
    found = effective(ToolCall("c", CALL, given))
    assert (found.call_id, found.name, found.input) == ("c", name, arguments)


def test_a_call_of_another_tool_is_itself() -> None:
    call = ToolCall("c", "bash", {"tool": "mcp__a__b"})
    assert effective(call) is call
