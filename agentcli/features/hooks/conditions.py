"""Conditions of hooks (`if`): permission rules, read as Claude Code reads them there."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from agentcli.core.aliases import known_as
from agentcli.core.errors import AgentError
from agentcli.core.message import ToolCall
from agentcli.core.text.path_pattern import literal
from agentcli.core.tool import Traits

if TYPE_CHECKING:
    from agentcli.permissions.paths import Workspace
    from agentcli.permissions.rules import Rule


def fulfils(condition: str, call: ToolCall, root: Path, traits: Mapping[str, Traits], workspace: Workspace) -> bool:
    """Return True if the call matches the rule of an `if`, or hides whether it does. Paths in it count from `root`."""
    from agentcli.permissions.facts import by_file, facts_of
    from agentcli.permissions.rules import Rules

    rule = _rule(condition, str(root))
    if rule is None or not rule.is_for(call.name):
        return False
    for each in by_file(call, traits):
        facts = facts_of(each, traits, Rules(deny=(rule,)), workspace)
        if facts.denied or facts.obscure or facts.refused:
            return True
    return False


@lru_cache(maxsize=256)
def _rule(condition: str, root: str) -> Rule | None:
    """Parse a condition as a rule with our name of its tool; return None if it makes no sense.

    The pattern of a path is written as in `.gitignore`, with `/` for the project's folder and `//` for the root of the disk.
    """
    from agentcli.permissions.rules import parse_rule

    name, _, rest = condition.strip().partition("(")
    pattern = rest.removesuffix(")")
    name = known_as(name) or name
    if name != "bash" and pattern.startswith("/"):
        pattern = pattern[1:] if pattern.startswith("//") else f"{literal(root)}{pattern}"
    try:
        return parse_rule(f"{name}({pattern.removeprefix('./')})" if pattern else name)
    except AgentError:
        return None
