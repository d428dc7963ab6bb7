"""Permission rules of a project.

Deny and ask rules apply before the project is trusted. Allow rules apply only as the user's answers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from agentcli.agent.settings import PermissionSettings
from agentcli.core.errors import AgentError
from agentcli.core.text.path_pattern import literal
from agentcli.permissions.rules import Rules, in_own_names, parse_rule
from agentcli.program.files import CLAUDE_FILES, label, project_files
from agentcli.program.project import Project

if TYPE_CHECKING:
    from agentcli.program.feature import Row

_READERS: Mapping[str, str] = {
    **dict.fromkeys(CLAUDE_FILES, "claude"),
    ".gemini/settings.json": "gemini",
    ".codex/config.toml": "codex",
}
"""The files to read, each with its program."""
_OFFERED = (
    "a project cannot allow; the question of trust offers its rules, and permissions.allow in your config takes any"
)


def project_rules(project: Project, known: Collection[str]) -> tuple[Rules, list[str]]:
    """Return the deny and ask rules of other programs' files in a project, even in an untrusted one.

    Also return a line for each entry without effect.
    """
    rules, unused = Rules(), []
    for found in _found(project, [*_READERS]):
        unused += found.skipped
        for item in found.items:
            if (kind := _kind(item)) == "allow":
                unused.append(f"{item.source}: {item.value}: {_OFFERED}")
                continue
            try:
                rules += in_own_names(Rules(**{kind: (parse_rule(item.value, "project"),)}), known)
            except AgentError as error:
                unused.append(f"{item.source}: {error}")
    return rules, unused


def rules_before_trust(project: Project, known: Collection[str]) -> Rules:
    """Return the deny and ask rules of an untrusted folder's own settings, because they only tighten.

    Invalid ones are omitted.
    """
    rules = Rules()
    if project.trusted:
        return rules
    own = project.folder_config[PermissionSettings]
    for kind, texts in (("deny", own.deny), ("ask", own.ask)):
        for text in texts:
            with suppress(AgentError):
                rules += in_own_names(Rules(**{kind: (parse_rule(text, "project"),)}), known)
    return rules


def restrictions(project: Project, known: Collection[str]) -> list[str]:
    """Return an untrusted project's rules that deny or ask, each with its effect."""
    rules = rules_before_trust(project, known) + project_rules(project, known)[0]
    return [f"{kind} {rule}" for kind, rule in rules.listed() if rule.origin == "project"]


def rows(project: Project, known: Collection[str]) -> Iterator[Row]:
    """Report the entries of the project's files that have no effect."""
    for line in project_rules(project, known)[1]:
        yield ("not in force", True, line)


def entries_without_effect(project: Project) -> int:
    """Return how many entries of the project's files for other programs have no effect, apart from allow rules."""
    return sum(len(found.skipped) for found in _found(project, [*_READERS]))


def offered_rules(project: Project, known: Collection[str]) -> list[str]:
    """Return the allow rules of the project's settings for Claude Code in our names, trusted or not.

    None of them applies: the user may copy them into the answers saved for the project.
    """
    offered: dict[str, None] = {}
    for found in _found(project, CLAUDE_FILES):
        for item in found.items:
            if _kind(item) == "allow":
                with suppress(AgentError):
                    rules = in_own_names(Rules(allow=(parse_rule(item.value, "project"),)), known)
                    offered |= {str(rule): None for rule in rules.allow}
    return [*offered]


def _found(project: Project, names: Sequence[str]) -> Iterator[Any]:
    """Yield what each of these files of the project contains."""
    for path in project_files(project.cwd, names).paths:
        from agentcli.program.extras import extra  # few projects have such files

        restrictions = extra(f"rules of {_READERS[f'{path.parent.name}/{path.name}']}")
        yield restrictions(path, label(path, project.cwd), literal(str(path.parent.parent)))


def _kind(item: Any) -> str:
    return str(item.key).partition(".")[2]
