"""Kinds of subagents defined in files of Claude Code, Gemini CLI, opencode and agentcli itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from agentcli.agent.project import frontmatter
from agentcli.agent.project.extensions import BUILT_IN, STEPS, AgentKind
from agentcli.agent.project.places import Form, Found, Place, read_text
from agentcli.core.sanitise import display_path, safe_line
from agentcli.program.extensions import tool_switches
from agentcli.system.regular_file import Unusable

if TYPE_CHECKING:
    from agentcli.agent.project.frontmatter import FrontMatter

AGENTS = 200
"""Largest number of definitions."""
DEPTH = 3
DESCRIPTION = 1_024
"""Maximum characters of a description in the catalogue; longer ones are cut."""
_WITHOUT_EFFECT = ("mcpServers", "hooks", "memory", "timeout_mins", "temperature")


def load(found: Found, notes: list[str]) -> AgentKind | None:
    """Return the definition in a file, or None after a note if it is unusable."""
    path, place = found.path, found.place
    try:
        head = frontmatter.read(read_text(path, place.within))
    except Unusable as why:
        notes.append(f"{display_path(path)}: {why}: left out.")
        return None
    name = path.stem if _by_file(place) else head.text("name")
    if fault := _fault(head, name, display_path(path)):
        notes.append(f"{fault}: left out.")
        return None
    if head.text("mode") == "primary" or head.flag("disable"):
        return None
    if name in BUILT_IN and not place.plugin:
        notes.append(f"{display_path(path)}: {name} is an agent of agentcli itself: left out.")
        return None
    ignored = _WITHOUT_EFFECT if _plans(head) else ("permissionMode", *_WITHOUT_EFFECT)
    notes += head.without_effect(ignored, f"Agent {name}")
    return _kind(found, head, name)


def _kind(found: Found, head: FrontMatter, name: str) -> AgentKind:
    tools, denied = _tools(head)
    return AgentKind(
        name=found.place.named(name),
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
        file=found.path,
        place=found.place,
        only_looks=_plans(head),
    )


def _plans(head: FrontMatter) -> bool:
    return head.text("permissionMode") == "plan"


def _fault(head: FrontMatter, name: str, shown: str) -> str:
    """Return what is wrong with the name or description in a file shown by this path; empty if nothing is."""
    missing = [field for field, text in (("name", name), ("description", head.text("description"))) if not text]
    if missing:
        reason = f" ({head.trouble})" if head.trouble else ""
        return f"Agent in {shown} has no {' and no '.join(missing)}{reason}"
    if not all(letter.isalnum() or letter in "-_." for letter in name):
        return f"{shown}: {safe_line(name)} is not a valid name of an agent"
    return ""


def catalogue(kinds: Mapping[str, AgentKind]) -> str:
    """Return the lines of the catalogue that the model sees."""
    return "\n".join(f"- {kind.name}: {_one_line(kind.description)}" for kind in kinds.values())


def _by_file(place: Place) -> bool:
    """Return True if the file's name is the agent's name."""
    return place.program == ".opencode"


def _tools(head: FrontMatter) -> tuple[tuple[str, ...] | None, tuple[str, ...]]:
    """Return the agent's tools, None for all, and its denied tools."""
    entries = tool_switches.switches(head.fields)
    denied = (*(head.items("disallowedTools") or head.items("disallowed-tools")), *tool_switches.denied(entries))
    listed = head.items("tools")
    return (tool_switches.allowed(entries) if not listed or "*" in listed else listed), denied


def _one_line(text: str) -> str:
    line = safe_line(" ".join(text.replace("\\n", " ").split()))
    return line if len(line) <= DESCRIPTION else f"{line[: DESCRIPTION - 1]}…"


FORM = Form("agents", load, most=AGENTS, depth=DEPTH)
