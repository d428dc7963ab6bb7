"""`agentcli import-config`: servers, hooks, rules, instructions and commands of other programs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agentcli.core.errors import UsageError
from agentcli.core.text.near import did_you_mean, near_names
from agentcli.core.text.plural import plural
from agentcli.extras.importers.config import PROGRAMS
from agentcli.program.command_line.confirming import confirmed
from agentcli.program.command_line.output import say, say_json
from agentcli.program.options import Options

if TYPE_CHECKING:
    from agentcli.extras.importers.config.import_run import ImportPlan


def import_config(
    programs: Annotated[
        list[str] | None, typer.Argument(metavar="PROGRAM", help=f"{', '.join(PROGRAMS)}; all without one")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="only print the plan")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="write without asking")] = False,
    json: Annotated[bool, typer.Option("--json", help="print the plan as JSON")] = False,
    cwd: Annotated[str, typer.Option("-C", "--cwd", metavar="DIR", help="import what is set for this folder")] = "",
) -> None:
    """Import the configuration of other programs.

    It imports servers, hooks, rules and instructions: it prints a plan, asks, and writes only agentcli's own files, where nothing is overwritten. Secrets are not
    copied: variables take their place. It can be run again.
    """
    from agentcli.extras.importers.config.import_run import carry_out, import_plan, lines
    from agentcli.frontends.opening import program_of

    for name in programs or ():
        if name not in PROGRAMS:
            near = did_you_mean(near_names(name, PROGRAMS)) or f" There are: {', '.join(PROGRAMS)}."
            raise UsageError(f"There is no program {name!r} to import from.{near}")
    program = program_of(Options(cwd=cwd))
    plan = import_plan(program, programs or list(PROGRAMS))
    if json:
        say_json(_as_json(plan))
    else:
        for line in lines(plan):
            say(line)
    if dry_run or not plan.new or not (yes or _agreed()):
        return
    carry_out(plan, program.dirs.config)
    if not json:
        say(f"Wrote {plural(len(plan.new), 'item')} to {program.dirs.config}.")


def _as_json(plan: ImportPlan) -> dict[str, Any]:
    steps = [
        {"from": step.item.source, "to": step.item.to, "key": step.item.key, "status": step.status}
        for step in plan.steps
    ]
    return {"steps": steps, "skipped": list(plan.skipped)}


def _agreed() -> bool:
    if not sys.stdin.isatty():
        raise UsageError("No terminal to confirm: add --yes to write, or --dry-run to only see the plan.")
    return confirmed("Write this?")
