"""Decisions about calls of the built-in tools."""

from __future__ import annotations

from agentcli.agent.permissions.decide import Decision, decide
from agentcli.agent.permissions.paths import Place
from agentcli.agent.permissions.rules import Rules, parse_rule
from agentcli.core.message import ToolCall
from agentcli.core.record import Mode
from agentcli.tools.table import TRAITS


def explain(call: ToolCall, rules: Rules, mode: Mode, place: Place) -> Decision:
    """What is decided about a call."""
    return decide(call, TRAITS, rules, mode, place)


def with_rule(rule: str, call: ToolCall, place: Place) -> Decision:
    """What would be decided about this call, in mode ask, if `rule` were saved."""
    return explain(call, Rules(allow=(parse_rule(rule, "session"),)), "ask", place)
