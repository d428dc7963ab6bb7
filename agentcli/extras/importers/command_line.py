"""`agentcli sessions import` and `agentcli import-config`: sessions and configurations of other programs."""

from __future__ import annotations

from typing import Annotated

import typer

from agentcli.extras.importers.config import PROGRAMS
from agentcli.extras.importers.flags import ImportFlags
from agentcli.program.command_line.flags import taking


@taking(ImportFlags)
def import_sessions(asked: ImportFlags) -> None:
    """Import sessions of agentcli and other agents.

    It reads sessions of agentcli, Claude Code, Codex, Gemini CLI, opencode and pi, each once. PATH is a session file, a folder of them, or - for stdin; --from finds those that a program keeps.
    """
    from agentcli.extras.importers import commands

    commands.import_sessions(asked)


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

    It imports servers, hooks, rules and instructions. It prints a plan, asks, and writes only agentcli's own files. It
    overwrites nothing. Secrets are not copied: variables take their place. It can be run again.
    """
    from agentcli.extras.importers import commands

    commands.import_config(programs, dry_run, yes, json, cwd)
