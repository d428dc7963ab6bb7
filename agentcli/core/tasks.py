"""Tasks of asyncio: tasks that a caller awaits, and tasks in the background, whose failure is reported at once."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeVar

T = TypeVar("T")

_log = logging.getLogger(__name__)
_watched: set[asyncio.Task[Any]] = set()
"""The event loop itself does not keep a task alive without another reference to it."""


def start_task(work: Awaitable[T]) -> asyncio.Task[T]:
    """Start a task for a caller that awaits it or reads its result on every path. Otherwise use `watch` too."""
    return asyncio.ensure_future(work)


def log_failure(error: BaseException) -> None:
    """Log the exception that has ended a task."""
    _log.error("a task has failed", exc_info=error)


def watch_task(
    task: asyncio.Task[T],
    failed: Callable[[BaseException], object] = log_failure,
    ended: Callable[[T], object] | None = None,
) -> asyncio.Task[T]:
    """Call `failed` with the exception that ends a task, or `ended` with its result; neither if it is cancelled. Keep the task alive until then."""

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


class Future(Protocol):
    """A task or future of asyncio, or a future of threads."""

    def add_done_callback(self, callback: Callable[[Any], object], /) -> object: ...


def when_done(future: Future, call: Callable[[], object]) -> Callable[[], None]:
    """Call a function once when a future has ended, for any reason. Return a function that cancels this."""
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
