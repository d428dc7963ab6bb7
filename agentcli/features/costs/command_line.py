"""`agentcli stats`: totals over sessions, and what a session would have cost with another model."""

from __future__ import annotations

from datetime import date
from enum import StrEnum
from typing import Annotated

import typer

from agentcli.core.errors import UsageError
from agentcli.program.command_line import program_of
from agentcli.program.command_line.flags import AllProjects, InFolder, Json
from agentcli.program.extras import extra
from agentcli.program.options import Options

app = typer.Typer(no_args_is_help=False, rich_markup_mode=None)


class By(StrEnum):
    """The groups of sums."""

    DAY = "day"
    PROJECT = "project"
    MODEL = "model"
    TOOL = "tool"
    ACCOUNT = "account"


Grouped = Annotated[
    By | None, typer.Option("--by", help="sum up the requests in the records by day, project, model, tool or account")
]
Since = Annotated[
    str, typer.Option("--since", metavar="DAY", help="with --by: only requests from this day on (2026-01-31)")
]
Csv = Annotated[bool, typer.Option("--csv", help="print comma-separated values")]


@app.command()
def show(
    by: Grouped = None,
    since: Since = "",
    csv: Csv = False,
    json: Json = False,
    all: AllProjects = False,
    cwd: InFolder = "",
) -> None:
    """Show sums per model and day, or exact ones with --by."""
    from agentcli.features.costs import totals

    if csv and json:
        raise UsageError("Use either --csv or --json.")
    program = program_of(Options(cwd=cwd))
    if by is not None or csv or since:
        totals.show_sums(program, (by or By.DAY).value, _day(since), csv, json, all)
    else:
        totals.show_stats(program, json, all)


app.command("what-if")(extra("agentcli stats what-if"))


def _day(since: str) -> str:
    """Return a day in ISO form. Raises UsageError."""
    try:
        return date.fromisoformat(since).isoformat() if since else ""
    except ValueError:
        raise UsageError(f"{since!r} is not a date. Use the form 2026-01-31.") from None
