"""Check of skills, commands and kinds of agents for `doctor`, as rows."""

from __future__ import annotations

from collections.abc import Iterator

from agentcli.agent.delegation.kinds import unknown_tools
from agentcli.core.sanitise import display_path, safe_line
from agentcli.frontends.commands.prompt_files import shadowed
from agentcli.frontends.commands.registry import slash_commands
from agentcli.program.feature import Row, tools_of
from agentcli.program.program import Program


def extension_rows(program: Program) -> Iterator[Row]:
    """Report the skills, commands and agents, each with its file, and the problems of invalid ones."""
    found, tools = program.prompt_files, tools_of(program.features)
    for plugin in program.plugins[0]:
        yield (f"plugin {plugin.name}", True, display_path(plugin.folder))
    for skill in found.skills.values():
        yield (f"skill {skill.name}", True, display_path(skill.folder))
    for command in found.commands.values():
        yield (f"command /{command.name}", True, display_path(command.file))
    for kind in found.agents.values():
        missing = safe_line(", ".join(unknown_tools(kind, tools)))
        wrong = f", lists tools that do not exist here: {missing}" if missing else ""
        yield (f"agent {kind.name}", not wrong, f"{display_path(kind.file) if kind.file else ''}{wrong}")
    for hidden in found.shadowed:
        yield (f"shadowed {hidden.name}", True, f"{display_path(hidden.file)} has no effect" if hidden.file else "")
    known = slash_commands(program).all
    for line in (*shadowed(found.skills.values(), known), *shadowed(found.commands.values(), known)):
        yield ("extensions", False, line)
    for note in (*found.notes, *program.instruction_files().notes):
        yield ("extensions", False, note)
