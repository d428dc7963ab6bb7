"""Tools of an agent in opencode's format.

They are the fields `tools` (name to true or false) and `permission` (name to allow, ask or deny).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from agentcli.core.aliases import OPENCODE, known_as
from agentcli.core.mcp_servers import PREFIX

_EDITS = frozenset({"write", "edit", "multiedit", "patch"})
"""Tools that share one permission of opencode, `edit`."""


def switches(fields: Mapping[str, Any]) -> Sequence[tuple[str, bool]]:
    """Return the entries of both mappings in order: a pattern of names, and whether an agent has such tools.

    A tool that is denied for some calls counts as missing.
    """
    permission = fields.get("permission")
    permission = {"*": permission} if isinstance(permission, str) else permission
    entries = [entry for each in (fields.get("tools"), permission) if isinstance(each, dict) for entry in each.items()]
    return [("edit" if name in _EDITS else str(name), not _denies(value)) for name, value in entries]


def allowed(entries: Sequence[tuple[str, bool]]) -> tuple[str, ...] | None:
    """Return an agent's tools; None, unless `*` is denied, for all except the denied ones."""
    if _last(entries, "*"):
        return None
    named = [name for name, _ in entries if "*" not in name and _last(entries, name) and name not in OPENCODE]
    return tuple(dict.fromkeys((*(own for own, on in _built_in(entries) if on), *named)))


def denied(entries: Sequence[tuple[str, bool]]) -> tuple[str, ...]:
    """Return the tools that an agent lacks, by our names; MCP tools, `server_tool` in opencode, by our pattern."""
    off = [name for name, on in entries if not on and not _last(entries, name) and name != "*"]
    others = [name for name in off if name not in OPENCODE]
    servers = [f"{PREFIX}{name.replace('_', '_*')}" for name in others if not known_as(name)]
    return tuple(dict.fromkeys((*(own for own, on in _built_in(entries) if not on), *others, *servers)))


def _built_in(entries: Sequence[tuple[str, bool]]) -> Sequence[tuple[str, bool]]:
    """Return opencode's own tools by our names, and whether an agent has them."""
    return [(own, _last(entries, "edit" if name in _EDITS else name)) for name, (own, _) in OPENCODE.items()]


def _last(entries: Sequence[tuple[str, bool]], tool: str) -> bool:
    """Return True if the last entry about a tool grants it to the agent, or if there is none."""
    return next((on for name, on in reversed(entries) if fnmatchcase(tool, name)), True)


def _denies(value: Any) -> bool:
    return value is False or value == "deny" or (isinstance(value, dict) and "deny" in value.values())
