"""The server's process: a socket in the state folder, a local port on request, and the end by a signal."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from agentcli.core.errors import InputError
from agentcli.core.tasks import end_within, start_task
from agentcli.frontends.serve.access import FOLDER, TUNNEL, Access
from agentcli.frontends.serve.app import Server
from agentcli.frontends.serve.guard import Guard
from agentcli.frontends.serve.listing import listing_of
from agentcli.frontends.serve.new_sessions import Starter
from agentcli.frontends.serve.socket_path import SOCKET, is_private, linked_path, remove_socket, usable_path
from agentcli.program.command_line.output import say
from agentcli.program.project import Project
from agentcli.system.paths import folder

ENDS = 0.5
"""Seconds that open connections have after a signal; then they are cut off, whatever waits in them."""
LAST = 1.5
"""Seconds after a signal in which the process ends in any case."""
HEADERS = 5.0
"""Seconds in which a connection must send the headers of a request."""
CONNECTIONS = 300


def sockets(state: Path, port: int | None) -> Sequence[socket.socket]:
    """Open the socket in the folder `state`, and a port of 127.0.0.1 unless it is None.

    Port 0 is any free port. Raises InputError.
    """
    opened = [_local(folder(state))]
    if port is not None:
        opened.append(_port(port))
    return opened


def serve_project(project: Project, port: int | None, names: tuple[str, ...], read_only: bool) -> int:
    """Serve the sessions of a project's user, also under other host names, and print a login link.

    Return the exit code. Raises InputError if the socket or the port is taken.
    """
    opened = sockets(project.dirs.state / FOLDER, port)
    access = Access(project.dirs.state, opened[1].getsockname()[1] if port is not None else 0)
    listing = listing_of(project, "the page")
    server = Server(listing, access, Starter(listing.machine, project.cwd, project.env))

    def ready() -> None:
        if port is None:
            say(f"Forward the socket from your own machine: ssh -L {TUNNEL}:{opened[0].getsockname()} THIS-MACHINE")
        say(f"Open {access.address}/#login={access.link(read_only)}")
        say("The link works once, within 5 minutes. Ctrl-C ends the server; sessions continue.")
        sys.stdout.flush()  # a script may wait for the link

    return serve(server.app(names), opened, ready)


def serve(app: Guard, opened: Sequence[socket.socket], ready: Callable[[], object]) -> int:
    """Answer requests until a signal; return the exit code."""
    server = _Server(_config(app))
    local = Path(opened[0].getsockname())

    async def run() -> None:
        serving = start_task(server.serve(sockets=list(opened)))
        while not (server.started or serving.done()):  # noqa: ASYNC110 - uvicorn tells it by this field
            await asyncio.sleep(0.01)
        if not serving.done():
            ready()
        await serving

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, server.handle_exit)
    try:
        asyncio.run(run())
    finally:
        for each in opened:
            each.close()
        if is_private(local):  # another server may have its own at the usual path by now
            remove_socket(local)
    return 0


class _Server(uvicorn.Server):
    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin the end at the first signal; later ones change nothing.

        Neither a thread that reads a store nor a blocked loop delays it.
        """
        if not self.should_exit:
            self.should_exit = True
            end_within(LAST, 0)


class _Connection(H11Protocol):
    """A connection that closes if a request's headers are late.

    It never outlives the server, even if its client does not read.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn has it
        super().connection_made(transport)
        self._late: asyncio.TimerHandle | None = None
        self._expect()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._unexpect()

    def shutdown(self) -> None:
        super().shutdown()
        self.loop.call_later(ENDS, self.transport.abort)

    def _expect(self) -> None:
        """Start the time limit for headers, unless it runs already or a request is being answered."""
        if self.cycle is not None and not self.cycle.response_complete:
            self._unexpect()
        elif self._late is None:
            self._late = self.loop.call_later(HEADERS, self.transport.abort)

    def _unexpect(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None


def _config(app: Guard) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=_Connection,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=CONNECTIONS,
        h11_max_incomplete_event_size=32_768,
        timeout_graceful_shutdown=1,
    )


def _local(place: Path) -> socket.socket:
    os.chmod(place, 0o700)
    path = place / SOCKET
    if os.path.lexists(path):
        former = linked_path(path)
        if _answers(former):
            raise InputError("A server is running already. `agentcli serve link` prints a link to its page.")
        path.unlink(missing_ok=True)
        if is_private(former):
            remove_socket(former)
    made, usable = socket.socket(socket.AF_UNIX), path
    try:
        usable = usable_path(path)
        made.bind(str(usable))
        os.chmod(usable, 0o600)
        made.listen(128)
        if usable != path:
            path.symlink_to(usable)
    except OSError as error:
        made.close()
        if is_private(usable):
            remove_socket(usable)
        raise InputError(f"Can't listen on {path}: {error.strerror}.") from error
    return made


def _port(port: int) -> socket.socket:
    made = socket.socket(socket.AF_INET)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind(("127.0.0.1", port))
        made.listen(128)
    except (OSError, OverflowError) as error:
        made.close()
        raise InputError(
            f"Can't listen on port {port}: {getattr(error, 'strerror', error)}. Choose another --port."
        ) from error
    return made


def _answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as tried:
        try:
            tried.connect(str(path))
        except OSError:
            return False
    return True
