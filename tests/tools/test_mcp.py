from __future__ import annotations

from agentcli.context.tokens.counter import TokenCounter
from agentcli.context.tokens.estimators import Chars4
from agentcli.tools.registry import tools


def test_the_two_tools_of_the_gate_are_small() -> None:
    gate = [tool.schema for tool in tools() if tool.traits.behaviour.gate]
    assert [tool.name for tool in gate] == ["mcp_search", "mcp_call"]
    assert TokenCounter(Chars4()).overhead((), gate) <= 160
