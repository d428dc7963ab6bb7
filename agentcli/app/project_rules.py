"""Permission rules from a project's settings for other programs: deny and ask rules apply here as well, allow rules only as answers of the user."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress

from agentcli.annexes import annex
from agentcli.core.errors import AgentError
from agentcli.hooks.loaded import CLAUDE_FILES, label
from agentcli.permissions.rules import Rules, in_own_names, literal, parse_rule
from agentcli.project.files import project_files
from agentcli.project.opened import OpenedProject

_ALLOWING = "allow rules of claude"
_READERS: Mapping[str, str] = {
    **dict.fromkeys(CLAUDE_FILES, "claude"),
    ".gemini/settings.json": "gemini",
    ".codex/config.toml": "codex",
}
"""The files that are read, each with the program that it belongs to."""


def project_rules(project: OpenedProject, known: Collection[str]) -> tuple[Rules, list[str]]:
    """Return the rules about these tools, and a line for each entry of the files that has no effect; nothing if the folder is not trusted."""
    paths = project_files(project.cwd, [*_READERS]).paths if project.trusted else ()
    rules, unused = Rules(), []
    for path in paths:
        restrictions = annex(f"rules of {_READERS[f'{path.parent.name}/{path.name}']}")
        found = restrictions(path, label(path, project.cwd), literal(str(path.parent.parent)))
        unused += found.skipped
        for item in found.items:
            kind = item.key.partition(".")[2]
            try:
                rules += in_own_names(Rules(**{kind: (parse_rule(item.value, "project"),)}), known)
            except AgentError as error:
                unused.append(f"{item.source}: {error}")
    return rules, unused


def offered_rules(project: OpenedProject, known: Collection[str]) -> list[str]:
    """Return the allow rules of the project's settings for Claude Code in our names, trusted or not.

    None of them applies: the user may copy them into the answers that are saved for the project.
    """
    offered: dict[str, None] = {}
    for path in project_files(project.cwd, CLAUDE_FILES).paths:
        found = annex(_ALLOWING)(path, label(path, project.cwd), literal(str(path.parent.parent)))
        for item in found.items:
            with suppress(AgentError):
                rules = in_own_names(Rules(allow=(parse_rule(item.value, "project"),)), known)
                offered |= {str(rule): None for rule in rules.allow}
    return [*offered]
