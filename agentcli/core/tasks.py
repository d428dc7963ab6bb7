"""Tasks and streams of asyncio that end reliably.

They end with their reader or on an interrupt. In the background, they report their failure.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from threading import Timer
from typing import TYPE_CHECKING, Any, TypeVar

from agentcli.core.streams import closing

if TYPE_CHECKING:
    from concurrent.futures import Future

T = TypeVar("T")

_log = logging.getLogger(__name__)
_watched: set[asyncio.Task[Any]] = set()
"""The event loop itself keeps no reference to a task, so this set does."""


def start_task(work: Awaitable[T]) -> asyncio.Task[T]:
    """Start a task for a caller that awaits it or reads its result on every path. Otherwise also use `watch`."""
    return asyncio.ensure_future(work)


def log_failure(error: BaseException) -> None:
    """Log the exception that has ended a task."""
    _log.error("a task has failed", exc_info=error)


def watch_task(
    task: asyncio.Task[T],
    failed: Callable[[BaseException], object] = log_failure,
    ended: Callable[[T], object] | None = None,
) -> asyncio.Task[T]:
    """Call `failed` with the exception that ends a task, or `ended` with its result; neither if it is cancelled. Keep a
    reference to the task until then.
    """

    def over(_: asyncio.Task[T]) -> None:
        _watched.discard(task)
        if task.cancelled():
            return
        if (error := task.exception()) is not None:
            failed(error)
        elif ended is not None:
            ended(task.result())

    _watched.add(task)
    task.add_done_callback(over)
    return task


def run_beside(work: Awaitable[Any], failed: Callable[[BaseException], object] = log_failure) -> asyncio.Task[Any]:
    """Start a task that no caller awaits, and watch it."""
    return watch_task(start_task(work), failed)


def end_within(seconds: float, code: int) -> None:
    """End the process with an exit code unless it has ended within `seconds`, whatever its loop and threads wait for."""
    ending = Timer(seconds, os._exit, [code])
    ending.daemon = True
    ending.start()


def when_done(future: asyncio.Future[Any] | Future[Any], call: Callable[[], object]) -> Callable[[], None]:
    """Call a function once when a future ends, for any reason. Return a function that cancels this."""
    wanted = [call]

    def done(_: object) -> None:
        for each in wanted:
            each()

    def take_back() -> None:
        wanted.clear()
        if isinstance(future, asyncio.Future):  # a future of threads keeps its callbacks
            future.remove_done_callback(done)

    future.add_done_callback(done)
    return take_back


Result = TypeVar("Result")

LONGEST_RUN = 0.01
"""Seconds that a stream with ready values may keep other tasks waiting, such as the key reader."""


async def until_interrupted(
    interrupt: asyncio.Event, work: Awaitable[Result], seconds: float | None = None
) -> Result | None:
    """Await `work`. Return None if `interrupt` is set or `seconds` pass first; the work has then been cancelled and has
    ended.
    """
    async with Watch(interrupt, seconds) as watch:
        try:
            return await watch.over(work)
        except EndedEarly:
            return None


async def until_set(interrupt: asyncio.Event | None, stream: AsyncIterator[Result]) -> AsyncGenerator[Result, None]:
    """Yield the values of a stream as they come, until it ends or `interrupt` is set.

    An interrupt also ends a wait. However this generator ends, it closes the stream first. Otherwise, an abandoned
    async generator would continue until it is collected. The stream runs in the reader's own task, so it cannot run
    ahead.
    """
    loop, interrupt = asyncio.get_running_loop(), interrupt or asyncio.Event()
    rested = loop.time()
    async with Watch(interrupt) as watch, closing(stream) as values:
        try:
            while not interrupt.is_set():
                yield await watch.over(anext(values))
                if loop.time() - rested > LONGEST_RUN:
                    await asyncio.sleep(0)
                    rested = loop.time()
        except (EndedEarly, StopAsyncIteration):
            return


async def emitted(work: Callable[[Callable[[T], Awaitable[None]]], Awaitable[object]]) -> AsyncGenerator[T, None]:
    """Yield the values that `work` emits, one at a time. The work continues only when the reader wants the next value.

    It runs in its own task. However this generator ends, the task has ended first; it is cancelled if the reader
    leaves.
    """
    values: list[T] = []
    changed, wanted = asyncio.Event(), asyncio.Event()

    async def emit(value: T) -> None:
        values.append(value)
        wanted.clear()
        changed.set()
        await wanted.wait()

    task = start_task(work(emit))
    task.add_done_callback(lambda _: changed.set())
    try:
        while not task.done():
            await changed.wait()
            changed.clear()
            while values:
                yield values.pop(0)
                wanted.set()
    finally:
        task.cancel()
        await asyncio.wait((task,))
        if not task.cancelled():
            task.result()
    task.result()


class EndedEarly(Exception):
    """During a wait, the event was set or the time ran out."""


class Watch:
    """Ends a wait when an event is set, or when it has lasted `seconds`. A context manager that leaves no watcher behind.

    One timer serves all waits. It is set again only when it runs out, because most waits are far shorter.
    """

    def __init__(self, event: asyncio.Event | None = None, seconds: float | None = None) -> None:
        self._event, self._seconds = event, seconds
        self._waiting: asyncio.Task[object] | None = None
        self._watcher: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._since = 0.0
        self._ended = False

    async def __aenter__(self) -> Watch:
        if self._event is not None:
            self._watcher = start_task(self._watch(self._event))
        if self._seconds is not None:
            self._timer = asyncio.get_running_loop().call_later(self._seconds, self._look, self._seconds)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._timer is not None:
            self._timer.cancel()
        # The task's exception refers to its frame, and the frame to this object. It would then live until a garbage
        # collection.
        watcher, self._watcher, self._timer = self._watcher, None, None
        if watcher is not None:
            watcher.cancel()
            await asyncio.gather(watcher, return_exceptions=True)

    async def over(self, work: Awaitable[Result]) -> Result:
        """Return the result of `work`. Raises EndedEarly if it was cancelled without a result."""
        # Each value of a stream may be read in a different task.
        task = asyncio.current_task()
        assert task is not None
        cancelling, self._waiting = task.cancelling(), task
        if self._timer is not None:
            self._since = asyncio.get_running_loop().time()
        try:
            return await work
        except (Exception, asyncio.CancelledError) as error:
            # A cancellation from elsewhere propagates.
            if self._ended and task.cancelling() == cancelling + 1:
                raise EndedEarly from error
            raise
        finally:
            self._waiting = None
            if self._ended:
                task.uncancel()

    async def _watch(self, event: asyncio.Event) -> None:
        await event.wait()
        self._end()

    def _look(self, seconds: float) -> None:
        """End the wait if its time is over. Otherwise look again when it will be."""
        loop = asyncio.get_running_loop()
        left = self._since + seconds - loop.time() if self._waiting is not None else seconds
        if left > 0:
            self._timer = loop.call_later(left, self._look, seconds)
        else:
            self._end()

    def _end(self) -> None:
        if self._waiting is not None and not self._ended:
            self._ended = True
            self._waiting.cancel()
