"""Kinds of subagents defined in files of Claude Code, Gemini CLI, opencode and agentcli itself."""

from __future__ import annotations

from collections.abc import Mapping

from agentcli.core.sanitise import display_path, safe_line
from agentcli.extensions import tool_switches
from agentcli.project import frontmatter
from agentcli.project.extensions import BUILT_IN, STEPS, AgentKind
from agentcli.project.frontmatter import FrontMatter
from agentcli.project.places import Form, Found, Place, read_text
from agentcli.system.regular_file import Unusable

AGENTS = 200
"""Largest number of definitions."""
DEPTH = 3
DESCRIPTION = 1_024
"""Length of a description in the catalogue at which it is cut, in characters."""
_WITHOUT_EFFECT = ("permissionMode", "mcpServers", "hooks", "memory", "timeout_mins", "temperature")


def load(found: Found, notes: list[str]) -> AgentKind | None:
    """Return the definition in a file, or None after a note if it cannot be used."""
    path, place = found.path, found.place
    try:
        head = frontmatter.read(read_text(path, place.within))
    except Unusable as why:
        notes.append(f"{display_path(path)}: {why}: left out.")
        return None
    missing = [
        field for field in ("name", "description") if not (head.text(field) or (field == "name" and _by_file(place)))
    ]
    if missing:
        reason = f" ({head.trouble})" if head.trouble else ""
        notes.append(f"Agent in {display_path(path)} has no {' and no '.join(missing)}{reason}: left out.")
        return None
    name = path.stem if _by_file(place) else head.text("name")
    if not all(letter.isalnum() or letter in "-_." for letter in name):
        notes.append(f"{display_path(path)}: {safe_line(name)} is not a valid name of an agent: left out.")
        return None
    if head.text("mode") == "primary" or head.flag("disable"):
        return None
    if name in BUILT_IN and not place.plugin:
        notes.append(f"{display_path(path)}: {name} is an agent of agentcli itself: left out.")
        return None
    planning = head.text("permissionMode") == "plan"
    for field in _WITHOUT_EFFECT:
        if field in head.fields and not (planning and field == "permissionMode"):
            notes.append(f"Agent {name}: the field {field} has no effect here.")
    tools, denied = _tools(head)
    return AgentKind(
        name=f"{place.plugin}:{name}" if place.plugin else name,
        description=head.text("description"),
        prompt=head.body.strip(),
        tools=tools,
        denied=denied,
        model="" if head.text("model") == "inherit" else head.text("model"),
        effort=head.text("effort"),
        max_steps=min(head.number("maxTurns") or head.number("max_turns") or head.number("steps"), STEPS),
        skills=head.items("skills"),
        background=head.flag("background"),
        worktree=head.text("isolation") == "worktree",
        file=path,
        place=place,
        only_looks=planning,
    )


def catalogue(kinds: Mapping[str, AgentKind]) -> str:
    """Return the lines of the catalogue that the model sees."""
    return "\n".join(f"- {kind.name}: {_one_line(kind.description)}" for kind in kinds.values())


def _by_file(place: Place) -> bool:
    """Return True if the file's name is the agent's name."""
    return place.program == ".opencode"


def _tools(head: FrontMatter) -> tuple[tuple[str, ...] | None, tuple[str, ...]]:
    """Return the tools that the agent has, None for all, and the tools denied to it."""
    entries = tool_switches.switches(head.fields)
    denied = (*(head.items("disallowedTools") or head.items("disallowed-tools")), *tool_switches.denied(entries))
    listed = head.items("tools")
    return (tool_switches.allowed(entries) if not listed or "*" in listed else listed), denied


def _one_line(text: str) -> str:
    line = safe_line(" ".join(text.replace("\\n", " ").split()))
    return line if len(line) <= DESCRIPTION else f"{line[: DESCRIPTION - 1]}…"


FORM = Form("agents", load, most=AGENTS, depth=DEPTH)
