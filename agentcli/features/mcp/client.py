"""Open connection to one server through the official SDK. Its end is reported. Its answers are repaired before the SDK
checks them.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import re
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
from mcp.shared.message import SessionMessage
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic import ValidationError

from agentcli import __version__
from agentcli.core.dataclass import dataclass
from agentcli.core.mcp_servers import Content, Elicitation, Progress, ServerAnswer
from agentcli.core.sanitise import safe_line
from agentcli.core.streams import closing
from agentcli.core.tasks import start_task
from agentcli.features.mcp.answers import mended
from agentcli.features.mcp.config import CALL_SECONDS, START_SECONDS, ServerDefinition
from agentcli.features.mcp.lines import ENCODING, LONGEST, TOO_LONG, TOO_MUCH, Limited
from agentcli.features.mcp.listing import Listing, listed
from agentcli.features.mcp.logs import ServerLogs
from agentcli.features.mcp.transport import Kind
from agentcli.features.mcp.values import answer_of, content_of, fields_of, progress_text, resource_of

_ID = re.compile(r'"id"\s*:\s*(\d{1,18}|"[^"\\]{1,200}")')
_ENDS = 500
"""Characters at both ends of a message to search for its id if it is nested too deep to read."""


@asynccontextmanager
async def watched(
    transport: AbstractAsyncContextManager[Any],
    ended: asyncio.Event,
    note: Callable[[str], None],
    stop: Callable[[str], None],
) -> AsyncIterator[Any]:
    """Open the transport; set `ended` when the server has closed its end, or sent a message that is too long.

    `note` takes lines about oddities in its answers, `stop` the reason why no more is read.
    """
    async with transport as (reading, writing):
        yield _Watched(reading, ended, note, stop), writing


class _Watched:
    """Reading end of a transport that repairs what it reads, and reports when it has ended."""

    def __init__(
        self, stream: Any, ended: asyncio.Event, note: Callable[[str], None], stop: Callable[[str], None]
    ) -> None:
        self._stream, self._ended, self._note, self._stop = stream, ended, note, stop

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    async def __aenter__(self) -> _Watched:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> None:
        self._ended.set()
        await self._stream.__aexit__(*error)

    def __aiter__(self) -> _Watched:
        return self

    async def __anext__(self) -> Any:
        try:
            received = await self._stream.__anext__()
        except BaseException:  # the end of the stream, its cancellation and any transport error all mean the same
            self._ended.set()
            raise
        if isinstance(received, Exception):
            return _read_again(received, self._note)
        message = getattr(received, "message", None)
        if isinstance(message, types.JSONRPCResponse):
            message.result = mended(message.result, self._note)
        elif isinstance(message, types.JSONRPCNotification) and message.method == TOO_LONG:
            self._stop(f"stopped, as it sent {TOO_MUCH}")
            self._ended.set()
            raise StopAsyncIteration
        return received


def answered_request(line: str) -> int | str | None:
    """Return the id of the request that an unknown message answers; None if the line is not an answer."""
    try:
        found = json.loads(line)
        answered = found.get("id") if isinstance(found, dict) and not found.keys() & {"method"} else None
    except RecursionError:
        match = _ID.search(line[:_ENDS]) or _ID.search(line[-_ENDS:])
        answered = json.loads(match[1]) if match else None
    except ValueError:
        answered = None
    return answered if isinstance(answered, int | str) else None


T = TypeVar("T")
_log = logging.getLogger("mcp")
NO_LOGIN = 401
"""HTTP status of a server that requires a login."""
_NO_HANDSHAKE = (types.UNSUPPORTED_PROTOCOL_VERSION, types.METHOD_NOT_FOUND)
"""Errors of a server that supports only the newest revision of the protocol."""
UNREADABLE = "The call has run, but the server's answer does not have the form of the protocol. Look at what it did before you repeat it."
ODD = 100
"""Maximum lines about oddities in a server's answers."""
CHANGE_SECONDS = 0.5
"""Seconds in which notices of changed lists are collected before the lists are read again."""


def _read_again(error: Exception, note: Callable[[str], None]) -> Any:
    """Return the repaired form of a message that the SDK cannot read. If it has none, return the failure of its
    request, which must not wait in vain.
    """
    if not isinstance(error, ValidationError):
        return error
    given = error.errors(include_url=False)[0]["input"]
    line = given if isinstance(given, str) else json.dumps(given, default=str) if isinstance(given, dict) else ""
    answered = answered_request(line)
    if answered is None:
        return error
    found = _whole(line)
    if "result" in found:
        result = found["result"] if isinstance(found["result"], dict) else {"content": found["result"]}
        return SessionMessage(types.JSONRPCResponse(jsonrpc="2.0", id=answered, result=mended(result, note)))
    said = found.get("error")
    why = safe_line(said) if isinstance(said, str) else "its answer does not have the form of the protocol"
    data = types.ErrorData(code=types.PARSE_ERROR, message=why)
    return SessionMessage(types.JSONRPCError(jsonrpc="2.0", id=answered, error=data))


