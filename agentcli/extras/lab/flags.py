"""Options of `agentcli context compare`."""

from __future__ import annotations

from typing import Annotated

import typer

from agentcli.core.dataclass import dataclass
from agentcli.program.command_line.flags import InProject, Json, OfModel, Set

HORIZONS_HELP = "also play auto with each of these compact_horizons, such as 0,5,80"
Policies = Annotated[
    str, typer.Option("--policies", metavar="NAMES", help="policies, separated by commas (default: all)")
]


@dataclass(frozen=True, slots=True)
class CompareFlags:
    """The flags of `agentcli context compare`."""

    policies: Policies = ""
    json: Json = False
    svg: Annotated[
        str, typer.Option("--svg", metavar="FILE", help="write a plot of the first session to this file")
    ] = ""
    summariser: Annotated[
        str, typer.Option("--summariser", metavar="MODEL", help="write summaries with this model (costs money)")
    ] = ""
    points: Annotated[
        str,
        typer.Option("--points", metavar="FILE", help="write the bars of the prices to this file, as SVG"),
    ] = ""
    horizons: Annotated[str, typer.Option("--horizons", metavar="NUMBERS", help=HORIZONS_HELP)] = ""
    html: Annotated[
        str, typer.Option("--html", metavar="FILE", help="write a page with tables and plots to this file")
    ] = ""
    model: OfModel = ""
    settings: Set = None
    cwd: InProject = ""
