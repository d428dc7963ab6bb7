"""`agentcli ps`, `agentcli attach` and `agentcli serve`."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agentcli.frontends.opening import project_of
from agentcli.program.command_line.flags import InFolder, Json, taking_flags
from agentcli.program.command_line.output import say, say_json
from agentcli.program.command_line.printing import Column, print_table
from agentcli.program.options import Options

if TYPE_CHECKING:
    from agentcli.frontends.serve.machine import Machine

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

    A shared session (`/remote on`, or the setting `ui.remote`) reports whether it works, waits for an answer, or is
    idle. The newest record shows the state of any other session.
    """
    import asyncio

    machine = machine_here("agentcli ps")
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
                    str(each.pid or ""),
                    each.last or each.title,
                ]
                for each in running
            ],
        )


_STATES = {"works": "works", "waits": "needs your answer", "idle": "idle", "ended": "ended"}


def attach(
    session: Annotated[str, typer.Argument(metavar="SESSION", help="id, unique prefix, or name")],
    read_only: Annotated[bool, typer.Option("--read-only", help="only follow; answer and send nothing")] = False,
) -> int:
    """Follow a running session, answer its questions, steer and stop it.

    Lines that you type go to the session. Ctrl-C stops its turn, Ctrl-D detaches; the session continues.
    """
    import asyncio

    from agentcli.frontends.serve.attach import Attached

    machine = machine_here("agentcli attach")
    info = machine.named(session)
    return asyncio.run(Attached(machine, info, read_only=read_only).run())


serve = typer.Typer(no_args_is_help=False, rich_markup_mode=None)

Port = Annotated[
    int | None,
    typer.Option("--port", metavar="N", min=0, max=65535, help="listen on this port of 127.0.0.1, too; 0: any"),
]
Names = Annotated[
    list[str] | None,
    typer.Option("--name", metavar="HOST", help="another host name of this machine, of a tunnel; repeatable"),
]
ReadOnly = Annotated[bool, typer.Option("--read-only", help="a link that can only read")]


@serve.command("run")
def serve_run(port: Port = None, name: Names = None, read_only: ReadOnly = False) -> int:
    """Serve a page with the sessions of this machine, until Ctrl-C.

    It listens on a socket in the state folder, which ssh can forward; with --port on 127.0.0.1, too. The printed link logs one browser in,
    once and within 5 minutes; `agentcli serve link` prints another. See `agentcli help serve`.
    """
    from agentcli.frontends.serve.access import FOLDER, TUNNEL, Access
    from agentcli.frontends.serve.app import Server
    from agentcli.frontends.serve.listening import serve as listen
    from agentcli.frontends.serve.listening import sockets
    from agentcli.frontends.serve.new_sessions import Starter

    context = project_of(Options())
    place = context.dirs.state / FOLDER
    opened = sockets(place, port)
    listening = opened[1].getsockname()[1] if port is not None else 0
    access, machine = Access(context.dirs.state, listening), machine_here("the page")
    server = Server(machine, access, Starter(machine, context.cwd, context.env))
    code = partial(access.link, read_only)

    def ready() -> None:
        if port is None:
            say(f"Forward the socket from your own machine: ssh -L {TUNNEL}:{opened[0].getsockname()} THIS-MACHINE")
        say(f"Open {access.address}/#login={code()}")
        say("The link works once, within 5 minutes. Ctrl-C ends the server; sessions continue.")
        sys.stdout.flush()  # a script may wait for the link

    return listen(server.app(tuple(name or ())), opened, ready)


@serve.command("link")
def serve_link(read_only: ReadOnly = False) -> None:
    """Print another login link of the server that runs."""
    from agentcli.frontends.serve.links import new_link

    say(new_link(project_of(Options()).dirs.state, read_only))


@serve.command("session", hidden=True)
@taking_flags("acp")
def serve_session(
    given: dict[str, Any],
    cwd: InFolder = "",
    resume: Annotated[str, typer.Option("--resume", metavar="SESSION", help="resume this session")] = "",
    session_id: Annotated[str, typer.Option("--id", metavar="ID", help="give the new session this id")] = "",
) -> int:
    """Run a session without a terminal, driven from elsewhere."""
    from agentcli.frontends.serve.hosted import host_session

    return host_session(Options(**(given | {"cwd": cwd, "session": resume or None, "session_id": session_id})))


def machine_here(name: str) -> Machine:
    """Return this user's sessions on this machine; `name` is how sessions see the client."""
    from agentcli.core.text.secrets import known_secrets
    from agentcli.frontends.serve.machine import Machine
    from agentcli.sessions.exporting.redactor import Redactor

    context = project_of(Options())
    return Machine(context.store, context.dirs.state, Redactor(known_secrets(context.env)), name)
