"""An open connection to one server through the official SDK: the only module that knows it, but for the tokens."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import field
from pathlib import Path
from typing import Any

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
    ServerPrompt,
    ServerResource,
    ServerTool,
)
from agentcli.integrations.mcp.config import ServerDefinition
from agentcli.integrations.mcp.logs import ServerLogs
from agentcli.integrations.mcp.names import tool_name
from agentcli.integrations.mcp.transport import watched
from agentcli.integrations.mcp.values import answer_of, content_of, fields_of, progress_text, resource_of

PAGES, TOOLS = 100, 500
"""Pages of a list, and tools of a server, that are read at most."""
CALL_SECONDS = 1_800.0
"""Seconds that a call may take in all, whatever progress it reports."""
CHANGE_SECONDS = 0.5
"""Seconds during which notices of changed lists are collected before they are read anew."""
INTERACTION = "anthropic/requiresUserInteraction"


@dataclass(frozen=True, slots=True)
class Listing:
    """All that a server offers."""

    tools: tuple[ServerTool, ...] = ()
    prompts: tuple[ServerPrompt, ...] = ()
    resources: tuple[ServerResource, ...] = ()
    instructions: str = ""
    readable: bool = False
    """True if the server has resources, also where it lists none of them: templates may name them."""


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
    """The HTTP status with which the server refused a request; 0 if it did not."""
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
                self.listing = await self._listed(client)
                self.ready.set()
                await self._work(client)
        finally:
            self.closed.set()

    def close(self) -> None:
        """Ask `live` to end."""
        self._closing.set()

    async def call(self, tool: str, arguments: Mapping[str, Any], show: Progress) -> ServerAnswer:
        """Call a tool by the server's own name. Raises TimeoutError, MCPError, ConnectionError."""
        client, loop = self._connected(), asyncio.get_running_loop()
        heard = [loop.time()]

        async def report(progress: float, total: float | None, message: str | None) -> None:
            heard[0] = loop.time()
            show(progress_text(progress, total, message))

        calling = client.call_tool(tool, dict(arguments), CALL_SECONDS, report)
        return answer_of(await self._awaited(calling, lambda: heard[0] + self.server.timeout))

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
            while True:
                waits = [asyncio.ensure_future(event.wait()) for event in (self._closing, self.closed, self._changed)]
                try:
                    await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    for wait in waits:
                        wait.cancel()
                if self._closing.is_set() or self.closed.is_set():
                    return
                await asyncio.sleep(CHANGE_SECONDS)
                self._changed.clear()
                # A list that cannot be read anew leaves the old one in force.
                with contextlib.suppress(MCPError, TimeoutError):
                    self.listing = await self._listed(client)
                    self.host.changed(self.listing)
        finally:
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)

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

    async def _listed(self, client: Client) -> Listing:
        offered = client.server_capabilities
        # An older server need not declare what it offers.
        tools = await _all(client.list_tools, "tools") if offered.tools else []
        prompts = await _all(client.list_prompts, "prompts") if offered.prompts else []
        resources = await _all(client.list_resources, "resources") if offered.resources else []
        mine = [self._tool(tool) for tool in tools[:TOOLS] if self.server.offers(tool.name)]
        return Listing(
            tuple(sorted(mine, key=lambda tool: tool.name)),
            tuple(sorted(map(self._prompt, prompts), key=lambda prompt: prompt.name)),
            tuple(
                ServerResource(self.server.name, str(found.uri), found.name, found.description or "")
                for found in sorted(resources, key=lambda found: str(found.uri))
            ),
            client.instructions or "",
            offered.resources is not None,
        )

    def _tool(self, tool: types.Tool) -> ServerTool:
        hints, trusted = tool.annotations, self.server.trust_hints
        return ServerTool(
            tool_name(self.server.name, tool.name),
            self.server.name,
            tool.name,
            tool.description or "",
            tool.input_schema,
            reads=bool(trusted and hints and hints.read_only_hint),
            interacts=bool((tool.meta or {}).get(INTERACTION)),
            always=self.server.always_load,
        )

    def _prompt(self, prompt: types.Prompt) -> ServerPrompt:
        arguments = tuple((each.name, bool(each.required)) for each in prompt.arguments or ())
        return ServerPrompt(self.server.name, prompt.name, prompt.description or "", arguments)

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
        """A client that notes what the server refuses until it is connected."""

        async def seen(response: httpx2.Response) -> None:
            # A server need not offer the stream that a GET asks for, unless that is all it has.
            counts = response.request.method == "POST" or self.sse or self.server.kind == "sse"
            if response.status_code >= 400 and counts and not self.ready.is_set():
                self.refused = response.status_code

        return httpx2.AsyncClient(headers=headers, timeout=timeout, auth=auth, event_hooks={"response": [seen]})

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


async def _all(list_page: Callable[..., Awaitable[Any]], kind: str) -> list[Any]:
    """All pages of a list."""
    found: list[Any] = []
    cursor: str | None = None
    for _ in range(PAGES):
        page = await list_page(cursor=cursor, cache_mode="bypass")
        found += getattr(page, kind)
        cursor = page.next_cursor
        if cursor is None or len(found) > TOOLS:
            break
    return found
