"""Kinds of subagents defined in files of Claude Code, Gemini CLI, opencode and agentcli itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from agentcli.agent.project import frontmatter
from agentcli.agent.project.places import Form, Found, Place, read_text
from agentcli.agent.project.prompt_files import BUILT_IN, STEPS, AgentKind
from agentcli.core.aliases import OPENCODE, known_as
from agentcli.core.mcp_servers import PREFIX
from agentcli.core.sanitise import display_path, safe_line
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
    name = path.name.removesuffix(".md").removesuffix(".agent") if _by_file(place) else head.text("name")
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
    tools, denied = _tools(head, found.place.program)
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
    return place.program in (".opencode", ".copilot")


_COPILOT: Mapping[str, Sequence[str]] = {
    "execute": ("bash",),
    "search": ("grep", "glob", "list"),
    "edit": ("edit", "write"),
    "agent": ("task",),
    "web": ("web_fetch", "web_search"),
}
"""Copilot's names for groups of tools."""


def _tools(head: FrontMatter, program: str) -> tuple[tuple[str, ...] | None, tuple[str, ...]]:
    """Return the agent's tools, None for all, and its denied tools."""
    entries = tool_switches(head.fields)
    denied = (*(head.items("disallowedTools") or head.items("disallowed-tools")), *denied_tools(entries))
    listed = head.items("tools")
    every = [own for name in listed for own in (_COPILOT.get(name, (name,)) if program == ".copilot" else (name,))]
    return (allowed_tools(entries) if not listed or "*" in listed else tuple(every)), denied


def _one_line(text: str) -> str:
    line = safe_line(" ".join(text.replace("\\n", " ").split()))
    return line if len(line) <= DESCRIPTION else f"{line[: DESCRIPTION - 1]}…"


FORM = Form("agents", load, most=AGENTS, depth=DEPTH)


_EDITS = frozenset({"write", "edit", "multiedit", "patch"})
"""Tools that share one permission of opencode, `edit`."""


def tool_switches(fields: Mapping[str, Any]) -> Sequence[tuple[str, bool]]:
    """Return the entries of both mappings in order: a pattern of names, and whether an agent has such tools.

    A tool that is denied for some calls counts as missing.
    """
    permission = fields.get("permission")
    permission = {"*": permission} if isinstance(permission, str) else permission
    entries = [entry for each in (fields.get("tools"), permission) if isinstance(each, dict) for entry in each.items()]
    return [("edit" if name in _EDITS else str(name), not _denies(value)) for name, value in entries]


def allowed_tools(entries: Sequence[tuple[str, bool]]) -> tuple[str, ...] | None:
    """Return an agent's tools; None, unless `*` is denied, for all except the denied ones."""
    if _granted(entries, "*"):
        return None
    named = [name for name, _ in entries if "*" not in name and _granted(entries, name) and name not in OPENCODE]
    return tuple(dict.fromkeys((*(own for own, on in _built_in_tools(entries) if on), *named)))


def denied_tools(entries: Sequence[tuple[str, bool]]) -> tuple[str, ...]:
    """Return the tools that an agent lacks, by our names; MCP tools, `server_tool` in opencode, by our pattern."""
    off = [name for name, on in entries if not on and not _granted(entries, name) and name != "*"]
    others = [name for name in off if name not in OPENCODE]
    servers = [f"{PREFIX}{name.replace('_', '_*')}" for name in others if not known_as(name)]
    return tuple(dict.fromkeys((*(own for own, on in _built_in_tools(entries) if not on), *others, *servers)))


def _built_in_tools(entries: Sequence[tuple[str, bool]]) -> Sequence[tuple[str, bool]]:
    """Return opencode's own tools by our names, and whether an agent has them."""
    return [(own, _granted(entries, "edit" if name in _EDITS else name)) for name, (own, _) in OPENCODE.items()]


def _granted(entries: Sequence[tuple[str, bool]], tool: str) -> bool:
    """Return True if the last entry about a tool grants it to the agent, or if there is none."""
    return next((on for name, on in reversed(entries) if fnmatchcase(tool, name)), True)


def _denies(value: Any) -> bool:
    return value is False or value == "deny" or (isinstance(value, dict) and "deny" in value.values())
