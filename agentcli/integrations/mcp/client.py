"""An open connection to one server through the official SDK: the only module that knows it, but for the tokens."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import field
from pathlib import Path
from typing import Any, TypeVar

import httpx2
import mcp_types as types
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.session import ClientRequestContext
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from agentcli import __version__
from agentcli.core.dataclass import dataclass
from agentcli.core.servers import (
    Content,
    Elicitation,
    Progress,
    ServerAnswer,
)
from agentcli.integrations.mcp.config import CALL_SECONDS, ServerDefinition
from agentcli.integrations.mcp.listing import Listing, listed
from agentcli.integrations.mcp.logs import ServerLogs
from agentcli.integrations.mcp.transport import watched
from agentcli.integrations.mcp.values import answer_of, content_of, fields_of, progress_text, resource_of

T = TypeVar("T")
_log = logging.getLogger("mcp")
NO_LOGIN = 401
"""HTTP status of a server that wants a login."""
CHANGE_SECONDS = 0.5
"""Seconds during which notices of changed lists are collected before they are read anew."""


Elicit = Callable[[Elicitation], Awaitable[Mapping[str, Any] | None]]
"""Puts a question of a server to the person: the answers by field, None where it was declined."""


@dataclass(frozen=True, slots=True)
class Host:
    """Services of the program for connections. `changed` is called with a new listing.

    `environment` is what a server gets to see of ours, `variables` what definitions may refer to.
    """

    environment: Mapping[str, str]
    variables: Mapping[str, str]
    cwd: Path
    roots: Callable[[], Sequence[Path]]
    logs: ServerLogs
    elicit: Elicit
    call_seconds: float = CALL_SECONDS
    changed: Callable[[Listing], None] = lambda _: None
    auth: Callable[[], Any] = lambda: None
    """The authentication of requests, asked for at each attempt: the person may have logged in meanwhile."""


@dataclass(slots=True)
class Connection:
    """Connection to one server. `live` owns the SDK's client from its beginning to its end; calls are made by other tasks."""

    server: ServerDefinition
    host: Host
    sse: bool = False
    listing: Listing = Listing()
    refused: int = 0
    """The HTTP status with which the server refused a request before it was connected, NO_LOGIN also since; 0 if it did not."""
    ready: asyncio.Event = field(default_factory=asyncio.Event)
    closed: asyncio.Event = field(default_factory=asyncio.Event)
    _closing: asyncio.Event = field(default_factory=asyncio.Event)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)
    _client: Client | None = None

    async def live(self) -> None:
        """Connect, list, and stay connected until `close` or the end of the server. Raises whatever keeps it from connecting."""
        try:
            async with self._opened() as client:
                self._client = client
                self.listing = await listed(client, self.server)
                self.ready.set()
                await self._work(client)
        finally:
            self.closed.set()

    @property
    def needs_login(self) -> bool:
        """True if the server refuses requests without a login."""
        return self.refused == NO_LOGIN

    def close(self) -> None:
        """Ask `live` to end."""
        self._closing.set()

    async def call(self, tool: str, arguments: Mapping[str, Any], show: Progress) -> ServerAnswer:
        """Call a tool by the server's own name. Raises TimeoutError, MCPError, ConnectionError."""
        client, loop = self._connected(), asyncio.get_running_loop()
        heard, most = [loop.time()], self.host.call_seconds
        end = loop.time() + most

        async def report(progress: float, total: float | None, message: str | None) -> None:
            heard[0] = loop.time()
            show(progress_text(progress, total, message))

        # The SDK's own limit would not know of the progress; ours comes first.
        calling = client.call_tool(tool, dict(arguments), most + self.server.timeout, report)
        try:
            return answer_of(await self._awaited(calling, lambda: min(heard[0] + self.server.timeout, end)))
        except TimeoutError:
            raise TimeoutError(f"did not end within {most:g} s" if loop.time() >= end else "") from None

    async def read(self, uri: str) -> ServerAnswer:
        """Read a resource. Raises like `call`."""
        began = asyncio.get_running_loop().time()
        reading = self._connected().read_resource(uri, cache_mode="bypass")
        result = await self._awaited(reading, lambda: began + self.server.timeout)
        return ServerAnswer(tuple(map(resource_of, result.contents)))

    async def prompt(self, name: str, arguments: Mapping[str, str]) -> Sequence[Content]:
        """The texts of a prompt. Raises like `call`."""
        began = asyncio.get_running_loop().time()
        getting = self._connected().get_prompt(name, dict(arguments))
        result = await self._awaited(getting, lambda: began + self.server.timeout)
        return [content_of(message.content) for message in result.messages]

    async def roots_changed(self) -> None:
        """Tell the server that the folders of the workspace are others now; the stateless protocol has no such notice."""
        with contextlib.suppress(MCPError, RuntimeError, ConnectionError):
            client = self._connected()
            if client.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS:
                await client.session.send_notification(types.RootsListChangedNotification())

    def _connected(self) -> Client:
        if self._client is None or self.closed.is_set():
            raise ConnectionError("Connection closed")
        return self._client

    async def _awaited(self, calling: Awaitable[Any], deadline: Callable[[], float]) -> Any:
        """The result of a call; the call is cancelled, and the server told so, at its deadline or when the connection ends."""
        loop = asyncio.get_running_loop()
        task = asyncio.ensure_future(calling)
        ended = asyncio.ensure_future(self.closed.wait())
        try:
            while not task.done():
                left = deadline() - loop.time()
                if left <= 0:
                    raise TimeoutError
                await asyncio.wait({task, ended}, timeout=left, return_when=asyncio.FIRST_COMPLETED)
                if ended.done() and not task.done():
                    await asyncio.wait({task}, timeout=CHANGE_SECONDS)
                    if not task.done():
                        raise ConnectionError("Connection closed")
            return task.result()
        finally:
            ended.cancel()
            if not task.done():
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError, Exception):
                    await task

    async def _work(self, client: Client) -> None:
        """Read lists anew when they have changed, until the end."""
        listening = asyncio.create_task(self._listen(client))
        try:
            while not (await self._before_the_end(self._changes())).cancelled():
                relisting = await self._before_the_end(listed(client, self.server))
                if relisting.cancelled():
                    return
                if (error := relisting.exception()) is not None:  # an answer that makes no sense has many kinds
                    _log.warning("server %s: its lists cannot be read anew: %r", self.server.name, error)
                    continue
                self.listing = relisting.result()
                self.host.changed(self.listing)
        finally:
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)

    async def _changes(self) -> None:
        """Wait for notices of changes, all of a short while together."""
        await self._changed.wait()
        await asyncio.sleep(CHANGE_SECONDS)
        self._changed.clear()

    async def _before_the_end(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """A task that does this; it is cancelled at the end of the connection."""
        task = asyncio.create_task(work)
        ends = [asyncio.create_task(event.wait()) for event in (self._closing, self.closed)]
        try:
            await asyncio.wait([task, *ends], return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in (*ends, *([] if task.done() else [task])):
                each.cancel()
            await asyncio.wait([task, *ends])
        return task

    async def _listen(self, client: Client) -> None:
        """Notices of changes from a server of the stateless protocol; older ones send them unasked."""
        offered = client.server_capabilities
        tools = bool(offered.tools and offered.tools.list_changed)
        prompts = bool(offered.prompts and offered.prompts.list_changed)
        resources = bool(offered.resources and offered.resources.list_changed)
        if not (tools or prompts or resources) or client.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS:
            return
        with contextlib.suppress(MCPError, RuntimeError, TimeoutError):
            async with client.listen(
                tools_list_changed=tools, prompts_list_changed=prompts, resources_list_changed=resources
            ) as events:
                async for _ in events:
                    self._changed.set()

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[Client]:
        async with contextlib.AsyncExitStack() as stack:
            transport = await self._transport(stack)
            client = Client(
                watched(transport, self.closed),
                read_timeout_seconds=max(self.server.timeout, self.server.startup_timeout),
                list_roots_callback=self._roots,
                elicitation_callback=self._elicit,
                message_handler=self._message,
                client_info=types.Implementation(name="agentcli", version=__version__),
            )
            yield await stack.enter_async_context(client)

    async def _transport(self, stack: contextlib.AsyncExitStack) -> AbstractAsyncContextManager[Any]:
        server = self.server
        if server.kind == "stdio":
            log = stack.enter_context(contextlib.closing(self.host.logs.open(server.name)))
            folder = self.host.cwd / server.cwd if server.cwd else self.host.cwd
            given = StdioServerParameters(
                command=server.command,
                args=list(server.args),
                env={**self.host.environment, **server.env},
                cwd=folder,
                encoding_error_handler="replace",
            )
            return stdio_client(given, errlog=log)
        if server.kind == "sse" or self.sse:
            headers = dict(server.headers)
            return sse_client(server.url, headers=headers, auth=self.host.auth(), httpx_client_factory=self._http)
        patience = httpx2.Timeout(server.startup_timeout, read=server.timeout)
        http = self._http(dict(server.headers), patience, self.host.auth())
        return streamable_http_client(server.url, http_client=await stack.enter_async_context(http))

    def _http(
        self,
        headers: dict[str, str] | None = None,
        timeout: httpx2.Timeout | None = None,
        auth: httpx2.Auth | None = None,
    ) -> httpx2.AsyncClient:
        """A client that notes what the server refuses."""
        return httpx2.AsyncClient(
            headers=headers, timeout=timeout, auth=auth, event_hooks={"response": [self._answered]}
        )

    async def _answered(self, response: httpx2.Response) -> None:
        asked, status = response.request, response.status_code
        if response.is_success and asked.headers.get("Authorization", "").startswith("Bearer "):
            self.refused = 0
        # A server need not offer the stream that a GET asks for, unless that is all it has.
        if status < 400 or (asked.method != "POST" and not self.sse and self.server.kind != "sse"):
            return
        # The requests of a login in vain, which come after the refusal, say nothing of their own.
        if status == NO_LOGIN or not (self.ready.is_set() or self.needs_login):
            self.refused = status

    async def _roots(self, context: ClientRequestContext) -> types.ListRootsResult:
        roots = [types.Root(uri=root.as_uri(), name=root.name) for root in self.host.roots()]  # type: ignore[arg-type]
        return types.ListRootsResult(roots=roots)

    async def _elicit(self, context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
        url = getattr(params, "url", "")
        schema = getattr(params, "requested_schema", None) or {}
        answers = await self.host.elicit(Elicitation(self.server.name, params.message, fields_of(schema), url))
        if answers is None:
            return types.ElicitResult(action="decline")
        return types.ElicitResult(action="accept", content=None if url else dict(answers))

    async def _message(self, message: Any) -> None:
        if isinstance(
            message,
            types.ToolListChangedNotification
            | types.PromptListChangedNotification
            | types.ResourceListChangedNotification,
        ):
            self._changed.set()
