"""Look-up of the skill or command for `/name`."""

from __future__ import annotations

from collections.abc import Mapping

from agentcli.agent.project.extensions import Extensions, Skill, Template
from agentcli.agent.project.places import Scope

_RANK: Mapping[Scope, int] = {"project": 0, "user": 1, "plugin": 2}
SCOPES = ("project", "user")
"""Prefixes that name a command which another one shadows: `/project:x`."""


def named(found: Extensions, name: str) -> Skill | Template | None:
    """Return the skill or command of that name.

    The project's comes before the user's, and a skill before a command of the same place. A plugin's skill or command
    also has its plain name if nothing else does.
    """
    both = [one for one in (found.skills.get(name), found.commands.get(name)) if one is not None]
    if both:
        return min(both, key=lambda one: _RANK[one.place.scope])
    scope, colon, rest = name.partition(":")
    if colon and scope in SCOPES:
        return next((one for one in _every(found) if one.place.scope == scope and one.name == rest), None)
    plain = [one for one in _every(found) if one.place.plugin and one.name == f"{one.place.plugin}:{name}"]
    return plain[0] if len(plain) == 1 else None


def _every(found: Extensions) -> list[Skill | Template]:
    hidden = [one for one in found.shadowed if isinstance(one, Skill | Template)]
    return [*found.skills.values(), *found.commands.values(), *hidden]
