"""`agentcli skills` and `agentcli agents`: what files define, and whether a skill's folder is valid."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from agentcli.app.options import Options
from agentcli.app.project import ProjectContext
from agentcli.app.trust import repository, what_it_would_load
from agentcli.cli.output import say_json
from agentcli.cli.printing import Column, print_styled, print_table
from agentcli.core.sanitise import safe, safe_line
from agentcli.integrations.extensions.discover import Extensions
from agentcli.integrations.extensions.places import shown
from agentcli.integrations.extensions.skills import check

skills = typer.Typer(help="List and check skills.", no_args_is_help=True, rich_markup_mode=None)
agents = typer.Typer(help="List the agents that files define.", no_args_is_help=True, rich_markup_mode=None)

Json = Annotated[bool, typer.Option("--json", help="print JSON")]
Cwd = Annotated[str, typer.Option("-C", "--cwd", metavar="DIR", help="use this folder instead of the current one")]
Trust = Annotated[bool, typer.Option("--trust", help="trust the folder for this run")]


@skills.command("list")
def list_skills(json: Json = False, cwd: Cwd = "", trust: Trust = False) -> None:
    """List the skills that a session here would have."""
    found = _found(cwd, trust)
    if json:
        say_json(
            [
                {"name": one.name, "description": one.description, "path": str(one.folder), "scope": one.place.scope}
                for one in found.skills.values()
            ]
        )
        return
    _print([[one.name, one.place.scope, one.description, shown(one.folder)] for one in found.skills.values()])


@skills.command("check")
def check_skill(folder: Annotated[str, typer.Argument(metavar="DIR", help="the folder of the skill")]) -> int:
    """Check a skill's folder against the specification (agentskills.io).

    agentcli itself takes more than that: only a skill without a description is left out.
    """
    errors = check(Path(folder))
    for error in errors:
        print_styled([(safe_line(error), "")])
    if not errors:
        print_styled([(f"{shown(Path(folder))} is a valid skill.", "")])
    return 1 if errors else 0


@agents.command("list")
def list_agents(json: Json = False, cwd: Cwd = "", trust: Trust = False) -> None:
    """List the agents that a session here would have."""
    found = _found(cwd, trust)
    if json:
        say_json(
            [
                {"name": one.name, "description": one.description, "path": str(one.file), "scope": one.place.scope}
                for one in found.agents.values()
                if one.place is not None
            ]
        )
        return
    rows = [
        [one.name, one.place.scope if one.place else "", one.description, shown(one.file)]
        for one in found.agents.values()
        if one.file
    ]
    _print(rows)


def _found(cwd: str, trust: bool) -> Extensions:
    """The extensions of a folder; the notes about them go to stderr."""
    project = ProjectContext(Options(cwd=cwd, trust=trust))
    for note in [*_not_read(project), *project.extensions.notes]:
        print(f"agentcli: {safe(note)}", file=sys.stderr)
    return project.extensions


def _not_read(project: ProjectContext) -> list[str]:
    """A note of the project's files that are left out because its folder is not trusted, if there are any."""
    if project.trusted:
        return []
    root = repository(project.cwd)
    found = what_it_would_load(project.cwd)
    files = [os.path.relpath(one.path, root) for one in found if one.kind in ("skills", "commands", "agents")]
    return (
        [f"These were not read, since this folder is not trusted: {', '.join(files)}. --trust reads them."]
        if files
        else []
    )


def _print(rows: list[list[str]]) -> None:
    if not rows:
        print_styled([("There are none here.", "")])
        return
    columns = (Column("name", style="bold"), Column("from"), Column("description", wraps=True), Column("path"))
    print_table(columns, [[safe_line(" ".join(cell.split()))[:200] for cell in row] for row in rows])
