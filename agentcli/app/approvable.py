"""Definitions of a project that would start programs, and warnings about unapproved ones in runs without a person."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from agentcli.app.project import ProjectContext
from agentcli.hooks import loaded as hooks
from agentcli.mcp.run_servers import project_servers, unread
from agentcli.project.approvals import not_started

if TYPE_CHECKING:
    from agentcli.project.definition import Definition

SOURCES: tuple[Callable[[ProjectContext], Iterable[Definition]], ...] = (hooks.definitions, project_servers)
"""Functions that list the programs that files of a trusted project would start; each extension adds its own."""


def definitions(project: ProjectContext) -> list[Definition]:
    """All that the project would start; nothing if the folder is not trusted."""
    return [one for source in SOURCES for one in source(project)] if project.trusted else []


def unstarted(project: ProjectContext, *, attended: bool) -> list[str]:
    """Return warnings about programs that were not started for lack of approval; none if a person can be asked."""
    if attended:
        return []
    if not project.trusted:
        return [*filter(None, [unread(project)])]
    return [*filter(None, [not_started(project.approvals.refused(definitions(project)))])]