def _whole(line: str) -> dict[str, Any]:
    """Return the message in a line; empty if it is nested too deeply to read."""
    try:
        return dict(json.loads(line))
    except (ValueError, RecursionError):
        return {}


_Streams = AbstractAsyncContextManager[Any]
Elicit = Callable[[Elicitation], Awaitable[Mapping[str, Any] | None]]
"""Asks the person a server's question: the answers by field, or None if the person declines."""


@dataclass(frozen=True, slots=True)
class Host:
    """Services of the program for connections. `changed` is called with a new listing.

    `environment` is a server's environment, `variables` the variables that definitions may use.
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
    """Returns the authentication of requests, for each attempt: the person may have logged in meanwhile."""


@dataclass(slots=True)
class Connection:
    """Connection to one server. `live` owns the SDK's client from its beginning to its end; other tasks make the calls."""

    server: ServerDefinition
    host: Host
    listing: Listing = Listing()
    refused: int = 0
    """HTTP status with which the server refused a request before it was connected, or NO_LOGIN at any time. 0 if it
    refused none.
    """
    ready: asyncio.Event = field(default_factory=asyncio.Event)
    closed: asyncio.Event = field(default_factory=asyncio.Event)
    odd: list[str] = field(default_factory=list)
    """Parts of the server's answers that were repaired or dropped, once each."""
    stopped: str = ""
    """The reason why nothing more is read from the server; empty unless it floods."""
    _closing: asyncio.Event = field(default_factory=asyncio.Event)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)
    _client: Client | None = None

    async def live(self) -> None:
        """Connect, list, and stay connected until `close` or the server's end.

        Raise any error that prevents the connection.
        """
        try:
            async with contextlib.AsyncExitStack() as stack:
                client = self._client = await self._entered(stack)
                self.listing = await listed(client, self.server, self.odd)
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
        """Call a tool by the server's own name. Raise TimeoutError, MCPError, ConnectionError."""
        client, loop = self._connected(), asyncio.get_running_loop()
        heard, most = [loop.time()], self.host.call_seconds
        end = loop.time() + most

        async def report(progress: float, total: float | None, message: str | None) -> None:
            heard[0] = loop.time()
            show(progress_text(progress, total, message))

        # The SDK's own limit ignores progress, so it must be the longer one.
        calling = client.call_tool(tool, dict(arguments), most + self.server.timeout, report)
        try:
            return answer_of(await self._awaited(calling, lambda: min(heard[0] + self.server.timeout, end)))
        except ValidationError:
            return ServerAnswer((Content("text", UNREADABLE),), failed=True)
        except TimeoutError:
            raise TimeoutError(f"did not end within {most:g} s" if loop.time() >= end else "") from None

    async def read(self, uri: str) -> ServerAnswer:
        """Read a resource. Raise like `call`."""
        began = asyncio.get_running_loop().time()
        reading = self._connected().read_resource(uri, cache_mode="bypass")
        result = await self._awaited(reading, lambda: began + self.server.timeout)
        return ServerAnswer(tuple(map(resource_of, result.contents)))

    async def prompt(self, name: str, arguments: Mapping[str, str]) -> Sequence[Content]:
        """Return the texts of a prompt. Raise like `call`."""
        began = asyncio.get_running_loop().time()
        getting = self._connected().get_prompt(name, dict(arguments))
        result = await self._awaited(getting, lambda: began + self.server.timeout)
        return [content_of(message.content) for message in result.messages]

    async def roots_changed(self) -> None:
        """Tell the server that the workspace's folders have changed; the stateless protocol has no such notice."""
        with contextlib.suppress(MCPError, RuntimeError, ConnectionError):
            client = self._connected()
            if client.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS:
                await client.session.send_notification(types.RootsListChangedNotification())

    def _stop(self, why: str) -> None:
        self.stopped = why

    def _note(self, line: str) -> None:
        if line not in self.odd and len(self.odd) < ODD:
            self.odd.append(line)

    def _connected(self) -> Client:
        if self._client is None or self.closed.is_set():
            raise ConnectionError("Connection closed")
        return self._client

    async def _awaited(self, calling: Awaitable[Any], deadline: Callable[[], float]) -> Any:
        """Return a call's result. Cancel the call, and tell the server, at its deadline or when the connection ends."""
        loop = asyncio.get_running_loop()
        task = start_task(calling)
        ended = start_task(self.closed.wait())
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
        """Read the lists again after each change, until the end."""
        listening = start_task(self._listen(client))
        try:
            while not (await self._before_the_end(self._changes())).cancelled():
                relisting = await self._before_the_end(listed(client, self.server, self.odd))
                if relisting.cancelled():
                    return
                if (error := relisting.exception()) is not None:  # an invalid answer raises many kinds of errors
                    _log.warning("server %s: can't read its lists again: %r", self.server.name, error)
                    continue
                fresh = relisting.result()
                if fresh.odd != self.listing.odd and not fresh.tools:
                    continue  # nothing in the new list can be used
                self.listing = fresh
                self.host.changed(fresh)
        finally:
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)

    async def _changes(self) -> None:
        """Wait for notices of changes, collecting all within a short time."""
        await self._changed.wait()
        await asyncio.sleep(CHANGE_SECONDS)
        self._changed.clear()

    async def _before_the_end(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run work in a task that is cancelled at the connection's end, and return the ended task."""
        task = start_task(work)
        ends = [start_task(event.wait()) for event in (self._closing, self.closed)]
        try:
            await asyncio.wait([task, *ends], return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in (*ends, *([] if task.done() else [task])):
                each.cancel()
            await asyncio.wait([task, *ends])
        return task

    async def _listen(self, client: Client) -> None:
        """Receive notices of changes from a server of the stateless protocol; older servers send them without a request."""
        offered = client.server_capabilities
        tools = bool(offered.tools and offered.tools.list_changed)
        prompts = bool(offered.prompts and offered.prompts.list_changed)
        resources = bool(offered.resources and offered.resources.list_changed)
        if not (tools or prompts or resources) or client.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS:
            return
        with contextlib.suppress(MCPError, RuntimeError, TimeoutError):
            async with (
                client.listen(
                    tools_list_changed=tools, prompts_list_changed=prompts, resources_list_changed=resources
                ) as events,
                closing(events) as stream,
            ):
                async for _ in stream:
                    self._changed.set()

    async def _entered(self, stack: contextlib.AsyncExitStack) -> Client:
        """Enter the SDK's client.

        Try the revisions with a handshake first, because the newest one asks the person differently, if at all.
        """
        try:
            return await stack.enter_async_context(self._opened("legacy"))
        except MCPError as error:
            if error.code not in _NO_HANDSHAKE or self.closed.is_set() or self.refused:
                raise
        return await stack.enter_async_context(self._opened("auto"))

    @asynccontextmanager
    async def _opened(self, mode: str) -> AsyncIterator[Client]:
        async with contextlib.AsyncExitStack() as stack:
            transport = await _OPENED_BY[self.server.transport.name](self, stack)
            client = Client(
                watched(transport, self.closed, self._note, self._stop),
                mode=mode,
                read_timeout_seconds=max(self.server.timeout, self.server.startup_timeout, START_SECONDS),
                list_roots_callback=self._roots,
                elicitation_callback=self._elicit,
                message_handler=self._message,
                client_info=types.Implementation(name="agentcli", version=__version__),
            )
            yield await stack.enter_async_context(client)

    async def _program(self, stack: contextlib.AsyncExitStack) -> _Streams:
        server = self.server
        log = stack.enter_context(contextlib.closing(self.host.logs.open(server.name)))
        folder = self.host.cwd / server.cwd if server.cwd else self.host.cwd
        given = StdioServerParameters(
            command=server.command,
            args=list(server.args),
            env={**self.host.environment, **server.env},
            cwd=folder,
            encoding=ENCODING,
            encoding_error_handler="replace",
        )
        return stdio_client(given, errlog=log)

    async def _event_stream(self, stack: contextlib.AsyncExitStack) -> _Streams:
        headers = dict(self.server.headers)
        return sse_client(self.server.url, headers=headers, auth=self.host.auth(), httpx_client_factory=self._http)

    async def _streamable_http(self, stack: contextlib.AsyncExitStack) -> _Streams:
        server = self.server
        patience = httpx2.Timeout(server.startup_timeout, read=server.timeout)
        http = self._http(dict(server.headers), patience, self.host.auth())
        client = await stack.enter_async_context(http)
        return streamable_http_client(server.url, http_client=client, max_sse_event_size=LONGEST)

    def _http(
        self,
        headers: dict[str, str] | None = None,
        timeout: httpx2.Timeout | None = None,
        auth: httpx2.Auth | None = None,
    ) -> httpx2.AsyncClient:
        """Return an HTTP client that records refusals of the server."""
        hooks: Mapping[str, Any] = {"response": [self._answered]}
        client = httpx2.AsyncClient(headers=headers, timeout=timeout, auth=auth, event_hooks=hooks)
        client.headers["Accept-Encoding"] = "gzip"
        return client

    async def _answered(self, response: httpx2.Response) -> None:
        if "event-stream" not in response.headers.get("content-type", "").lower():
            response.stream = Limited(response)
        asked, status = response.request, response.status_code
        if response.is_success and asked.headers.get("Authorization", "").startswith("Bearer "):
            self.refused = 0
        # The stream of a GET is optional, unless the server uses only streams.
        if status < 400 or (asked.method != "POST" and not self.server.transport.streams_only):
            return
        # Ignore the failed requests of a login, which follow the refusal.
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


_OPENED_BY: Mapping[Kind, Callable[[Connection, contextlib.AsyncExitStack], Awaitable[_Streams]]] = {
    Kind.stdio: Connection._program,
    Kind.http: Connection._streamable_http,
    Kind.sse: Connection._event_stream,
}
