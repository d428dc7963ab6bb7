"""Options of `agentcli context compare`."""

from __future__ import annotations

from typing import Annotated

import typer

from agentcli.core.dataclass import dataclass
from agentcli.program.command_line.flags import InProject, Json, OfModel, Set

HORIZONS = "0,5,80"
"""Horizons that get their own point when all policies are compared."""
HORIZONS_HELP = f"also play auto with each of these compact_horizons; default with all policies: {HORIZONS}"
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
        typer.Option("--points", metavar="FILE", help="write a plot of price against what is in view to this file"),
    ] = ""
    horizons: Annotated[str, typer.Option("--horizons", metavar="NUMBERS", help=HORIZONS_HELP)] = ""
    html: Annotated[
        str, typer.Option("--html", metavar="FILE", help="write a page with tables and plots to this file")
    ] = ""
    model: OfModel = ""
    settings: Set = None
    cwd: InProject = ""
