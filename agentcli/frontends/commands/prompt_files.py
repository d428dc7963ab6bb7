"""Slash commands about extensions: list skills and agents, and run commands from files."""

from __future__ import annotations

from collections.abc import AsyncIterator, Container, Iterable, Sequence
from typing import TYPE_CHECKING

from agentcli.agent.project.prompt_files import AgentKind, Skill, Template
from agentcli.core.sanitise import display_path, safe_line
from agentcli.core.text.words import none_of
from agentcli.program.commands import Context, Item, Output, Said, command

if TYPE_CHECKING:
    from agentcli.agent.session import AgentSession

_SUMMARY = 80


@command("Extensions", at_once=True, former="skills")
async def skills(context: Context, _: str) -> AsyncIterator[Output]:
    """List the skills, with their errors: /extensions skills

    A skill is a folder with a SKILL.md, in .agentcli/skills, .agents/skills or .claude/skills of the project or your home.
    The model loads one when a task fits; /NAME loads it with your next message. See `agentcli help skills`.
    """
    found = context.session.prompt_files.found
    hidden = [
        f"{one.name} in {display_path(one.folder)} is shadowed." for one in found.shadowed if isinstance(one, Skill)
    ]
    lines = [_line(skill.name, skill.description, str(display_path(skill.folder))) for skill in found.skills.values()]
    yield Said([*(lines or [none_of("skills", "skills")]), *hidden, *found.notes])


@command("Extensions", at_once=True, former="agents")
async def agents(context: Context, _: str) -> AsyncIterator[Output]:
    """List the agents defined in files, with their errors: /extensions agents

    An agent is a Markdown file in .agentcli/agents or .claude/agents of the project or your home. The model gives work to one
    with the task tool; @NAME at the start of a prompt asks it to.
    """
    found = context.session.prompt_files.found
    hidden = [f"{one.name} in {_file(one)} is shadowed." for one in found.shadowed if isinstance(one, AgentKind)]
    lines = [_line(kind.name, kind.description, _file(kind)) for kind in found.agents.values()]
    yield Said([*(lines or [none_of("agents but general and explore", "agents")]), *hidden, *found.notes])


@command("Extensions", at_once=True, former="plugins")
async def plugins(context: Context, _: str) -> AsyncIterator[Output]:
    """List the plugins with their skills, commands and agents: /extensions plugins

    `agentcli plugins add PATH` adds one, `agentcli plugins list` also lists those that are switched off.
    """
    found = context.session.prompt_files.found
    every: list[Skill | Template | AgentKind] = [
        *found.skills.values(),
        *found.commands.values(),
        *found.agents.values(),
    ]
    names: dict[str, list[str]] = {}
    for one in every:
        if one.place is not None and one.place.plugin:
            names.setdefault(one.place.plugin, []).append(one.name.partition(":")[2])
    lines = [f"{plugin}: {', '.join(brought)}" for plugin, brought in sorted(names.items())]
    yield Said(lines or [none_of("plugins with skills, commands or agents", "plugins")])


def items(session: AgentSession, taken: Container[str]) -> Sequence[Item]:
    """Return commands and skills from files, and prompts of servers, for completion, by names that are not `taken`."""
    prompts = session.core.setup.servers.prompts() if session.core.setup.servers is not None else ()
    return [
        *(Item(_free_name(one, taken), _summary(one)) for one in _entries(session)),
        *(Item(one.command, _one_line(one.description)) for one in prompts),
    ]


def agent_items(session: AgentSession) -> Sequence[Item]:
    """Return agents from files, as `@name`, except those whose names have several words: no prompt can contain them."""
    kinds = session.prompt_files.found.agents.values()
    return [Item(f"@{kind.name}", _one_line(kind.description)) for kind in kinds if len(kind.name.split()) == 1]


def skill_items(session: AgentSession) -> Sequence[Item]:
    """Return the skills that a person may load, as `$name`."""
    skills = session.prompt_files.found.skills.values()
    return [Item(f"${one.name}", _one_line(one.description)) for one in skills if one.for_person]


def listed(session: AgentSession, taken: Container[str], wide: int) -> Sequence[str]:
    """Return the lines of /help about commands and skills from files."""
    entries = _entries(session)
    lines = [f"/{_free_name(one, taken)} ".ljust(wide) + _summary(one) for one in entries]
    return ["", "From files:", *lines, *shadowed(entries, taken)] if lines else []


def shadowed(entries: Iterable[Skill | Template], taken: Container[str]) -> Sequence[str]:
    """Return lines with the full name of each entry whose short name belongs to a built-in command."""
    return [
        f"/{one.name} of {display_path(one.place.folder)} is shadowed by ours; call it /{_free_name(one, taken)}."
        for one in entries
        if one.name in taken
    ]


def explained(session: AgentSession, name: str) -> Sequence[str]:
    """Return the help on a command or skill from a file; empty if the name is unknown."""
    one = session.prompt_files.entry(name.lstrip("/"))
    if one is None:
        return []
    hint = f" {safe_line(one.hint)}" if one.hint else ""
    return [
        safe_line(" ".join(one.description.split())),
        f"/{one.name}{hint}",
        f"It is defined in {display_path(one.file)}.",
    ]


def _free_name(one: Skill | Template, taken: Container[str]) -> str:
    return f"{one.place.scope}:{one.name}" if one.name in taken else one.name


def _entries(session: AgentSession) -> Sequence[Skill | Template]:
    found = session.prompt_files.found
    every = [session.prompt_files.entry(name) for name in sorted({*found.commands, *found.skills})]
    return [one for one in every if one is not None]


def _summary(one: Skill | Template) -> str:
    line = safe_line(" ".join(one.description.split()))
    return line if len(line) <= _SUMMARY else f"{line[: _SUMMARY - 1]}…"


def _line(name: str, description: str, place: str) -> str:
    line = safe_line(" ".join(description.split()))
    return f"{name}: {line if len(line) <= _SUMMARY else line[: _SUMMARY - 1] + '…'} ({place})"


def _file(kind: AgentKind) -> str:
    return display_path(kind.file) if kind.file is not None else ""


def _one_line(description: str) -> str:
    return safe_line(" ".join(description.split()))[:_SUMMARY]
