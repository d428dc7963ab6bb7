"""MCP servers of a run, for callers in other threads. All of them run in the event loop of one daemon thread.

Coroutines cross to that loop, and back to the loop that sent the last one.
"""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures
import logging
import math
import re
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakSet

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import ToolError
from agentcli.core.mcp_servers import (
    Content,
    Elicitation,
    Progress,
    ServerAnswer,
    ServerPrompt,
    ServerResource,
    Servers,
    ServerState,
    ServerTool,
    not_connected,
    server_of,
)
from agentcli.core.tasks import run_beside
from agentcli.core.text.words import did_you_mean, near_names
from agentcli.features.mcp.config import CALL_SECONDS, ServerDefinition
from agentcli.features.mcp.logs import LOG_BYTES, ServerLogs
from agentcli.features.mcp.names import server_prefix
from agentcli.features.mcp.supervision import CLOSE_SECONDS, RECONNECTS, ServerLife
from agentcli.features.mcp.variables import environment
from agentcli.system.keeper import Keeper

if TYPE_CHECKING:
    from agentcli.features.mcp.client import Host

T = TypeVar("T")
_log = logging.getLogger("mcp")
_K, _B = 1.2, 0.75
"""Constants of BM25, which ranks tools by their names, descriptions and names of parameters."""
_NAME_WEIGHT = 3
"""Weight of a word in a name relative to one in a description."""


