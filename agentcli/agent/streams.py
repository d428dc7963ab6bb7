"""Waiting with an interrupt, for a result or for the values of a stream; neither leaves a task running behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import suppress
from typing import TypeVar

Result = TypeVar("Result")

LONGEST_RUN = 0.01
"""Seconds for which a stream whose values are all there may keep other tasks waiting, such as the one that reads keys."""


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


async def until_set(interrupt: asyncio.Event | None, stream: AsyncIterator[Result]) -> AsyncIterator[Result]:
    """Yield the values of a stream as they come, until it ends or `interrupt` is set, which also ends the wait for a value.

    However this generator ends, the stream has been closed first: an abandoned async generator would otherwise go on until it is
    collected. The stream runs in the reader's own task: it cannot run ahead, and a value costs no switch of tasks.
    """
    loop, waiting = asyncio.get_running_loop(), asyncio.timeout(None)
    rested = loop.time()

    async def stop(event: asyncio.Event) -> None:
        await event.wait()
        with suppress(RuntimeError):  # nobody waits
            waiting.reschedule(loop.time())

    stopping = asyncio.create_task(stop(interrupt)) if interrupt is not None else None
    try:
        while interrupt is None or not interrupt.is_set():
            try:
                async with (waiting := asyncio.timeout(None)):
                    value = await anext(stream)
            except StopAsyncIteration:
                return
            except TimeoutError:
                if waiting.expired():
                    return
                raise
            yield value
            if loop.time() - rested > LONGEST_RUN:
                await asyncio.sleep(0)
                rested = loop.time()
    finally:
        if stopping is not None:
            stopping.cancel()
            await asyncio.wait((stopping,))
        close = getattr(stream, "aclose", None)
        if close is not None:
            await close()
