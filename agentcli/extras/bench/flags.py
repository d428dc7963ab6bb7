"""Options of `agentcli bench run`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from agentcli.core.dataclass import dataclass
from agentcli.program.command_line.flags import Json, MaxCost, Trust

Models = Annotated[
    list[str] | None,
    typer.Option("-m", "--model", metavar="MODEL", help="provider/model or alias; several are compared"),
]
Jobs = Annotated[int, typer.Option("-j", "--workers", min=1, metavar="N", help="runs at the same time")]


@dataclass(frozen=True, slots=True)
class BenchFlags:
    """The options of `agentcli bench run`."""

    set: Annotated[
        str, typer.Argument(metavar="SET", help="a folder of tasks, or own: the set that comes with agentcli")
    ] = "own"
    models: Models = None
    repeat: Annotated[int, typer.Option(min=1, metavar="N", help="run each task N times")] = 1
    prompts: Annotated[
        list[str] | None,
        typer.Option("--prompt", metavar="FILE", help="a system prompt, or built-in; several are compared"),
    ] = None
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="change a setting; several values of one are compared"),
    ] = None
    only: Annotated[str, typer.Option(metavar="IDS", help="run only these tasks, separated by commas")] = ""
    against: Annotated[
        str, typer.Option("--against", metavar="RUN", help="compare with LAST, a run, or the file of its results")
    ] = ""
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="folder of the run (default: in the data folder)")
    ] = None
    yes: Annotated[bool, typer.Option("-y", "--yes", help="do not ask about the cost")] = False
    workers: Jobs = 4
    max_cost: MaxCost = None
    cap: Annotated[
        float | None, typer.Option("--max-cost-total", min=0, metavar="USD", help="stop at this total cost in USD")
    ] = None
    unboxed: Annotated[bool, typer.Option("--unboxed", help="run without the sandbox")] = False
    trust: Trust = False
    dry: Annotated[bool, typer.Option("--dry-run", help="show what would run and its cost, start nothing")] = False
    json: Json = False