class LoopThread:
    """The servers' own loop, so that their connections outlive a turn's loop, or the thread that started them."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._home: asyncio.AbstractEventLoop | None = None
        self._tasks: WeakSet[asyncio.Task[None]] = WeakSet()

    @property
    def running(self) -> bool:
        """True between `start` and `stop`."""
        return self._loop is not None

    def start(self, first: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Start the thread and, as its first task, `first`."""
        self._loop = asyncio.new_event_loop()
        self._loop.call_soon(self._begin, first)
        threading.Thread(target=_run, args=[self._loop], name="mcp", daemon=True).start()

    def stop(self, last: Callable[[], Coroutine[Any, Any, None]], seconds: float) -> None:
        """Cancel the tasks, run `last` for at most `seconds`, then end the thread."""
        loop, self._loop = self._loop, None
        if loop is None:
            return
        ending = asyncio.run_coroutine_threadsafe(self._end(last), loop)
        try:
            ending.result(seconds)
        except (concurrent.futures.TimeoutError, concurrent.futures.CancelledError):
            _log.warning("servers did not end within %s s", seconds)
        loop.call_soon_threadsafe(loop.stop)

    def begin(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Start a task in the loop, from any thread, without waiting for it."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._begin, work)

    def run(self, work: Coroutine[Any, Any, T]) -> asyncio.Future[T]:
        """Run a coroutine in the loop; return a future whose cancellation cancels it there. Raise ToolError after `stop`."""
        self._home = asyncio.get_running_loop()
        if self._loop is None:
            work.close()
            raise ToolError("The servers have been stopped.")
        return asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    async def at_home(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T | None:
        """Return the result of a coroutine in the loop that called `run` last; None if that loop has ended."""
        home = self._home
        if home is None or home.is_closed():
            return None
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work(), home))

    def _begin(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._tasks.add(run_beside(work()))

    async def _end(self, last: Callable[[], Coroutine[Any, Any, None]]) -> None:
        # Cancel only our own tasks: the SDK's tasks end with their connection.
        for task in self._tasks:
            task.cancel()
        await last()


def _run(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
    finally:
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


Ask = Callable[[Elicitation], Awaitable[Mapping[str, Any] | None]]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Context of the servers: environment, folder, folders of the workspace, log folder.

    `ask` asks the person a server's question, in the loop that called the server.
    """

    env: Mapping[str, str]
    cwd: Path
    roots: Callable[[], Sequence[Path]]
    logs: Path | None = None
    ask: Ask | None = None
    auth: Callable[[ServerDefinition], Any] = lambda _: None
    reconnects: Sequence[float] = RECONNECTS
    call_seconds: float = CALL_SECONDS


class McpServers(Servers):
    """Servers by their definitions. `start` returns at once; the SDK is imported only then, and not in the caller's thread."""

    def __init__(self, around: Surroundings) -> None:
        self.around = around
        self.logs = ServerLogs(around.logs)
        self._definitions: Mapping[str, ServerDefinition] = {}
        self._waiting: Mapping[str, ServerState] = {}
        self._lives: Mapping[str, ServerLife] = {}
        self._leaving: set[ServerLife] = set()
        """Removed servers that have not ended yet."""
        self._changes: list[str] = []
        self._roots = tuple(around.roots())
        self._thread = LoopThread()
        self._keeper = Keeper()
        self._begun: concurrent.futures.Future[None] = concurrent.futures.Future()

    def define(self, definitions: Sequence[ServerDefinition], waiting: Sequence[ServerState] = ()) -> None:
        """Set the servers of the run; `waiting` are servers that must not be started, with the reason.

        Connects new servers if others are connected, and tells all of them if the workspace's folders have changed.
        """
        self._definitions = {server.name: server for server in sorted(definitions, key=lambda each: each.name)}
        self._waiting = {state.name: state for state in waiting}
        self._thread.begin(self._begin)
        if (roots := tuple(self.around.roots())) != self._roots:
            self._roots = roots
            self._thread.begin(self._roots_changed)

    def start(self) -> None:
        """Connect all servers, in the background. Does nothing the second time."""
        if self._thread.running or not self._definitions:
            return
        if any(server.transport.is_program for server in self._definitions.values()):
            self._keeper.start()
        self._thread.start(self._begin)
        atexit.register(self.close)

    def close(self) -> None:
        """End all servers together with their processes."""
        atexit.unregister(self.close)
        if self._thread.running:
            self._thread.stop(self._end, CLOSE_SECONDS)
            self.logs.close()
        self._keeper.close()

    def states(self) -> Sequence[ServerState]:
        """Return the state of each server, by name."""
        found = dict(self._waiting)
        for name, server in self._definitions.items():
            life = self._lives.get(name)
            found[name] = life.state if life else ServerState(name, "connecting", origin=server.source)
        return [found[name] for name in sorted(found)]

    def tools(self) -> Sequence[ServerTool]:
        """Return the tools of all servers that are or were connected, by name, except disabled ones."""
        found = {
            tool.name: tool for life in self._lives.values() if life.state.status != "disabled" for tool in life.tools
        }
        return [found[name] for name in sorted(found)]

    def prompts(self) -> Sequence[ServerPrompt]:
        """Return the prompts of all servers, by server and name."""
        return [prompt for _, life in sorted(self._lives.items()) for prompt in life.prompts]

    def resources(self) -> Sequence[ServerResource]:
        """Return the resources that the servers list, by server and URI."""
        return [found for _, life in sorted(self._lives.items()) for found in life.resources]

    def search(self, query: str, limit: int) -> Sequence[ServerTool]:
        """Return the tools that fit a query best, best first."""
        return ranked(query, self.tools(), limit)

    def obstacle(self, name: str) -> str:
        """Return why there is no tool of that name."""
        state = next((state for state in self.states() if name.startswith(server_prefix(state.name))), None)
        if state is None:
            known = ", ".join(state.name for state in self.states())
            return f"{not_connected(server_of(name), 'it is not configured here')} Servers: {known or 'none'}."
        if state.status != "connected":
            return state.obstacle
        own = {tool.name.removeprefix(server_prefix(state.name)): tool.name for tool in self.tools()}
        near = did_you_mean([own[each] for each in near_names(name.removeprefix(server_prefix(state.name)), own)])
        return f"Server {state.name} has no tool {name}.{near or ' mcp_search finds its tools.'}"

    def changes(self) -> Sequence[str]:
        """Return lines for the model about all changes so far: servers that connected, failed, or changed their tools."""
        return tuple(self._changes)

    def log(self, server: str) -> str:
        """Return the end of a server's stderr."""
        return self.logs.tail(server, most=LOG_BYTES)

    async def settle(self, seconds: float | None, tool: str = "", *, again: bool = False) -> None:
        """Wait until no server, or this tool's server, is connecting any more, for at most `seconds`.

        Starts the servers; with `again` also the failed ones.
        """
        self.start()
        waited = [state for state in self.states() if tool.startswith(server_prefix(state.name)) or not tool]
        failed = again and any(state.status == "failed" for state in waited)
        if not self._thread.running or (all(state.settled for state in waited) and not failed):
            return
        waiting = self._thread.run(self._settled([state.name for state in waited], again=again))
        await asyncio.wait({waiting}, timeout=seconds)
        waiting.cancel()

    async def call(self, tool: ServerTool, arguments: Mapping[str, Any], progress: Progress) -> ServerAnswer:
        """Call a tool. Raise ToolError if no answer comes."""
        home = asyncio.get_running_loop()
        life = self._life(tool.server)

        def report(text: str) -> None:
            home.call_soon_threadsafe(progress, text)

        return await self._thread.run(life.call(tool, arguments, report))

    async def read(self, server: str, uri: str) -> ServerAnswer:
        """Read a resource. Raise ToolError if no answer comes."""
        return await self._thread.run(self._life(server).read(uri))

    async def prompt(self, server: str, name: str, arguments: Mapping[str, str]) -> Sequence[Content]:
        """Return the texts of a prompt. Raise ToolError if no answer comes."""
        return await self._thread.run(self._life(server).prompt(name, arguments))

    async def restart(self, server: str) -> ServerState:
        """Connect a server again. Raise ToolError if it does not exist."""
        life = self._life(server)
        await self._thread.run(life.restart())
        return life.state

    async def disable(self, server: str) -> None:
        """Stop a server until it is restarted. Raise ToolError if it does not exist."""
        await self._thread.run(self._life(server).disable())

    def _life(self, server: str) -> ServerLife:
        life = self._lives.get(server)
        if life is None:
            state = next((state for state in self.states() if state.name == server), None)
            raise ToolError(state.obstacle if state else f"There is no server {server!r}.")
        return life

    async def _begin(self) -> None:
        try:
            around, host = self.around, self._host()
            fresh = {
                name: ServerLife(
                    server, replace(host, auth=partial(around.auth, server)), self._note, around.reconnects
                )
                for name, server in self._definitions.items()
                if name not in self._lives or self._lives[name].defined != server
            }
            former = self._lives
            self._lives = {name: fresh.get(name) or former[name] for name in self._definitions}
            if not self._begun.done():
                self._begun.set_result(None)
            self._leaving |= {life for name, life in former.items() if self._lives.get(name) is not life}
            gone = [self._leave(life) for name, life in former.items() if name not in self._definitions]
            await asyncio.gather(*gone, *(self._in_place_of(former.get(name), life) for name, life in fresh.items()))
        except BaseException as error:  # also a cancellation: a caller that waits for the start must learn of its end
            if not self._begun.done():
                self._begun.set_exception(error)
            raise

    def _host(self) -> Host:
        from agentcli.features.mcp.client import Host

        around = self.around
        return Host(
            environment={
                **environment(around.env),
                **self._keeper.variables,
                "CLAUDE_PROJECT_DIR": str(around.cwd),
                "AGENTCLI_PROJECT_DIR": str(around.cwd),
            },
            variables=around.env,
            cwd=around.cwd,
            roots=around.roots,
            logs=self.logs,
            elicit=self._elicit,
            call_seconds=around.call_seconds,
        )

    async def _leave(self, life: ServerLife) -> None:
        await life.close()
        self._leaving.discard(life)

    async def _in_place_of(self, former: ServerLife | None, life: ServerLife) -> None:
        """Start a server after the previous one of its name has ended: both may need the same port or file."""
        if former is not None:
            await self._leave(former)
        await life.start()

    async def _roots_changed(self) -> None:
        """Tell the servers that the folders of the workspace have changed."""
        await asyncio.gather(*(life.roots_changed() for life in self._lives.values()))

    async def _settled(self, names: Sequence[str], *, again: bool) -> None:
        await asyncio.wrap_future(self._begun)
        tried = [self._lives[name] for name in names if again and name in self._lives]
        for each in tried:
            each.try_again()
        for name in names:
            # A replaced server sets `settled` when it ends.
            while (life := self._lives.get(name)) is not None and not life.settled.is_set():
                await life.settled.wait()
        for each in tried:
            await each.arrival()

    async def _end(self) -> None:
        lives = [*self._lives.values(), *self._leaving]
        await asyncio.gather(*(life.close() for life in lives), return_exceptions=True)

    async def _elicit(self, asked: Elicitation) -> Mapping[str, Any] | None:
        ask = self.around.ask
        if ask is None:
            return None

        async def put() -> Mapping[str, Any] | None:
            return await ask(asked)

        return await self._thread.at_home(put)

    def _note(self, line: str) -> None:
        self._changes.append(line)


def ranked(query: str, tools: Sequence[ServerTool], limit: int) -> list[ServerTool]:
    """Return the tools that match best, best first.

    `select:NAME,NAME` selects them by name, with or without the server.
    """
    if query.startswith("select:"):
        names = [name.strip() for name in query.removeprefix("select:").split(",")]
        return [tool for name in names for tool in tools if name in (tool.name, tool.tool)]
    scores = _scores(set(_words(query)), tools)
    best = sorted((tool for tool in tools if scores[tool.name] > 0), key=lambda tool: (-scores[tool.name], tool.name))
    return best[:limit]


def _scores(asked: set[str], tools: Sequence[ServerTool]) -> dict[str, float]:
    texts = {tool.name: Counter(_document(tool)) for tool in tools}
    mean = sum(text.total() for text in texts.values()) / max(1, len(texts)) or 1
    rarity = {word: _rarity(sum(word in text for text in texts.values()), len(texts)) for word in asked}
    return {
        name: sum(
            rarity[word] * text[word] * (_K + 1) / (text[word] + _K * (1 - _B + _B * text.total() / mean))
            for word in asked
        )
        for name, text in texts.items()
    }


def _rarity(having: int, of: int) -> float:
    return math.log(1 + (of - having + 0.5) / (having + 0.5))


def _document(tool: ServerTool) -> Iterable[str]:
    properties = tool.parameters.get("properties")
    names = properties if isinstance(properties, dict) else {}
    yield from _words(f"{tool.server} {tool.tool}") * _NAME_WEIGHT
    yield from _words(tool.description)
    yield from _words(" ".join(map(str, names)))


def _words(text: str) -> list[str]:
    """Return the words in lower case; `getUserName` and `get_user_name` have three. A plural counts as its singular."""
    split = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", text)
    return [_singular(word) for word in re.findall(r"[^\W_]+", split.lower())]


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
