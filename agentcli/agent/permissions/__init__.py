"""Whether a call may run: rules, modes, paths and commands, decided without running anything."""

from agentcli.agent.permissions.decide import Decision, decide
from agentcli.agent.permissions.explain import explain_lines
from agentcli.agent.permissions.git import GitFacts, git_facts
from agentcli.agent.permissions.paths import PathVerdict, judge_path
from agentcli.agent.permissions.place import CommandLimits, Place
from agentcli.agent.permissions.rules import Rule, Rules, parse_rule, parse_rules

__all__ = [
    "CommandLimits",
    "Decision",
    "GitFacts",
    "PathVerdict",
    "Place",
    "Rule",
    "Rules",
    "decide",
    "explain_lines",
    "git_facts",
    "judge_path",
    "parse_rule",
    "parse_rules",
]
