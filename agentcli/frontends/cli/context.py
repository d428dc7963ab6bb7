"""`agentcli context`: what fills the window, what a policy would do, and how policies compare."""

from __future__ import annotations

from typing import Annotated

import typer

from agentcli.program.command_line.flags import InProject, Json, OfModel, Set
from agentcli.program.extras import extra

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)

Session = Annotated[str, typer.Argument(metavar="SESSION", help="id, unique prefix, or name (default: the newest)")]
Policy = Annotated[
    str, typer.Option("-p", "--policy", metavar="POLICY", help="auto, gemini, opencode, regions, sliding or native")
]


@app.command()
def show(
    session: Session = "", json: Json = False, model: OfModel = "", settings: Set = None, cwd: InProject = ""
) -> None:
    """Show what fills the context window of a session."""
    from agentcli.frontends.cli import window_printing

    window_printing.show(session, json, model, settings, cwd)


@app.command()
def plan(
    session: Session = "",
    policy: Policy = "",
    force: Annotated[bool, typer.Option("--force", help="plan what /compress would do")] = False,
    json: Json = False,
    model: OfModel = "",
    settings: Set = None,
    cwd: InProject = "",
) -> None:
    """Show what compaction would do now; calls no model."""
    from agentcli.frontends.cli import window_printing

    window_printing.plan(session, policy, force, json, model, settings, cwd)


app.command()(extra("agentcli context compare"))
