"""Traits of a tool on the wire between two programs: one flat object, without the default values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentcli.core.tool import UNKNOWN, Behaviour, Subject, SubjectKind, ToolServer, Traits


def told(traits: Traits) -> dict[str, Any]:
    """Return the traits in the form that the other program reads."""
    subject, behaviour, server = traits.subject, traits.behaviour, traits.server or ToolServer("")
    values = {
        "effect": traits.effect if traits.effect != UNKNOWN.effect else "",
        "subject": subject.field,
        "background": subject.background,
        "reads_files": traits.reads_files,
        "edits_files": traits.edits_files,
        "patches": traits.patches,
        "content": subject.content,
        "searches": traits.searches,
        "pattern": subject.pattern,
        "name_filter": subject.name_filter,
        "allowed_as": subject.allowed_as,
        "recalls": behaviour.recalls,
        "polls": behaviour.polls,
        "needs_person": behaviour.needs_person,
        "presents_plan": behaviour.presents_plan,
        "delegates": behaviour.delegates,
        "for_people": behaviour.for_people,
        "gate": behaviour.gate,
        "server": server.name,
        "shadows": server.shadows,
        "reads_only": server.reads_only,
        "dispensable": behaviour.dispensable,
        "announced": behaviour.announced,
        "calls_tools": behaviour.calls_tools,
        "interacts": server.interacts,
    }
    return {name: value for name, value in values.items() if value}


def shown(told: Mapping[str, Any]) -> Traits:
    """Return the traits by which an editor shows calls; the other program's version may report more."""
    effect, field = told.get("effect", UNKNOWN.effect), told.get("subject", "")
    kind: SubjectKind = _KINDS.get(effect, "") if field else ""
    if told.get("searches") or told.get("patches"):
        kind = "folder" if told.get("searches") else "patch"
    behaviour = Behaviour(**{name: told[name] for name in Behaviour.__slots__ if name in told})
    return Traits(effect, Subject(field, kind), behaviour)


_KINDS: Mapping[str, SubjectKind] = {"run": "command", "network": "url", "read": "file", "write": "file"}
