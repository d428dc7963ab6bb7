"""`agentcli sessions check`: finds damage in the store, and mends it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from agentcli.app.options import Options
from agentcli.app.project import ProjectContext
from agentcli.cli.output import say, say_json
from agentcli.sessions.copying import abandoned

if TYPE_CHECKING:
    from agentcli.sessions.integrity import Report

DAY = 86_400.0


def check(
    selector: Annotated[str, typer.Argument(metavar="SESSION")] = "",
    repair: Annotated[
        bool, typer.Option("--repair", help="mend what can be mended; damaged files are kept aside")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
    cwd: Annotated[str, typer.Option("-C", "--cwd", help="the folder whose project is meant")] = "",
) -> None:
    """Look for damage in one session, or in all of this project."""
    from agentcli.sessions.integrity import check as examine
    from agentcli.sessions.integrity import repair as mend
    from agentcli.sessions.integrity import report_to_json

    context = ProjectContext(Options(cwd=cwd))
    infos = [context.store.find(selector, context.project)] if selector else context.store.list(context.project)
    reports = [(mend if repair else examine)(context.store.folder(info)) for info in infos]
    left = [] if selector else _unfinished(context, repair)
    if json:
        say_json([report_to_json(report) for report in (*reports, *left)])
    else:
        for report in (*reports, *left):
            for problem in report.problems:
                say(f"{report.session}: {problem.message}")
            for done in report.repaired:
                say(f"{report.session}: {done}")
        say(f"{sum(report.ok for report in reports)} of {len(reports)} sessions are sound.")
    if not all(report.ok for report in reports):
        raise typer.Exit(1)


def _unfinished(context: ProjectContext, repair: bool) -> Sequence[Report]:
    """Reports of leftovers of killed forks and imports in this project."""
    from agentcli.sessions.integrity import unfinished

    folders = [context.store.root / each for each in context.project.ids]
    if not any(abandoned(folder) for folder in folders):
        return ()
    days = context.config.retention.leftover_days
    reports = [report for folder in folders for report in unfinished(folder, days * DAY, mend=repair)]
    if any(not report.repaired for report in reports):
        removal = f"removed by `agentcli sessions sweep` once it is {days:g} days old"
        print(f"note: what a killed fork or import left is {removal}.", file=sys.stderr)
    return reports
