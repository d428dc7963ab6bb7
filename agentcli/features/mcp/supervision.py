"""Supervision of one server: connect within a deadline, restart if that may help, and end. Runs in the loop of all servers."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from agentcli.core.errors import ToolError
from agentcli.core.mcp_servers import (
    Content,
    Progress,
    ServerAnswer,
    ServerPrompt,
    ServerResource,
    ServerState,
    ServerTool,
    Status,
    not_connected,
)
from agentcli.core.tasks import run_beside, start_task, watch_task
from agentcli.features.mcp.config import START_SECONDS, ServerDefinition
from agentcli.features.mcp.logs import telling_line
from agentcli.features.mcp.resources import listed, lists, reads, resource_tools
from agentcli.features.mcp.variables import MissingVariable, expanded

if TYPE_CHECKING:
    from agentcli.features.mcp.client import Connection, Host
    from agentcli.features.mcp.listing import Listing

RECONNECTS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
"""Delays in seconds before each further attempt to connect to a server that fails or ends without answering a call.

The last one repeats. The first attempt after an answer is immediate. A lost connection to a URL is retried as often,
without waiting for a call.
"""
CLOSE_SECONDS = 5.0
"""Seconds after which a server that does not end is abandoned; the SDK kills it before."""
_TAIL = 2_000
_log = logging.getLogger("mcp")


class ServerLife:
    """One server of a run. Other threads may read `state`, `tools`, `prompts` and `resources` at any time."""

    def __init__(
        self,
        server: ServerDefinition,
        host: Host,
        changed: Callable[[str], None],
        reconnects: Sequence[float] = RECONNECTS,
    ) -> None:
        """Prepare a server without connecting; `changed` is called with a line about each change that the model should know."""
        self._reconnects = reconnects
        self.server = self.defined = server
        self.state = ServerState(server.name, "connecting", origin=server.source)
        self.tools: tuple[ServerTool, ...] = ()
        self.prompts: tuple[ServerPrompt, ...] = ()
        self.resources: tuple[ServerResource, ...] = ()
        self.settled = asyncio.Event()
        self._host = host
        self._changed = changed
        self._connection: Connection | None = None
        self._latest: Connection | None = None
        """The connection that `_living` owns, also before it is open and while it ends."""
        self._living: asyncio.Task[None] | None = None
        self._ending: asyncio.Task[None] | None = None
        self._watching: asyncio.Task[None] | None = None
        self._arriving: asyncio.Task[None] | None = None
        """The wait for a server that starts more slowly than the deadline."""
        self._lock = asyncio.Lock()
        self._ended = False
        self._failures = 0
        """Failed attempts and ends since the last answered call."""
        self._not_before = 0.0
        self._counted: Connection | None = None
        """The last connection whose end was counted."""
        self._log_start = 0
        self._reading = 0
        self._free = asyncio.Condition()

    async def start(self) -> None:
        """Connect; `state` shows the outcome."""
        if self.server.disabled:
            self._set("disabled")
            return
        async with self._lock:
            if not self._ended and self._open is None:
                await self._connect()

    async def close(self) -> None:
        """End the connection and the server's process; a call that still waits for its turn starts no server."""
        self._ended = True
        self.settled.set()
        if self._arriving is not None:
            self._arriving.cancel()
            self._arriving = None
        if self._watching is not None:
            self._watching.cancel()
            self._watching = None
        latest, living = self._latest, self._living
        self._connection = self._latest = self._living = None
        if latest is not None and living is not None:
            self._ending = living
            _end(latest, living)
        if self._ending is not None:
            await asyncio.wait({self._ending}, timeout=CLOSE_SECONDS - 0.2)

    async def restart(self) -> None:
        """End the connection and connect again, at the person's request."""
        await self.close()
        self._ended, self._failures, self._not_before = False, 0, 0.0
        self.server = replace(self.server, disabled=False)
        self._set("connecting")
        await self.start()

    async def disable(self) -> None:
        """End the connection until `restart`."""
        await self.close()
        self._set("disabled")

    async def call(self, tool: ServerTool, arguments: Mapping[str, Any], progress: Progress) -> ServerAnswer:
        """Call a tool, after restarting a server that has ended. Raise ToolError if no answer comes."""
        async with self._turn(tool):
            connection = await self._alive()
            async with self._translated(connection):
                if reads(tool):
                    return await connection.read(str(arguments.get("uri", "")))
                if lists(tool):
                    return listed(self.resources)
                answer = await connection.call(tool.tool, arguments, progress)
            self._failures, self._not_before = 0, 0.0
            # Its output until now does not explain a later end.
            self._log_start = self._host.logs.size(self.server.name)
            return answer

    async def arrival(self) -> None:
        """Wait for a server that takes long to start."""
        if self._arriving is not None:
            await asyncio.wait({self._arriving})

    def try_again(self) -> None:
        """Connect in the background to a failed server, unless it is too soon. `settled` is set at the outcome."""
        if self.state.status != "failed" or self._ended or asyncio.get_running_loop().time() < self._not_before:
            return
        self._set("connecting")
        self._watching = run_beside(self.start())

    async def prompt(self, name: str, arguments: Mapping[str, str]) -> Sequence[Content]:
        """Return the texts of a prompt. Raise ToolError if no answer comes."""
        connection = await self._alive()
        async with self._translated(connection):
            return await connection.prompt(name, arguments)

    async def read(self, uri: str) -> ServerAnswer:
        """Read a resource. Raise ToolError if no answer comes."""
        connection = await self._alive()
        async with self._translated(connection):
            return await connection.read(uri)

    async def roots_changed(self) -> None:
        """Tell the server that the workspace's folders have changed."""
        if self._connection is not None:
            await self._connection.roots_changed()

    @asynccontextmanager
    async def _translated(self, connection: Connection) -> AsyncIterator[None]:
        """Turn all errors into ToolErrors: each transport and server has its own, and none may end a turn."""
        living = self._living
        try:
            yield
        except Exception as error:
            if living and connection.closed.is_set() and not self.server.transport.is_program:
                await asyncio.wait({living}, timeout=CLOSE_SECONDS)
                connection.stopped = connection.stopped or _why(living)
            raise self._failure(error, connection) from error

    def _failure(self, error: Exception, connection: Connection) -> ToolError:
        from agentcli.features.mcp.values import reason

        name = self.server.name
        if connection.needs_login:
            connection.close()
            self._connection = None
            self._needs_login()
            return ToolError(self.state.obstacle)
        if isinstance(error, TimeoutError) or "timed out" in str(error).lower():
            why = str(error) if isinstance(error, TimeoutError) else ""
            return ToolError(
                f"Server {name} {why or f'did not answer within {self.server.timeout:g} s'}. The call was cancelled."
            )
        if connection.closed.is_set():
            self._count(connection)
            again = "" if self._ended else f" It is started again at the next call{self._after()}."
            return ToolError(f"Server {name} ended during the call{self._last_words(connection)}.{again}")
        return ToolError(f"Server {name}: {reason(error)}")

    @property
    def _open(self) -> Connection | None:
        """The connection if it is open, else None."""
        return None if self._connection is None or self._connection.closed.is_set() else self._connection

    async def _alive(self) -> Connection:
        """Return the open connection, connecting again if necessary. Raise ToolError if there is none."""
        if self._open is None and self._connection is not None:
            self._count(self._connection)
            if self._connection.stopped and self._living is not None:
                await asyncio.wait({self._living}, timeout=CLOSE_SECONDS)  # its process is still being ended
        if self._open is None and not self._ended:
            await asyncio.sleep(max(0.0, self._not_before - asyncio.get_running_loop().time()))
        if self._arriving is not None:
            await asyncio.wait({self._arriving}, timeout=self.server.startup_timeout)
        async with self._lock:
            if (connection := self._open) is not None:
                return connection
            if self._ended:
                was_open = self.state.status == "connected"
                raise ToolError(not_connected(self.server.name, "it was ended") if was_open else self.state.obstacle)
            if self._arriving is None and self.state.status in ("connected", "connecting", "failed"):
                await self._connect()
            if self._connection is None:
                raise ToolError(self.state.obstacle)
            return self._connection

    def _count(self, connection: Connection | None) -> None:
        """Count a connection's end, or a failed attempt: each one in a row lengthens the next wait."""
        if connection is not None and self._counted is connection:
            return
        self._counted = connection
        pauses = (0.0, *self._reconnects)
        self._not_before = asyncio.get_running_loop().time() + pauses[min(self._failures, len(pauses) - 1)]
        self._failures += 1

    def _after(self) -> str:
        left = self._not_before - asyncio.get_running_loop().time()
        return f", after a pause of {left:.0f} s" if left >= 0.5 else ""

    async def _connect(self, *, quiet: bool = False) -> None:
        """Connect, or set the state to the reason for the failure; `quiet` if another attempt follows soon."""
        try:
            server = expanded(self.server, self._host.variables)
        except MissingVariable as error:
            self._set("failed", f"it {error}")
            return
        connection, why = await self._attempt(server)
        if why and connection.refused in (404, 405) and (older := server.transport.older) is not None:
            connection, why = await self._attempt(replace(server, transport=older))
        if self._living is None:
            return  # `close` was called meanwhile
        if why is None:
            self._arriving = run_beside(self._arrive(connection, self._living, server))
            self._set("connecting", f"{_slow(server)}; it is waited for in the background", quiet=True)
        else:
            self._outcome(connection, why, quiet=quiet)

    def _outcome(self, connection: Connection, why: str, *, quiet: bool = False) -> None:
        """Set the state after an attempt, which failed if `why` is not empty."""
        if why and connection.needs_login:
            self._needs_login()
        elif why:
            self._count(None)
            self._set("connecting" if quiet else "failed", f"{why}{self._last_words(connection)}", quiet=quiet)
        else:
            self._connection = connection
            self._log_start = self._host.logs.size(self.server.name)
            self._offer(connection.listing)
            self._set("connected")

    async def _arrive(self, connection: Connection, living: asyncio.Task[None], server: ServerDefinition) -> None:
        """Wait in the background for a server that takes long to start."""
        ready = start_task(connection.ready.wait())
        try:
            await asyncio.wait({living, ready}, timeout=START_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        finally:
            ready.cancel()
        self._arriving = None
        why = await self._reason(connection, living, server)
        if why is None:
            _end(connection, living)
            why = f"it did not answer within {START_SECONDS:g} s"
        self._outcome(connection, why)

    async def _attempt(self, server: ServerDefinition) -> tuple[Connection, str | None]:
        """Try once to connect; return the connection and the reason for a failure. It is None if the attempt continues
        after the deadline.
        """
        from agentcli.features.mcp.client import Connection

        self._connection = None
        self._log_start = self._host.logs.size(server.name)
        connection = Connection(server, replace(self._host, changed=self._relisted))
        # Nobody would read the error of a cancelled attempt; otherwise `_reason` reads it.
        living = self._living = watch_task(start_task(connection.live()), lambda _: None)
        self._latest = connection
        ready = start_task(connection.ready.wait())
        try:
            await asyncio.wait({living, ready}, timeout=server.startup_timeout, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            _end(connection, living)  # the call that wanted the connection ended, and only it could end the task
            raise
        finally:
            ready.cancel()
        return connection, await self._reason(connection, living, server)

    async def _reason(self, connection: Connection, living: asyncio.Task[None], server: ServerDefinition) -> str | None:
        """Return why a server is not connected, empty if it is, None if it is still starting. Watch a connected one."""
        from agentcli.features.mcp.values import not_connected_to, reason

        if not living.done():
            if not connection.ready.is_set():
                return None
            self._watching = run_beside(self._watch(connection, living))
            return ""
        (error,) = await asyncio.gather(living, return_exceptions=True)
        if not isinstance(error, BaseException):
            return "it ended"
        at_url = not server.transport.is_program
        return not_connected_to(server.url, error, connection.refused) if at_url else reason(error)

    async def _watch(self, connection: Connection, living: asyncio.Task[None]) -> None:
        """Wait for a connection's end; reconnect to a URL after a delay."""
        await asyncio.wait({living})  # does not cancel the connection if this wait is cancelled
        error = None if living.cancelled() else living.exception()
        if error is not None:
            _log.warning("the connection to server %s ended: %r", self.server.name, error)
        if self._connection is not connection:
            return
        if connection.needs_login:
            self._needs_login()
            return
        self._count(connection)
        if self.server.transport.is_program:
            again = f"the next call starts it again{self._after()}"
            self._changed(f"Server {self.server.name} has ended{self._last_words(connection)}; {again}.")
            return
        self._set("connecting", "the connection broke off", quiet=True)
        for number, delay in enumerate(self._reconnects, 1):
            await asyncio.sleep(delay)
            async with self._lock:
                if self._open is not None or self._arriving is not None:
                    return
                await self._connect(quiet=number < len(self._reconnects))
                if self.state.status in ("connected", "needs login"):
                    return

    def _needs_login(self) -> None:
        """Record that the server needs a login: no turn starts one, and another attempt to connect cannot help."""
        if self.state.status != "needs login":
            self._set("needs login", f"run `/mcp login {self.server.name}` or `agentcli mcp login {self.server.name}`")

    def _relisted(self, listing: Listing) -> None:
        before = {tool.name: tool for tool in self.tools}
        self._offer(listing)
        now = {tool.name: tool for tool in self.tools}
        self.state = replace(self.state, tools=len([tool for tool in self.tools if not tool.aside]))
        other = {name for name in now.keys() & before.keys() if now[name] != before[name]}
        changes = [("new", now.keys() - before.keys()), ("gone", before.keys() - now.keys()), ("changed", other)]
        texts = [f"{word}: {', '.join(sorted(names))}" for word, names in changes if names]
        if texts:
            self._changed(f"Server {self.server.name} has changed its tools. {'; '.join(texts)}.")

    def _offer(self, listing: Listing) -> None:
        own = {tool.tool for tool in listing.tools}
        extra = resource_tools(self.server, listing)
        self.tools = tuple(
            sorted((*listing.tools, *(tool for tool in extra if tool.tool not in own)), key=lambda tool: tool.name)
        )
        self.prompts, self.resources = listing.prompts, listing.resources
        self.state = replace(self.state, instructions=listing.instructions, odd=listing.odd)

    def _set(self, status: Status, detail: str = "", *, quiet: bool = False) -> None:
        tools = len([tool for tool in self.tools if not tool.aside]) if status == "connected" else 0
        self.state = replace(self.state, status=status, detail=detail, tools=tools)
        if status == "connecting" and not quiet:
            self.settled.clear()
        else:
            self.settled.set()
        if not quiet and status != "connecting":
            self._changed(self.state.sentence)

    def _last_words(self, connection: Connection) -> str:
        """Return why it was stopped, or its last informative stderr line, in parentheses; or an empty string."""
        if connection.stopped:
            return f" ({connection.stopped})"
        if not self.server.transport.is_program:
            return ""
        line = telling_line(self._host.logs.tail(self.server.name, self._log_start, _TAIL))
        return f" ({line})" if line else ""

    @asynccontextmanager
    async def _turn(self, tool: ServerTool) -> AsyncIterator[None]:
        """Wait for the right to call: reading calls run together, any other alone."""
        async with self._free:
            await self._free.wait_for(lambda: self._reading >= 0 if tool.reads else self._reading == 0)
            self._reading = self._reading + 1 if tool.reads else -1
        try:
            yield
        finally:
            # Update without awaiting a lock: this must also happen in a cancelled task.
            self._reading = self._reading - 1 if tool.reads else 0
            with contextlib.suppress(RuntimeError):
                run_beside(self._wake())

    async def _wake(self) -> None:
        async with self._free:
            self._free.notify_all()


def _end(connection: Connection, living: asyncio.Task[None]) -> None:
    """Make a connection end. Cancel its task only while it connects, and once.

    After that the SDK gives the program time to end, kills it and waits for it. A cancellation would stop that.
    """
    if connection.ready.is_set() or connection.closed.is_set():
        connection.close()
    elif not living.cancelling():
        living.cancel()


def _slow(server: ServerDefinition) -> str:
    return f"it has not answered within {server.startup_timeout:g} s (`startupTimeout` in its definition sets how long that may take)"


def _why(living: asyncio.Task[None]) -> str:
    """Return the error that ended a connection; empty if there is none, or if it has not ended."""
    from agentcli.features.mcp.values import reason

    error = living.exception() if living.done() and not living.cancelled() else None
    return reason(error).rstrip(".") if error else ""
