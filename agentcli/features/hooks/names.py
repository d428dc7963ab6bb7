"""Names of tools and their parameters in other programs' hooks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agentcli.core.aliases import AGENTS, CLAUDE_CODE, GEMINI_CLI, Renaming, like_tool
from agentcli.core.mcp_servers import effective
from agentcli.core.message import ToolCall
from agentcli.features.hooks.files import Dialect

_TABLES: Mapping[Dialect, Renaming] = {"claude": CLAUDE_CODE, "gemini": GEMINI_CLI}
_FIRST = {"task": "Agent", "bash_stop": "KillShell"}
"""The preferred name if another program has several for one tool."""


def foreign_call(call: ToolCall, dialect: Dialect, cwd: Path) -> tuple[str, dict[str, Any]]:
    """Return a call's name and input as another program would have them; paths of files are absolute."""
    call = effective(call)
    name, parameters = _renaming(call.name, dialect)
    back = {own: foreign for foreign, own in parameters.items()}
    given = {back.get(key, key): value for key, value in call.input.items()}
    if isinstance(kind := given.get("subagent_type"), str):
        given["subagent_type"] = foreign_agent(kind)
    if name == "Edit":
        given.setdefault("replace_all", False)
    for key in ("file_path", "absolute_path", "notebook_path"):
        if isinstance(path := given.get(key), str) and path:
            given[key] = str(cwd / path)
    return name, given


def own_input(call: ToolCall, given: Mapping[str, Any], dialect: Dialect) -> Mapping[str, Any]:
    """Translate a hook's input in another program's terms into our call's input."""
    parameters = _renaming(call.name, dialect)[1]
    own = {parameters.get(key, key): value for key, value in given.items()}
    return {**own, "agent": AGENTS.get(own["agent"], own["agent"])} if isinstance(own.get("agent"), str) else own


def names_of(call: ToolCall) -> tuple[str, ...]:
    """Return all names that a matcher may have for a call's tool.

    A hook on edits also runs for several edits in one call. Programs without such a tool have no name for it.
    """
    own = dict.fromkeys((call.name, like_tool(call.name)))
    foreign = [name for tool in own for table in _TABLES.values() for name, (ours, _) in table.items() if ours == tool]
    return tuple(dict.fromkeys((*own, *foreign)))


def foreign_agent(kind: str) -> str:
    """Return Claude Code's name for a kind of subagents."""
    return next((foreign for foreign, own in AGENTS.items() if own == kind), kind)


def foreign_rule(rule: str) -> dict[str, str]:
    """Return a permission rule as Claude Code writes it in suggestions: the tool's name separate from its content."""
    name, _, content = rule.partition("(")
    named = {"toolName": _FIRST.get(name) or _renaming(name, "claude")[0]}
    return {**named, "ruleContent": content.removesuffix(")")} if content else named


def _renaming(tool: str, dialect: Dialect) -> tuple[str, Mapping[str, str]]:
    found = {name: parameters for name, (own, parameters) in _TABLES[dialect].items() if own == tool}
    name = _FIRST.get(tool, "") if dialect == "claude" else ""
    name = name if name in found else next(iter(found), tool)
    return name, found.get(name, {})
