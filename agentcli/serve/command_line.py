"""`agentcli ps` and `agentcli attach`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from agentcli.app.options import Options
from agentcli.cli.flags import Json
from agentcli.cli.output import say, say_json
from agentcli.cli.printing import Column, print_table

if TYPE_CHECKING:
    from agentcli.serve.machine import Machine

_COLUMNS = (
    Column("session", style="dim"),
    Column("state"),
    Column("folder", from_width=80),
    Column("cost $", numeric=True, from_width=70),
    Column("pid", numeric=True, from_width=90),
    Column("last words", fills=True),
)


def ps(json: Json = False) -> None:
    """List the sessions that run on this machine: state, folder, cost, last words.

    A session that is shared (`/remote on`, or the setting `ui.remote`) says itself if it works, waits for an answer, or is idle; of
    others the state is judged by their newest record.
    """
    import asyncio

    machine = machine_here()
    running = asyncio.run(machine.running())
    if json:
        say_json([each.to_json() for each in running])
    elif not running:
        say("No session is open.")
    else:
        print_table(
            _COLUMNS,
            [
                [
                    each.name or each.session,
                    _STATES[each.state] + ("" if each.shared else "?"),
                    each.folder,
                    "" if each.cost is None else f"{each.cost:.2f}",
                    each.pid or "",
                    each.last or each.title,
                ]
                for each in running
            ],
        )


_STATES = {"works": "works", "waits": "waits for an answer", "idle": "idle", "ended": "ended"}


def attach(
    session: Annotated[str, typer.Argument(metavar="SESSION", help="id, unique prefix, or name")],
    read_only: Annotated[bool, typer.Option("--read-only", help="only follow; answer and send nothing")] = False,
) -> int:
    """Follow a running session, answer its questions, steer and stop it.

    Lines that you type go to the session. Ctrl-C stops its turn, Ctrl-D detaches; the session continues.
    """
    import asyncio

    from agentcli.serve.attach import Attached

    machine = machine_here()
    info = machine.store.find(session)
    return asyncio.run(Attached(machine, info, read_only=read_only).run())


def machine_here() -> Machine:
    """Return the sessions of this user on this machine."""
    from agentcli.app.project import ProjectContext
    from agentcli.core.text.secrets import known_secrets
    from agentcli.serve.machine import Machine
    from agentcli.sessions.exporting.redactor import Redactor

    context = ProjectContext(Options())
    return Machine(context.store, context.dirs.state, Redactor(known_secrets(context.env)), "agentcli attach")
