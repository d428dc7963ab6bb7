"""Definitions of a project that would start programs, and warnings about unapproved ones in runs without a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentcli.program.approvals import not_started
from agentcli.program.feature import CheckedProgram

if TYPE_CHECKING:
    from agentcli.program.definition import Definition


def definitions(program: CheckedProgram) -> list[Definition]:
    """All that the project would start; nothing if the folder is not trusted."""
    if not program.trusted:
        return []
    return [one for feature in program.features for one in feature.definitions(program)]


def unstarted(program: CheckedProgram, *, attended: bool) -> list[str]:
    """Return warnings about programs that were not started for lack of approval; none if a person can be asked."""
    if attended:
        return []
    if not program.trusted:
        return [*filter(None, [part.unread() for part in program.parts])]
    return [*filter(None, [not_started(program.approvals.refused(definitions(program)))])]
