"""`agentcli acp`: the agent for editors that speak the Agent Client Protocol."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from agentcli.program.command_line.flags import taking_flags
from agentcli.program.options import Options


@taking_flags("acp")
def acp(
    given: dict[str, Any],
    attach: Annotated[
        str, typer.Option("--attach", metavar="SESSION", help="work in this session, which another program shares")
    ] = "",
) -> int:
    """Serve an editor over the Agent Client Protocol.

    The editor starts this command and talks to it on stdin and stdout: JSON-RPC, one message a line. See `agentcli help
    editors` for Zed and others.
    """
    from agentcli.frontends.acp.serve import serve

    return serve(Options(**given), attach)
