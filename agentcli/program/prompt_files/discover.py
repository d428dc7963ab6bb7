"""Prompt files of a project and of its user: skills, slash commands, kinds of subagents.

What reads a kind is loaded only if there is a folder for it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from agentcli.agent.project.places import Kind, Place, find, folders, places
from agentcli.agent.project.prompt_files import AGENTS, SKILLS, AgentKind, PromptFiles, Skill, Template

if TYPE_CHECKING:
    from agentcli.program.prompt_files.plugins import Plugin

_SHARE, _LEAST, _CHARACTERS = 0.01, 1_000, 4
"""Share of the window for the list of skills, minimum size of the list in tokens, and characters per token."""


def catalogue(found: Mapping[str, Skill], agents: Mapping[str, AgentKind], window: int) -> str:
    """Return the block of a system prompt that lists skills and agents; empty if there are none."""
    if not (found or agents):
        return ""
    from agentcli.program.prompt_files.agents import catalogue as agent_lines
    from agentcli.program.prompt_files.skills import catalogue as skill_lines

    characters = max(int(window * _SHARE), _LEAST) * _CHARACTERS
    lines = skill_lines(found, characters)
    blocks = [
        f"{SKILLS}\nThe skill tool loads one of these; load it before you do what it is for.\n\n{lines}"
        if lines
        else "",
        f"{AGENTS}\nThe task tool can give work to these as well.\n\n{agent_lines(agents)}" if agents else "",
    ]
    return "\n\n".join(filter(None, blocks))


def changes_since(recorded: Sequence[str], found: Mapping[str, Skill], agents: Mapping[str, AgentKind]) -> str:
    """Return a reminder of the skills and agents added or removed since a session began.

    The session began with these system blocks. Return an empty text without changes.
    """
    block = next((block for block in recorded if block.startswith((SKILLS, AGENTS))), "")
    then = set(_LISTED.findall(block))
    if not (recorded and (then or found or agents)):
        return ""
    from agentcli.program.prompt_files.agents import catalogue as agent_lines
    from agentcli.program.prompt_files.skills import catalogue as skill_lines
    from agentcli.program.prompt_files.skills import in_catalogue

    listed = {skill.name: skill.file for skill in in_catalogue(found)}
    new = [f"- {skill_lines({name: found[name]}, 0)[2:]} ({listed[name]})" for name in listed if name not in then]
    new += [agent_lines({name: kind}) for name, kind in agents.items() if name not in then]
    gone = sorted(then - {*(name for name, skill in found.items() if skill.for_model), *agents})
    if not (new or gone):
        return ""
    texts = [
        "The skills and agents have changed since this session began.",
        "New: the skill tool loads a skill; where there is none, read its file.\n" + "\n".join(new) if new else "",
        f"Gone: {', '.join(gone)}." if gone else "",
    ]
    return "\n".join(filter(None, texts))


_LISTED = re.compile(r"^- ([^\s:]+(?::[^\s:]+)*)(?=:? |$)", re.MULTILINE)


def discover(
    cwd: Path | None, home: Path, config: Path, plugins: Sequence[Plugin] = (), noted: Sequence[str] = ()
) -> PromptFiles:
    """Find all active files; `cwd` is None if the folder is not trusted. `noted` are notes to list first."""
    notes = [*noted]
    skills, commands, agents = dict[str, Skill](), dict[str, Template](), dict[str, AgentKind]()
    shadowed: list[Skill | Template | AgentKind] = []

    def there(kind: Kind) -> list[Place]:
        all_places = (*places(kind, cwd, home, config), *(place for plugin in plugins for place in plugin.places(kind)))
        return [place for place in all_places if os.path.lexists(place.folder)]

    if found := there("skills"):
        from agentcli.program.prompt_files.skills import FORM as SKILL_FORM

        skills, hidden_skills = find(SKILL_FORM, found, notes)
        shadowed += hidden_skills
    if found := there("commands"):
        from agentcli.program.prompt_files.commands import FORM as COMMAND_FORM

        commands, hidden_commands = find(COMMAND_FORM, found, notes)
        shadowed += hidden_commands
    if found := there("agents"):
        from agentcli.program.prompt_files.agents import FORM as AGENT_FORM

        agents, hidden_agents = find(AGENT_FORM, found, notes)
        shadowed += hidden_agents
    return PromptFiles(skills, commands, agents, tuple(shadowed), tuple(dict.fromkeys(notes)))


def with_nested(found: PromptFiles, nested: Sequence[Path], cwd: Path) -> PromptFiles:
    """Return the files plus the skills of these nested folders.

    A skill with a taken name gets its folder as a prefix: `web/app:pdf`.
    """
    if not nested:
        return found
    from agentcli.program.prompt_files.skills import FORM as SKILL_FORM

    skills, notes = dict(found.skills), [*found.notes]
    for folder in nested:
        above = folder.parent.parent
        root = Path(os.path.realpath(next(iter(folders(above)))))
        place = Place(folder, "project", folder.parent.name, root)
        for skill in find(SKILL_FORM, [place], notes)[0].values():
            name = f"{os.path.relpath(above, cwd)}:{skill.name}" if skill.name in skills else skill.name
            skills.setdefault(name, replace(skill, name=name))
    return replace(found, skills=dict(sorted(skills.items())), notes=tuple(dict.fromkeys(notes)))
