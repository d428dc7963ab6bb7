"""`agentcli sessions view`: a session as a page in the browser."""

from __future__ import annotations

from typing import Annotated

import typer

from agentcli.core.errors import InputError
from agentcli.program.command_line.flags import InProject
from agentcli.program.command_line.output import say
from agentcli.program.command_line.progress import Progress
from agentcli.program.options import Options


def view(
    selector: Annotated[
        str, typer.Argument(metavar="SESSION", help="id, unique prefix, or name (default: the newest)")
    ] = "",
    cwd: InProject = "",
) -> None:
    """Open a session's page in your browser.

    Without a browser, the path of the page is printed.
    """
    from agentcli.frontends.opening import project_of
    from agentcli.frontends.session_page import view as open_page

    context = project_of(Options(cwd=cwd))
    info = context.store.find(selector, context.project) if selector else context.store.newest(context.project)
    if info is None:
        raise InputError("This project has no session yet. See `agentcli sessions list --all`.")
    with Progress("Reading records") as progress:
        session = context.store.open(info.project_id, info.id, True, progress.of(info.records))
    say(open_page(session, context.dirs.cache, context.env))
