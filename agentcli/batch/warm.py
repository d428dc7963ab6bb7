"""Fork server of a batch: agents are forked from a process that has made their imports, which costs each of them a second of work less.

The server has one thread, is started for the first agent, and ends with the driver, however that ends.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from agentcli.batch.agent_process import Streams, die_with_parent

if TYPE_CHECKING:
    from multiprocessing.context import ForkServerProcess

KINDS = "AGENTCLI_WARM_KINDS"
"""The variable that names the wire formats whose SDKs the server imports, with spaces."""
IMPORTS = "agentcli.batch.warm_imports"


class WarmServer:
    """Starts agents by forks; `kinds` are the wire formats of the models."""

    def __init__(self, kinds: Iterable[str]) -> None:
        from multiprocessing import get_context

        self._kinds = " ".join(sorted(set(kinds)))
        self._one_at_a_time = asyncio.Lock()
        self._context = get_context("forkserver")
        self._context.set_forkserver_preload([IMPORTS])

    async def start(self, arguments: Sequence[str], cwd: Path, env: Mapping[str, str], streams: Streams) -> WarmAgent:
        """Fork an agent."""
        os.environ[KINDS] = self._kinds
        paths = tuple(str(Path(stream.name)) for stream in streams)
        process = self._context.Process(target=_be_agent, args=(tuple(arguments), str(cwd), dict(env), paths))
        # The server makes its imports first, and answers then.
        async with self._one_at_a_time:
            await asyncio.to_thread(process.start)
        return WarmAgent(process)


class WarmAgent:
    """A forked agent."""

    def __init__(self, process: ForkServerProcess) -> None:
        self._process = process

    async def wait(self) -> int:
        """Wait for its end; the exit code, negative for a signal."""
        loop, ended = asyncio.get_running_loop(), asyncio.Event()
        loop.add_reader(self._process.sentinel, ended.set)
        try:
            await ended.wait()
        finally:
            loop.remove_reader(self._process.sentinel)
        self._process.join()
        code = self._process.exitcode
        self._process.close()
        return -signal.SIGKILL if code is None else code

    def send_signal(self, number: int) -> None:
        """Send it a signal."""
        if self._process.pid is not None:
            os.kill(self._process.pid, number)


def _be_agent(arguments: Sequence[str], cwd: str, env: Mapping[str, str], paths: Sequence[str]) -> None:
    """Be one run of the program, in this process, and end with its exit code."""
    import atexit

    # The driver's pipes among them: the server lives for as long as anybody holds those.
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    os.setsid()
    die_with_parent(os.getppid())
    for number, (path, flags) in enumerate(zip(paths, (os.O_RDONLY, *[os.O_WRONLY | os.O_APPEND] * 2), strict=True)):
        os.dup2(os.open(path, flags), number)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115 - open for as long as the run takes
    os.environ.clear()
    os.environ.update(env)
    os.chdir(cwd)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.argv[1:] = arguments
    code: object = 1
    try:
        # By name, as the operating system would: nothing below the entry point knows it.
        code = import_module("agentcli.__main__").main(list(arguments))
    except SystemExit as end:
        code = end.code
    finally:
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    os._exit(code if isinstance(code, int) else int(code is not None))
