"""Threads in which the code of extensions runs. It cannot block the agent, and its output stays away from stdout."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import logging
import sys
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

from agentcli.core.clock import Clock
from agentcli.core.tasks import when_done
from agentcli.core.text.truncate import clip

T = TypeVar("T")
PRINTED = 10_000
"""Characters of a printed text that go to the log."""
POLL = 0.05
"""Seconds between two looks at a handler that waits for the person."""
_running: contextvars.ContextVar[str] = contextvars.ContextVar("extension", default="")
_log = logging.getLogger(__name__)


class Hung(Exception):
    """Code of an extension that took longer than it may."""


class Ended(Exception):
    """Code of an extension that tried to end the program or the thread."""


class Worker:
    """Runs plain functions in a thread each, and async ones in the event loop of one thread.

    A thread that does not return cannot be stopped: it is abandoned, and it does not keep the process alive.
    """

    def __init__(self, *, prints: bool = True) -> None:
        """Send what the code prints to the log, if it `prints`."""
        self._prints = prints
        self._loop: asyncio.AbstractEventLoop | None = None

    def begin(self, name: str, function: Callable[..., Any], /, *args: Any, **values: Any) -> Future[Any]:
        """Call a function of the extension `name`."""
        if self._prints:
            _route_prints()
        context = contextvars.copy_context()
        context.run(_running.set, name)
        if inspect.iscoroutinefunction(function):
            return self._in_loop(context, _guarded(function(*args, **values)))
        done: Future[Any] = Future()
        work = (context, function, args, values, done)
        threading.Thread(target=self._run, args=work, name=f"extension {name}", daemon=True).start()
        return done

    def wait(self, future: Future[T], seconds: float) -> T:
        """Return a result. Raise Hung after so many seconds, and what the function raised."""
        try:
            return future.result(seconds)
        except TimeoutError:
            if future.done():
                raise
            future.cancel()
            raise Hung from None

    async def result(self, future: Future[T], seconds: float, clock: Clock) -> T:
        """Wait for a result. Raise Hung after so many seconds, and what the function raised."""
        waiting = asyncio.wrap_future(future)
        while not waiting.done():
            left = seconds - clock.used
            if left <= 0:
                waiting.cancel()
                self._give_up_loop()
                raise Hung
            await asyncio.wait({waiting}, timeout=max(POLL, min(left, seconds)))
        if waiting.cancelled():
            raise Ended("CancelledError")
        return waiting.result()

    def close(self) -> None:
        """End the loop's thread, if it still answers."""
        loop, self._loop = self._loop, None
        if loop is not None:
            loop.call_soon_threadsafe(loop.stop)

    def _run(self, context: contextvars.Context, function: Any, args: Any, values: Any, done: Future[Any]) -> None:
        try:
            result = context.run(function, *args, **values)
        except BaseException as error:  # noqa: BLE001 - code of others may raise anything; the caller gets it
            done.set_exception(_harmless(error))
            return
        if inspect.isawaitable(result):
            following = self._in_loop(context, _guarded(result))
            when_done(following, lambda: _pass_on(following, done))
        elif not done.cancelled():
            done.set_result(result)

    def _in_loop(self, context: contextvars.Context, work: Coroutine[Any, Any, T]) -> Future[T]:
        return context.run(asyncio.run_coroutine_threadsafe, work, self._running_loop())

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            threading.Thread(target=_serve, args=(self._loop,), name="extensions", daemon=True).start()
        return self._loop

    def _give_up_loop(self) -> None:
        """Take another loop for later calls if this one does not answer."""
        loop = self._loop
        if loop is None:
            return
        answered = threading.Event()
        loop.call_soon_threadsafe(answered.set)
        if not answered.wait(POLL):
            self._loop = None


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
    finally:
        loop.close()


async def _guarded(work: Any) -> Any:
    """Return a result; an exception that would end the thread becomes another one."""
    try:
        return await work
    except asyncio.CancelledError:
        raise
    except BaseException as error:  # noqa: BLE001 - code of others may raise anything; the caller gets it
        raise _harmless(error) from error.__cause__


def _harmless(error: BaseException) -> BaseException:
    if isinstance(error, Exception) and not isinstance(error, StopIteration | StopAsyncIteration):
        return error
    ended = Ended(f"{type(error).__name__}: {error}".removesuffix(": "))
    return ended.with_traceback(error.__traceback__)


def _pass_on(ended: Future[Any], done: Future[Any]) -> None:
    if done.cancelled():
        return
    if ended.cancelled():
        done.cancel()
    elif error := ended.exception():
        done.set_exception(error)
    else:
        done.set_result(ended.result())


class _Routed:
    """Replacement for stdout that sends the prints of extensions to the log."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        if not (name := _running.get()):
            return int(self._stream.write(text))
        if text.strip():
            _log.info("the extension %s printed: %s", name, clip(text, PRINTED))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _route_prints() -> None:
    if not isinstance(sys.stdout, _Routed):
        sys.stdout = _Routed(sys.stdout)
