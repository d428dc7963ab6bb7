"""Connection to a client on stdin and stdout, from its beginning to its end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from typing import Any, cast

from acp.agent.connection import AgentSideConnection

from agentcli.core.errors import HANGUP, INTERRUPTED, TERMINATED, InputError
from agentcli.core.tasks import end_within, start_task
from agentcli.frontends.acp.agent import EditorAgent
from agentcli.frontends.acp.elsewhere import machine_of
from agentcli.frontends.acp.host import EditorHost
from agentcli.frontends.acp.stdio import StdioTransport
from agentcli.frontends.opening import program_of
from agentcli.program.options import Options
from agentcli.program.retention import sweep_later
from agentcli.system.logs import log_to

END_SECONDS = 1.5
"""Seconds for running turns to end after the client disconnects; their records are safe in any case."""
_SIGNALS = {signal.SIGINT: INTERRUPTED, signal.SIGTERM: TERMINATED, signal.SIGHUP: HANGUP}


def serve(options: Options, attach: str = "") -> int:
    """Serve an editor until it disconnects; return the exit code: 0, 42 for invalid input, or a signal's code.

    `attach` is the shared session in which the editor works, if any.
    """
    program = program_of(options)
    log_to(program.dirs, program.env, enabled=not options.no_session)
    if not options.no_session:
        sweep_later(program)
    if attach:
        attach = machine_of(program.store, program.dirs.state, program.env).named(attach).id
    if sys.stdin.isatty():
        print(
            "agentcli acp: an editor starts this command and talks to it on stdin and stdout. See `agentcli help editors`.",
            file=sys.stderr,
        )
    source, sink = take_descriptors()
    return asyncio.run(_serve(EditorHost(options, attach=attach), source, sink))


def take_descriptors() -> tuple[int, int]:
    """Return private descriptors for the protocol. Other readers of stdin get nothing; writes to stdout go to stderr."""
    source, sink = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return source, sink


async def _serve(host: EditorHost, source: int, sink: int) -> int:
    agent, transport = EditorAgent(host), StdioTransport(source, sink)
    # Cast: the SDK's type requires methods for features that we do not offer, such as authentication.
    connection = AgentSideConnection(cast("Any", agent), transport, listening=False, use_unstable_protocol=True)
    with _signals() as stopped:
        listening = start_task(connection.listen())
        await asyncio.wait((listening, stopped), return_when=asyncio.FIRST_COMPLETED)
    code = stopped.result() if stopped.done() else InputError.exit_code if transport.ending == "garbage" else 0
    end_within(END_SECONDS, code)
    await agent.close()
    with contextlib.suppress(ConnectionError):  # the client no longer reads answers
        await connection.close()
    listening.cancel()
    await asyncio.gather(listening, return_exceptions=True)
    if transport.ending == "garbage":
        print("agentcli acp: the input on stdin is not the Agent Client Protocol.", file=sys.stderr)
    return code


@contextlib.contextmanager
def _signals() -> Iterator[asyncio.Future[int]]:
    """Provide a future that gets the exit code of the first signal; later ones change nothing."""
    loop = asyncio.get_running_loop()
    stopped: asyncio.Future[int] = loop.create_future()

    def stop(code: int) -> None:
        if not stopped.done():
            stopped.set_result(code)

    for number, code in _SIGNALS.items():
        if signal.getsignal(number) != signal.SIG_IGN:
            loop.add_signal_handler(number, stop, code)
    yield stopped
