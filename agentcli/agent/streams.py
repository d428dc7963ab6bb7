"""Waits that an interrupt ends. They are made in the task that waits: a value that is ready costs no turn of the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable
from contextlib import suppress
from typing import TypeVar

from agentcli.core.event import Event
from agentcli.core.streams import closing
from agentcli.core.tasks import start_task

Result = TypeVar("Result")

LONGEST_RUN = 0.01
"""Seconds for which a stream whose values are all there may keep other tasks waiting, such as the one that reads keys."""


async def until_interrupted(
    interrupt: asyncio.Event, work: Awaitable[Result], seconds: float | None = None
) -> Result | None:
    """Await `work`; None if `interrupt` is set or `seconds` pass first. The work is then cancelled and has ended."""
    async with _Watch(interrupt, seconds) as watch:
        try:
            return await watch.over(work)
        except _EndedEarly:
            return None


async def until_set(interrupt: asyncio.Event | None, stream: AsyncIterator[Result]) -> AsyncGenerator[Result, None]:
    """Yield the values of a stream as they come, until it ends or `interrupt` is set, which also ends the wait for a value.

    However this generator ends, the stream has been closed first: an abandoned async generator would otherwise continue until it is
    collected. The stream runs in the reader's own task: it cannot run ahead.
    """
    loop, interrupt = asyncio.get_running_loop(), interrupt or asyncio.Event()
    rested = loop.time()
    async with _Watch(interrupt) as watch, closing(stream) as values:
        try:
            while not interrupt.is_set():
                yield await watch.over(anext(values))
                if loop.time() - rested > LONGEST_RUN:
                    await asyncio.sleep(0)
                    rested = loop.time()
        except (_EndedEarly, StopAsyncIteration):
            return


class _EndedEarly(Exception):
    """The event was set, or the time has passed, during a wait."""


class _Watch:
    """Ends a wait once an event is set or so many seconds have passed. A context manager, which leaves no watcher behind."""

    def __init__(self, event: asyncio.Event, seconds: float | None = None) -> None:
        self._event, self._seconds = event, seconds
        self._waiting: asyncio.Task[object] | None = None
        self._watcher: asyncio.Task[None] | None = None
        self._ended = False

    async def __aenter__(self) -> _Watch:
        self._watcher = start_task(self._watch())
        return self

    async def __aexit__(self, *_: object) -> None:
        # The error that ends a task refers to its frame, and that to us: we would stay until a collection of garbage.
        watcher, self._watcher = self._watcher, None
        if watcher is not None:
            watcher.cancel()
            await asyncio.gather(watcher, return_exceptions=True)

    async def over(self, work: Awaitable[Result]) -> Result:
        """Return the result of `work`. Raises _EndedEarly if it was cancelled without a result."""
        # Each value of a stream may be read in a separate task.
        task = asyncio.current_task()
        assert task is not None
        cancelling, self._waiting = task.cancelling(), task
        try:
            return await work
        except (Exception, asyncio.CancelledError) as error:
            # A cancellation from elsewhere propagates.
            if self._ended and task.cancelling() == cancelling + 1:
                raise _EndedEarly from error
            raise
        finally:
            self._waiting = None
            if self._ended:
                task.uncancel()

    async def _watch(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(self._seconds):
                await self._event.wait()
        if self._waiting is not None:
            self._ended = True
            self._waiting.cancel()


class PrintedEvents:
    """Queue of what calls on their way tell: events that wait to be shown, and the end of the turn.

    `came` is set when there is an event, or something else to look at.
    """

    def __init__(self) -> None:
        self.came = asyncio.Event()
        self.ended = ""
        """The reason why a hook ends the turn, if one does."""
        self._events: list[Event] = []

    def add(self, event: Event) -> None:
        """Have an event shown."""
        self._events.append(event)
        self.came.set()

    def take(self) -> list[Event]:
        """Return the events since the last call."""
        self.came.clear()
        events, self._events = self._events, []
        return events
