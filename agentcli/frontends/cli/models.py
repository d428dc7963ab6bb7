"""`agentcli models`: models with windows and prices, local ones, and new figures for the table."""

from __future__ import annotations

from typing import Annotated

import typer

from agentcli.program.command_line.flags import Json

Local = Annotated[bool, typer.Option("--local", help="list the models of servers on this machine")]
Refresh = Annotated[
    str,
    typer.Option("--refresh", metavar="[FILE|URL]", help="ask endpoints for their models; or take windows and prices from a list such as https://models.dev/api.json; off undoes that"),
]  # fmt: skip


Forget = Annotated[
    str,
    typer.Option("--forget", metavar="MODEL", help="forget the limits found for a model (all: for every one)"),
]


def list_models(json: Json = False, local: Local = False, refresh: Refresh = "", forget: Forget = "") -> None:
    """List models with context window and price.

    Windows and output limits are in tokens, prices in USD per million tokens.
    """
    from agentcli.frontends.cli import model_list

    model_list.list_models(json, local, refresh, forget)
