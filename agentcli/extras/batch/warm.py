"""Agents forked from a process with preloaded imports, which saves each a second of work.

The fork server starts with the first agent, restarts if it is killed, and always ends with the driver.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

from agentcli.core.errors import AgentError
from agentcli.extras.batch.agent_process import Streams

STARTS = 3
"""Maximum fork servers to start for one agent before its start has failed."""
ENDING = 1.0
"""Maximum seconds to wait for the end of a fork server that left an agent without a message."""
_SERVE = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from agentcli.extras.batch.fork_server import main; main(sys.argv[2])"


class WarmServer:
    """Starter of agents by forks; `kinds` are the wire formats of the models."""

    def __init__(self, kinds: Iterable[str]) -> None:
        self._kinds = " ".join(sorted(set(kinds)))
        self._one_at_a_time = asyncio.Lock()
        self._server: _Server | None = None

    async def start(self, arguments: Sequence[str], cwd: Path, env: Mapping[str, str], streams: Streams) -> WarmAgent:
        """Fork an agent. Raise AgentError if no fork server lives long enough."""
        body = json.dumps({"arguments": [*arguments], "cwd": str(cwd), "env": dict(env)}).encode()
        for _ in range(STARTS):
            async with self._one_at_a_time:
                server = self._living()
                # The server finishes its imports before it accepts requests.
                pipes = await asyncio.to_thread(server.ask, body, streams)
            agent = await WarmAgent.of(*pipes)
            if await agent.begins():
                return agent
            await agent.wait()
            await asyncio.to_thread(server.settle)
        raise AgentError(f"No agent could be forked: {server.reason}. Run the batch without --warm.")

    def close(self) -> None:
        """End the server, and with it all remaining agents."""
        if self._server is not None:
            self._server.close()

    def _living(self) -> _Server:
        """Return the running server, or start a new one."""
        if self._server is None or not self._server.alive:
            self.close()
            self._server = _Server(self._kinds)
        return self._server


class WarmAgent:
    """A forked agent. Its status reports its process id and its exit code; it ends once its lifeline is closed."""

    def __init__(self, status: asyncio.StreamReader, transport: asyncio.BaseTransport, lifeline: int) -> None:
        self._status, self._transport, self._lifeline = status, transport, lifeline
        self._pid: int | None = None

    @classmethod
    async def of(cls, status: int, lifeline: int) -> WarmAgent:
        """Return the agent with these ends of pipes."""
        reader = asyncio.StreamReader()
        pipe = os.fdopen(status, "rb", buffering=0)
        protocol = partial(asyncio.StreamReaderProtocol, reader)
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(protocol, pipe)
        return cls(reader, transport, lifeline)

    async def begins(self) -> bool:
        """Wait until the agent runs; return False if the fork server ended first."""
        self._pid = _number(await self._status.readline())
        return self._pid is not None

    async def wait(self) -> int | None:
        """Wait for its end; return the exit code, negative for a signal, None if it is unknown."""
        try:
            return _number(await self._status.read())
        finally:
            self._pid = None
            self._transport.close()
            os.close(self._lifeline)

    def send_signal(self, number: int) -> None:
        """Send it a signal."""
        if self._pid is not None:
            os.kill(self._pid, number)


class _Server:
    """A running fork server."""

    def __init__(self, kinds: str) -> None:
        self._socket, theirs = socket.socketpair()
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - open for as long as the server
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", _SERVE, json.dumps([path for path in sys.path if path]), kinds],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=self._errors,
                start_new_session=True,
            )

    @property
    def alive(self) -> bool:
        """True while it runs."""
        return self._process.poll() is None

    def settle(self) -> None:
        """Wait briefly for its end: a process being killed closes its pipes before it has ended."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(ENDING)

    @property
    def reason(self) -> str:
        """Reason for its end: the last line of its errors."""
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else f"the process that is to fork it ended ({self._process.poll()})"

    def ask(self, body: bytes, streams: Streams) -> tuple[int, int]:
        """Request an agent; return the pipe ends of its status and its lifeline.

        If the server has ended, both stay silent.
        """
        status, theirs = os.pipe()
        watched, lifeline = os.pipe()
        try:
            head = len(body).to_bytes(4, "big")
            with contextlib.suppress(OSError):
                socket.send_fds(self._socket, [head], [*(stream.fileno() for stream in streams), theirs, watched])
                self._socket.sendall(body)
        finally:
            os.close(theirs)
            os.close(watched)
        return status, lifeline

    def close(self) -> None:
        """End the server."""
        self._socket.close()
        self._process.kill()
        self._process.wait()
        self._errors.close()


def _number(line: bytes) -> int | None:
    """Return the number in a line; None for an incomplete line."""
    return int(line) if line.endswith(b"\n") else None
