"""Event loop in a daemon thread: coroutines cross to it, and back to the loop that sent the last one."""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar
from weakref import WeakSet

from agentcli.core.errors import ToolError
from agentcli.core.tasks import run_beside

T = TypeVar("T")
_log = logging.getLogger("mcp")


class LoopThread:
    """A loop of the servers' own, so that their connections outlive the loop of one turn, or the thread that started them."""

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
        # Cancel only our own tasks: the SDK's tasks end with the connection that they belong to.
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
