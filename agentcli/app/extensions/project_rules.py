"""Permission rules of a project's settings of Claude Code: those that deny or ask hold here as well, those that allow do not."""

from __future__ import annotations

from collections.abc import Collection

from agentcli.app.extensions.hooks import CLAUDE_FILES, label
from agentcli.app.project import ProjectContext
from agentcli.core.errors import AgentError
from agentcli.integrations.project_files import project_files
from agentcli.permissions.rules import Rules, in_own_names, literal, parse_rule


def project_rules(project: ProjectContext, known: Collection[str]) -> tuple[Rules, list[str]]:
    """The rules about these tools, and a line for each thing in the files that has no effect; nothing where the folder is not trusted."""
    paths = project_files(project.cwd, CLAUDE_FILES).paths if project.trusted else ()
    rules, unused = Rules(), []
    for path in paths:
        from agentcli.integrations.foreign.claude import restrictions

        found = restrictions(path, label(path, project.cwd), literal(str(path.parent.parent)))
        unused += found.skipped
        for item in found.items:
            kind = item.key.partition(".")[2]
            try:
                rules += in_own_names(Rules(**{kind: (parse_rule(item.value, "project"),)}), known)
            except AgentError as error:
                unused.append(f"{item.source}: {error}")
    return rules, unused
