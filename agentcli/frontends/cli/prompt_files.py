"""`agentcli skills` and `agentcli agents`: list the definitions in files, and validate a skill's folder."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agentcli.core.sanitise import display_path, safe, safe_line
from agentcli.core.text.words import none_of
from agentcli.frontends.opening import project_of
from agentcli.program.command_line.flags import InFolder, Json, Trust
from agentcli.program.command_line.output import say_json
from agentcli.program.command_line.printing import Column, print_styled, print_table
from agentcli.program.options import Options

if TYPE_CHECKING:
    from agentcli.agent.project.places import Place
    from agentcli.agent.project.prompt_files import AgentKind, PromptFiles, Skill
    from agentcli.program.project import Project

skills = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
agents = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


@skills.command("list")
def list_skills(json: Json = False, cwd: InFolder = "", trust: Trust = False) -> None:
    """List the skills available in this folder."""
    _list("skills", [(one, one.place, one.folder) for one in _found(cwd, trust).skills.values()], json)


@skills.command("check")
def check_skill(folder: Annotated[str, typer.Argument(metavar="DIR", help="the folder of the skill")]) -> int:
    """Check a skill's folder against the specification (agentskills.io).

    agentcli itself is less strict: it skips only skills without a description.
    """
    from agentcli.program.prompt_files.skills import check

    errors = check(Path(folder))
    for error in errors:
        print_styled([(safe_line(error), "")])
    if not errors:
        print_styled([(f"{display_path(Path(folder))} is a valid skill.", "")])
    return 1 if errors else 0


@agents.command("show")
def show_agents(json: Json = False) -> int:
    """Show all sessions of this machine by what they want.

    Keys answer their questions, open, merge and resume them. Without a terminal it prints what `agentcli ps` prints.
    """
    from agentcli.frontends.cli.launch import has_terminal

    if json or not has_terminal():
        from agentcli.frontends.serve.command_line import ps

        ps(json)
        return 0
    from agentcli.frontends.agents import screen
    from agentcli.frontends.serve.listing import listing_of

    project = project_of(Options())
    return screen.show_agents(project, listing_of(project, "agentcli agents"))


@agents.command("list")
def list_agents(json: Json = False, cwd: InFolder = "", trust: Trust = False) -> None:
    """List the agents available in this folder."""
    found = _found(cwd, trust).agents.values()
    _list("agents", [(one, one.place, one.file) for one in found if one.place and one.file], json)


def _found(cwd: str, trust: bool) -> PromptFiles:
    """Return the extensions of a folder; print the notes about them on stderr."""
    project = project_of(Options(cwd=cwd, trust=trust))
    for note in [*_not_read(project), *project.prompt_files.notes]:
        print(f"agentcli: {safe(note)}", file=sys.stderr)
    return project.prompt_files


def _not_read(project: Project) -> list[str]:
    """Return a note about the project's files that are skipped because its folder is not trusted, if there are any."""
    if project.trusted:
        return []
    from agentcli.program.trust import repository, what_it_would_load

    root = repository(project.cwd)
    found = what_it_would_load(project.cwd)
    files = [os.path.relpath(one.path, root) for one in found if one.kind in ("skills", "commands", "agents")]
    return (
        [f"These were not read, since this folder is not trusted: {', '.join(files)}. --trust reads them."]
        if files
        else []
    )


def _list(kind: str, found: Sequence[tuple[Skill | AgentKind, Place, Path]], json: bool) -> None:
    """Print each with its place and its own path."""

    if json:
        keys = ("name", "description", "path", "scope")
        values = ((one.name, one.description, str(path), place.scope) for one, place, path in found)
        say_json([dict(zip(keys, each, strict=True)) for each in values])
    elif not found:
        print_styled([(none_of(kind, kind), "")])
    else:
        columns = (Column("name", style="bold"), Column("from"), Column("description", wraps=True), Column("path"))
        rows = [(one.name, place.scope, one.description, display_path(path)) for one, place, path in found]
        print_table(columns, [[safe_line(" ".join(cell.split()))[:200] for cell in row] for row in rows])
