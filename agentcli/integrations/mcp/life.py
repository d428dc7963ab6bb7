"""The life of one server: connected within a deadline, restarted where that may help, and ended. Runs in the loop of all servers."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from agentcli.core.errors import ToolError
from agentcli.core.servers import (
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
from agentcli.integrations.mcp.config import ServerDefinition
from agentcli.integrations.mcp.logs import telling_line
from agentcli.integrations.mcp.names import tool_name
from agentcli.integrations.mcp.variables import MissingVariable, expanded

if TYPE_CHECKING:
    from agentcli.integrations.mcp.client import Connection, Host
    from agentcli.integrations.mcp.listing import Listing

RESTARTS = 3
"""Restarts of a program that has ended, in a session."""
RECONNECTS = (1.0, 2.0, 4.0, 8.0, 16.0)
"""Seconds before each attempt to reach a server again whose connection broke off."""
CLOSE_SECONDS = 5.0
"""Seconds after which a server that does not end is abandoned; the SDK kills it before."""
_TAIL = 2_000
READ, LISTS = "read_resource", "list_resources"
_READ = {"type": "object", "properties": {"uri": {"type": "string"}}, "required": ["uri"]}
_log = logging.getLogger("mcp")


class ServerLife:
    """One server of a run. `state`, `tools`, `prompts` and `resources` are values that other threads may read at any time."""

    def __init__(
        self,
        server: ServerDefinition,
        host: Host,
        changed: Callable[[str], None],
        reconnects: Sequence[float] = RECONNECTS,
    ) -> None:
        """`changed` is called with a line about each change that the model should know of."""
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
        self._living: asyncio.Task[None] | None = None
        self._ending: asyncio.Task[None] | None = None
        self._watching: asyncio.Task[None] | None = None
        self._lock = asyncio.Lock()
        self._ended = False
        self._restarts = 0
        self._log_start = 0
        self._reading = 0
        self._free = asyncio.Condition()

    async def start(self) -> None:
        """Connect; the outcome is `state`."""
        if self.server.disabled:
            self._set("disabled")
            return
        async with self._lock:
            if not self._ended and self._open is None:
                await self._connect()

    async def close(self) -> None:
        """End the connection, and with it the program; a call that still waits for its turn starts none."""
        self._ended = True
        self.settled.set()
        if self._watching is not None:
            self._watching.cancel()  # and with it the connection that it waits for
            self._watching = None
        connection, living = self._connection, self._living
        self._connection = self._living = None
        if living is not None:
            self._ending = living
            if connection is not None:
                connection.close()
            elif not living.cancelling():
                living.cancel()
        # Never cancelled twice: the SDK is giving the program its time, and kills it then.
        if self._ending is not None:
            await asyncio.wait({self._ending}, timeout=CLOSE_SECONDS - 0.2)

    async def restart(self) -> None:
        """End the connection and connect anew, because the person asked for it."""
        await self.close()
        self._ended, self._restarts = False, 0
        self.server = replace(self.server, disabled=False)
        self._set("connecting")
        await self.start()

    async def disable(self) -> None:
        """End the connection for good."""
        await self.close()
        self._set("disabled")

    async def call(self, tool: ServerTool, arguments: Mapping[str, Any], progress: Progress) -> ServerAnswer:
        """Call a tool; a server that has ended meanwhile is restarted once. Raises ToolError where no answer comes."""
        async with self._turn(tool):
            connection = await self._alive()
            with self._translated(connection):
                if tool.tool == READ and tool.parameters is _READ:
                    return await connection.read(str(arguments.get("uri", "")))
                if tool.tool == LISTS and tool.parameters is _NONE:
                    return _listed(self.resources)
                return await connection.call(tool.tool, arguments, progress)

    async def prompt(self, name: str, arguments: Mapping[str, str]) -> Sequence[Content]:
        """The texts of a prompt. Raises ToolError where no answer comes."""
        connection = await self._alive()
        with self._translated(connection):
            return await connection.prompt(name, arguments)

    async def read(self, uri: str) -> ServerAnswer:
        """Read a resource. Raises ToolError where no answer comes."""
        connection = await self._alive()
        with self._translated(connection):
            return await connection.read(uri)

    async def roots_changed(self) -> None:
        """Tell the server that the folders of the workspace are others now."""
        if self._connection is not None:
            await self._connection.roots_changed()

    @contextmanager
    def _translated(self, connection: Connection) -> Iterator[None]:
        """Errors become ToolErrors. Every transport and every server's answer has its own, and none of them may end a turn."""
        try:
            yield
        except Exception as error:
            raise self._failure(error, connection) from error

    def _failure(self, error: Exception, connection: Connection) -> ToolError:
        from agentcli.integrations.mcp.values import reason

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
            again = "" if self._ended else " It is started again at the next call."
            return ToolError(f"Server {name} ended during the call{self._last_words()}.{again}")
        return ToolError(f"Server {name}: {reason(error)}")

    @property
    def _open(self) -> Connection | None:
        """The connection, where it is open."""
        return None if self._connection is None or self._connection.closed.is_set() else self._connection

    async def _alive(self) -> Connection:
        """The open connection, after a restart where that is needed. Raises ToolError where there is none to be had."""
        async with self._lock:
            if (connection := self._open) is not None:
                return connection
            if self._ended:
                was_open = self.state.status == "connected"
                raise ToolError(not_connected(self.server.name, "it was ended") if was_open else self.state.obstacle)
            if self.state.status == "connected" and self.server.kind == "stdio":
                if self._restarts >= RESTARTS:
                    self._connection = None
                    self._set("failed", f"it ended {RESTARTS + 1} times{self._last_words()}")
                else:
                    self._restarts += 1
                    await self._connect()
            elif self.state.status in ("connected", "connecting"):
                await self._connect()
            if self._connection is None:
                raise ToolError(self.state.obstacle)
            return self._connection

    async def _connect(self, *, quiet: bool = False) -> None:
        """Connect, or set the state that says why not; `quiet` where that is tried again soon."""
        try:
            server = expanded(self.server, self._host.variables)
        except MissingVariable as error:
            self._set("failed", f"it {error}")
            return
        connection, why = await self._attempt(server, sse=False)
        if why and connection.refused in (404, 405) and server.kind == "http":
            connection, why = await self._attempt(server, sse=True)
        if self._living is None:
            return  # it was closed meanwhile
        if why and connection.needs_login:
            self._needs_login()
        elif why:
            self._set("connecting" if quiet else "failed", f"{why}{self._last_words()}", quiet=quiet)
        else:
            self._connection = connection
            self._offer(connection.listing)
            self._set("connected")

    async def _attempt(self, server: ServerDefinition, *, sse: bool) -> tuple[Connection, str]:
        """One attempt to connect within the deadline: the connection, and the reason why it failed."""
        from agentcli.integrations.mcp.client import Connection
        from agentcli.integrations.mcp.values import not_connected_to, reason

        self._connection = None
        self._log_start = self._host.logs.size(server.name)
        connection = Connection(server, replace(self._host, changed=self._relisted), sse=sse)
        living = self._living = asyncio.create_task(connection.live())
        ready = asyncio.create_task(connection.ready.wait())
        try:
            await asyncio.wait({living, ready}, timeout=server.startup_timeout, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            living.cancel()  # by the call that wanted the connection: nobody else would end it
            raise
        finally:
            ready.cancel()
        if connection.ready.is_set() and not living.done():
            self._watching = asyncio.create_task(self._watch(connection, living))
            return connection, ""
        if not living.done():
            # Its end may take some seconds, which nobody needs to wait for.
            living.cancel()
            return connection, f"it did not answer within {server.startup_timeout:g} s"
        (error,) = await asyncio.gather(living, return_exceptions=True)
        if not isinstance(error, BaseException):
            return connection, "it ended"
        is_url = server.kind != "stdio"
        return connection, not_connected_to(server.url, error, connection.refused) if is_url else reason(error)

    async def _watch(self, connection: Connection, living: asyncio.Task[None]) -> None:
        """Wait for the end of a connection; one to a URL is made again after a while."""
        (error,) = await asyncio.gather(living, return_exceptions=True)
        if error is not None and not isinstance(error, asyncio.CancelledError):
            _log.warning("the connection to server %s ended: %r", self.server.name, error)
        if self._connection is not connection:
            return
        if connection.needs_login:
            self._needs_login()
            return
        if self.server.kind == "stdio":
            self._changed(f"Server {self.server.name} has ended{self._last_words()}; the next call starts it again.")
            return
        self._set("connecting", "the connection broke off", quiet=True)
        for number, delay in enumerate(self._reconnects, 1):
            await asyncio.sleep(delay)
            async with self._lock:
                if self._open is not None:
                    return
                await self._connect(quiet=number < len(self._reconnects))
                if self.state.status in ("connected", "needs login"):
                    return

    def _needs_login(self) -> None:
        """The server takes no request without a login: no turn begins one, and no other attempt to connect can help."""
        if self.state.status != "needs login":
            self._set("needs login", f"run `/mcp login {self.server.name}` or `agentcli mcp login {self.server.name}`")

    def _relisted(self, listing: Listing) -> None:
        before = {tool.name: tool for tool in self.tools}
        self._offer(listing)
        now = {tool.name: tool for tool in self.tools}
        self.state = replace(self.state, tools=len(self.tools))
        other = {name for name in now.keys() & before.keys() if now[name] != before[name]}
        changes = [("new", now.keys() - before.keys()), ("gone", before.keys() - now.keys()), ("changed", other)]
        texts = [f"{word}: {', '.join(sorted(names))}" for word, names in changes if names]
        if texts:
            self._changed(f"Server {self.server.name} has changed its tools. {'; '.join(texts)}.")

    def _offer(self, listing: Listing) -> None:
        own = {tool.tool for tool in listing.tools}
        extra = [self._resource_tool(READ, _READ), self._resource_tool(LISTS, _NONE)] if listing.readable else []
        self.tools = tuple(
            sorted((*listing.tools, *(tool for tool in extra if tool.tool not in own)), key=lambda tool: tool.name)
        )
        self.prompts, self.resources = listing.prompts, listing.resources
        self.state = replace(self.state, instructions=listing.instructions)

    def _resource_tool(self, name: str, parameters: Mapping[str, Any]) -> ServerTool:
        text = "Read a resource of the server by its URI." if name == READ else "List the resources of the server."
        server = self.server
        return ServerTool(tool_name(server.name, name), server.name, name, text, parameters, reads=server.trust_hints)

    def _set(self, status: Status, detail: str = "", *, quiet: bool = False) -> None:
        tools = len(self.tools) if status == "connected" else 0
        self.state = replace(self.state, status=status, detail=detail, tools=tools)
        if status == "connecting" and not quiet:
            self.settled.clear()
        else:
            self.settled.set()
        if not quiet and status != "connecting":
            self._changed(self.state.sentence)

    def _last_words(self) -> str:
        """What the server wrote to stderr last since it was started, in a line."""
        if self.server.kind != "stdio":
            return ""
        line = telling_line(self._host.logs.tail(self.server.name, self._log_start, _TAIL))
        return f" ({line})" if line else ""

    @asynccontextmanager
    async def _turn(self, tool: ServerTool) -> AsyncIterator[None]:
        """The right to call: calls that read run together, any other alone."""
        async with self._free:
            await self._free.wait_for(lambda: self._reading >= 0 if tool.reads else self._reading == 0)
            self._reading = self._reading + 1 if tool.reads else -1
        try:
            yield
        finally:
            # Not awaited under a lock: this must happen in a task that is being cancelled, too.
            self._reading = self._reading - 1 if tool.reads else 0
            with contextlib.suppress(RuntimeError):
                asyncio.get_running_loop().create_task(self._wake())

    async def _wake(self) -> None:
        async with self._free:
            self._free.notify_all()


_NONE: Mapping[str, Any] = {"type": "object", "properties": {}}


def _listed(resources: Sequence[ServerResource]) -> ServerAnswer:
    lines = [f"{found.uri}  {found.name}  {found.description}".rstrip() for found in resources]
    return ServerAnswer((Content("text", "\n".join(lines) or "It lists none."),))
