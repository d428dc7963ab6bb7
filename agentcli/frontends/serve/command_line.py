"""`agentcli ps`, `agentcli attach` and `agentcli serve`."""

from __future__ import annotations

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

    A shared session (`/remote on`, `ui.remote`, `--bg`) reports its state. Otherwise its newest record shows it.
    Background sessions stay listed after their end. `agentcli agents` is the same list, to answer in.
    """
    import asyncio

    from agentcli.frontends.serve.listing import STATES, listing_of

    rows = asyncio.run(listing_of(project_of(Options()), "agentcli ps").rows())
    if json:
        say_json([each.to_json() for each in rows])
    elif not rows:
        say("No session is open.")
    else:
        print_table(
            _COLUMNS,
            [
                [
                    each.name or each.session,
                    STATES[each.state] + ("" if each.shared or each.background else "?"),
                    each.folder,
                    "" if each.cost is None else f"{each.cost:.2f}",
                    str(each.pid or ""),
                    each.error or each.last or each.title,
                ]
                for each in rows
            ],
        )


def attach(
    session: Annotated[str, typer.Argument(metavar="SESSION", help="id, unique prefix, or name")],
    read_only: Annotated[bool, typer.Option("--read-only", help="only follow; answer and send nothing")] = False,
) -> int:
    """Follow a running session, answer its questions, steer and stop it.

    Lines that you type go to the session. Ctrl-C stops its turn, Ctrl-D detaches; the session continues.
    """
    from agentcli.frontends.serve.attach import attach_to

    return attach_to(_machine("agentcli attach"), session, read_only)


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
    from agentcli.frontends.serve.listening import serve_project

    return serve_project(project_of(Options()), port, tuple(name or ()), read_only)


@serve.command("link")
def serve_link(read_only: ReadOnly = False) -> None:
    """Print another login link of the server that runs."""
    from agentcli.frontends.serve.access import new_link

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


def _machine(name: str) -> Machine:
    from agentcli.frontends.serve.machine import machine_of

    return machine_of(project_of(Options()), name)
