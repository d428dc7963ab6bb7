"""Fork server of a batch: imports an agent's modules once, then forks an agent for each request.

It has one thread, and a socket as standard input. When the other side closes it, the server and its agents end. A
request has an agent's arguments, folder and environment. It carries the descriptors of its streams, its status and its
lifeline. The server writes two lines into the status: the agent's process id and its exit code. The agent keeps the
status open, too: the reader sees an end without exit code only when both are gone.
"""

from __future__ import annotations

import atexit
import os
import select
import signal
import socket
import sys
from contextlib import suppress
from importlib import import_module
from typing import Any, NoReturn

from agentcli.core.errors import AgentError
from agentcli.extras.batch.agent_process import die_with_parent
from agentcli.frontends.headless.print_mode import LIFELINE
from agentcli.providers.connect import warm
from agentcli.providers.http import http_client
from agentcli.providers.registry import PROVIDERS
from agentcli.providers.settings import ProviderSettings
from agentcli.system.supervisor import drain, receive, woken_by_children

DESCRIPTORS = 5
"""Number of descriptors in a request: the three streams, the status, the lifeline."""


def main(kinds: str) -> None:
    """Serve until the other side of standard input is closed. `kinds` are the models' wire formats, separated by
    spaces.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    import_all(kinds)
    server = socket.socket(fileno=0)
    wakeup = woken_by_children()
    statuses: dict[int, int] = {}
    while True:
        ready, _, _ = select.select([server.fileno(), wakeup], [], [])
        drain(wakeup)
        _report_ends(statuses)
        if server.fileno() not in ready:
            continue
        request = receive(server, DESCRIPTORS)
        if request is None:
            return
        asked, descriptors = request
        parent, pid = os.getpid(), os.fork()
        if pid == 0:
            server.detach()
            _be_agent(asked, descriptors, parent)
        status = statuses[pid] = descriptors[3]
        _tell(status, pid)
        for descriptor in descriptors:
            if descriptor != status:
                os.close(descriptor)


def _report_ends(statuses: dict[int, int]) -> None:
    """Reap agents that have ended, and write their exit codes."""
    while statuses:
        pid, ended = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        status = statuses.pop(pid)
        _tell(status, os.waitstatus_to_exitcode(ended))
        os.close(status)


def _tell(status: int, number: int) -> None:
    with suppress(BrokenPipeError):  # the driver is gone
        os.write(status, b"%d\n" % number)


def _be_agent(asked: dict[str, Any], descriptors: list[int], parent: int) -> NoReturn:
    """Run the program once in this process, and end with its exit code."""
    os.setsid()
    die_with_parent(parent)
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    *streams, status, lifeline = descriptors
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    _close_all_but(status, lifeline)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115 - open for as long as the run takes
    os.environ.clear()
    os.environ.update({**asked["env"], LIFELINE: str(lifeline)})
    os.chdir(asked["cwd"])
    sys.argv[1:] = asked["arguments"]
    code: object = 1
    try:
        # By name, because no module below the entry point may import it.
        code = import_module("agentcli.__main__").main(asked["arguments"])
    except SystemExit as end:
        code = end.code
    finally:
        if (error := sys.exc_info()[1]) is not None:
            sys.excepthook(type(error), error, error.__traceback__)
        atexit._run_exitfuncs()
        for file in (sys.stdout, sys.stderr):
            file.flush()
        os._exit(code if isinstance(code, int) else int(code is not None))


def _close_all_but(*kept: int) -> None:
    """Close every descriptor except the streams and these, which child processes do not inherit."""
    first = 3
    for descriptor in sorted(kept):
        os.set_inheritable(descriptor, False)
        os.closerange(first, descriptor)
        first = descriptor + 1
    os.closerange(first, os.sysconf("SC_OPEN_MAX"))


MODULES = (
    "agentcli.__main__",
    "agentcli.frontends.cli.parser",
    "agentcli.frontends.cli.run_commands",
    "agentcli.program.demo",
    "agentcli.frontends.cli.launch",
    "agentcli.program.program",
    "agentcli.frontends.headless.print_mode",
    "agentcli.agent.compaction.run",
    "agentcli.agent.loop",
    "agentcli.permissions.shell.effects.reading",
    "agentcli.permissions.shell.command_line",
    "agentcli.permissions.sandbox.launch",
    "agentcli.features.hooks.files",
    "agentcli.system.logs",
    "concurrent.futures.thread",
    "tree_sitter",
    "tree_sitter_bash",
)


def import_all(kinds: str) -> None:
    """Import all modules, the SDKs of these wire formats with their adapters, and the modules for a connection."""
    for name in MODULES:
        import_module(name)
    for kind in kinds.split():
        warm(kind)
        import_module(PROVIDERS[kind].adapter.partition(":")[0])
        if PROVIDERS[kind].sdk:
            with suppress(AgentError):  # each agent itself reports unusable certificates or proxies
                http_client(ProviderSettings(kind, kind))
            import_module("anyio._backends._asyncio")
