"""`agentcli context compare` compares policies; `agentcli stats what-if` shows what a session costs with another model."""

from __future__ import annotations

from typing import Annotated

import typer

from agentcli.extras.lab.flags import CompareFlags
from agentcli.program.command_line.flags import InProject, Json, Set, taking

Sessions = Annotated[list[str], typer.Argument(metavar="SESSION", help="ids, unique prefixes, or names")]


@taking(CompareFlags)
def compare(sessions: Sessions, asked: CompareFlags) -> None:
    """Replay sessions under several policies; needs no key.

    The provider's cache is emulated.
    """
    from agentcli.extras.lab import commands

    commands.compare(sessions, asked)


Session = Annotated[str, typer.Argument(metavar="SESSION", help="id, unique prefix, or name")]
OtherModel = Annotated[
    str, typer.Option("-m", "--model", metavar="MODEL", help="provider/model or alias to compare with")
]


def what_if(
    session: Session, model: OtherModel = "", json: Json = False, settings: Set = None, cwd: InProject = ""
) -> None:
    """Show a session's cost with another model.

    Its prices and cache rules are applied to the session's requests; needs no key.
    """
    from agentcli.extras.lab import commands

    commands.what_if(session, model, json, settings, cwd)
