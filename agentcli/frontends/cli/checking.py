"""`agentcli sessions check`: finds damage in the store, and repairs it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from agentcli.core.text.words import plural
from agentcli.frontends.opening import project_of
from agentcli.program.command_line.flags import InProject, Json
from agentcli.program.command_line.output import say, say_json
from agentcli.program.command_line.progress import Progress
from agentcli.program.options import Options

if TYPE_CHECKING:
    from agentcli.program.project import Project
    from agentcli.sessions.integrity import Report

DAY = 86_400.0


def check(
    selector: Annotated[str, typer.Argument(metavar="SESSION", help="default: all of this project")] = "",
    repair: Annotated[
        bool, typer.Option("--repair", help="repair what can be repaired; damaged files are set aside")
    ] = False,
    json: Json = False,
    cwd: InProject = "",
) -> None:
    """Check sessions for damage; --repair fixes them."""
    from agentcli.sessions.integrity import check as examine
    from agentcli.sessions.integrity import repair as mend
    from agentcli.sessions.integrity import report_to_json

    context = project_of(Options(cwd=cwd))
    infos = [context.store.find(selector, context.project)] if selector else context.store.list(context.project)
    work = mend if repair else examine
    with Progress("Checking records") as progress:
        through = progress.of(sum(info.records for info in infos))
        whole: set[tuple[int, int]] = set()  # sessions of a project share most contents
        reports = [work(context.store.folder(info), through=through, whole=whole) for info in infos]
    left = [] if selector else _unfinished(context, repair)
    if json:
        say_json([report_to_json(report) for report in (*reports, *left)])
    else:
        for report in (*reports, *left):
            for problem in report.problems:
                say(f"{report.session}: {problem.message}")
            for done in report.repaired:
                say(f"{report.session}: {done}")
        say(f"{sum(report.ok for report in reports)} of {plural(len(reports), 'session')} OK.")
    if not all(report.ok for report in reports):
        raise typer.Exit(1)


def _unfinished(context: Project, repair: bool) -> Sequence[Report]:
    """Report leftovers of killed forks and imports in this project."""
    from agentcli.sessions.copying import abandoned
    from agentcli.sessions.integrity import unfinished
    from agentcli.sessions.settings import Retention

    folders = [context.store.root / each for each in context.project.ids]
    if not any(abandoned(folder) for folder in folders):
        return ()
    days = context.config[Retention].leftover_days
    reports = [report for folder in folders for report in unfinished(folder, days * DAY, mend=repair)]
    if any(not report.repaired for report in reports):
        age = f"after {days:g} days"
        print(f"note: `agentcli sessions sweep` removes the files of a killed fork or import {age}.", file=sys.stderr)
    return reports
