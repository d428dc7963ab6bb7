"""Waiting with an interrupt, and merging of streams; neither leaves a task running behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from typing import TypeVar

Result = TypeVar("Result")


async def until_interrupted(
    interrupt: asyncio.Event, work: Awaitable[Result], seconds: float | None = None
) -> Result | None:
    """Await `work`; None if `interrupt` is set or `seconds` pass first. The work is then cancelled and awaited."""
    working = asyncio.ensure_future(work)
    stop = asyncio.create_task(interrupt.wait())
    try:
        await asyncio.wait((working, stop), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        return working.result() if working.done() else None
    finally:
        for task in (working, stop):
            task.cancel()
        await asyncio.gather(working, stop, return_exceptions=True)


T = TypeVar("T")


async def merge(*streams: AsyncIterator[T], until: asyncio.Event | None = None) -> AsyncIterator[T]:
    """Yield from all streams as values come, each driven in its own task, until all have ended or `until` is set.

    The first exception of a stream is raised here. However this generator ends, every stream has been cancelled and awaited
    first: an abandoned async generator would otherwise go on until it is collected.
    """
    # One slot: a stream must not run ahead of its reader, or an interrupt would lose what it had already done.
    queue: asyncio.Queue[tuple[T | None, BaseException | None, bool]] = asyncio.Queue(maxsize=1)

    async def pump(stream: AsyncIterator[T]) -> None:
        try:
            async for value in stream:
                await queue.put((value, None, False))
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # noqa: BLE001 - handed over, not swallowed: the reader raises it
            await queue.put((None, error, True))
        else:
            await queue.put((None, None, True))
        finally:
            close = getattr(stream, "aclose", None)
            if close is not None:
                await close()

    async def stop(event: asyncio.Event) -> None:
        await event.wait()
        await queue.put((None, None, False))  # wakes a reader that waits

    tasks = [asyncio.create_task(pump(stream)) for stream in streams]
    tasks += [asyncio.create_task(stop(until))] if until is not None else []
    try:
        left = len(streams)
        while left and not (until is not None and until.is_set()):
            value, error, ended = await queue.get()
            if error is not None:
                raise error
            if ended:
                left -= 1
            elif value is not None:
                yield value
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
