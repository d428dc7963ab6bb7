"""Tools of an agent as opencode writes them: the mappings `tools` (name to true or false) and `permission` (name to allow, ask or deny)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from agentcli.core.aliases import OPENCODE, known_as
from agentcli.core.servers import PREFIX

_EDITS = frozenset({"write", "edit", "multiedit", "patch"})
"""Tools that opencode has one permission for, `edit`."""


def switches(fields: Mapping[str, Any]) -> Sequence[tuple[str, bool]]:
    """The entries of both mappings in their order: a pattern of names, and whether an agent has such tools.

    An agent has a tool or has it not: one that is denied to it for some calls is one that it has not.
    """
    permission = fields.get("permission")
    permission = {"*": permission} if isinstance(permission, str) else permission
    entries = [entry for each in (fields.get("tools"), permission) if isinstance(each, dict) for entry in each.items()]
    return [("edit" if name in _EDITS else str(name), not _denies(value)) for name, value in entries]


def allowed(entries: Sequence[tuple[str, bool]]) -> tuple[str, ...] | None:
    """The tools that an agent has; None for all but those that are denied, as it is unless `*` is denied."""
    if _last(entries, "*"):
        return None
    named = [name for name, _ in entries if "*" not in name and _last(entries, name) and name not in OPENCODE]
    return tuple(dict.fromkeys((*(own for own, on in _built_in(entries) if on), *named)))


def denied(entries: Sequence[tuple[str, bool]]) -> tuple[str, ...]:
    """The tools that an agent has not, by our names; those of servers, `server_tool` there, by a pattern of ours."""
    off = [name for name, on in entries if not on and not _last(entries, name) and name != "*"]
    others = [name for name in off if name not in OPENCODE]
    servers = [f"{PREFIX}{name.replace('_', '_*')}" for name in others if not known_as(name)]
    return tuple(dict.fromkeys((*(own for own, on in _built_in(entries) if not on), *others, *servers)))


def _built_in(entries: Sequence[tuple[str, bool]]) -> Sequence[tuple[str, bool]]:
    """The tools that opencode has itself, by our names, and whether an agent has them."""
    return [(own, _last(entries, "edit" if name in _EDITS else name)) for name, (own, _) in OPENCODE.items()]


def _last(entries: Sequence[tuple[str, bool]], tool: str) -> bool:
    """True if the last entry about a tool gives it to the agent, or there is none."""
    return next((on for name, on in reversed(entries) if fnmatchcase(tool, name)), True)


def _denies(value: Any) -> bool:
    return value is False or value == "deny" or (isinstance(value, dict) and "deny" in value.values())
