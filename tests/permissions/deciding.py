"""Decisions about calls of the built-in tools."""

from __future__ import annotations

from collections.abc import Sequence

from agentcli.core.message import ToolCall
from agentcli.core.record import Mode
from agentcli.permissions.decide import Decision, decide
from agentcli.permissions.paths import Workspace
from agentcli.permissions.rules import Rules, proposed_rules
from agentcli.tools.registry import TRAITS

NO_RULES = Rules()


def explain(call: ToolCall, rules: Rules, mode: Mode, workspace: Workspace) -> Decision:
    """What is decided about a call."""
    return decide(call, TRAITS, rules, mode, workspace)


def explain_command(command: str, workspace: Workspace, mode: Mode, rules: Rules = NO_RULES) -> Decision:
    """What is decided about a command."""
    return explain(ToolCall("c", "bash", {"command": command}), rules, mode, workspace)


def with_whole(command: str, workspace: Workspace, patterns: Sequence[str] = ()) -> Decision:
    """What would be decided about this command, in mode ask, if a person took the offers of these whole programs."""
    rules = proposed_rules([f"bash({pattern})" for pattern in patterns], whole=True)
    return explain_command(command, workspace, "ask", rules)


def with_rule(rule: str, call: ToolCall, workspace: Workspace) -> Decision:
    """What would be decided about this call, in mode ask, if agentcli proposed `rule` and a person took it."""
    return explain(call, proposed_rules([rule]), "ask", workspace)
