"""Waits for one thing, unless something else comes first."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

Result = TypeVar("Result")


async def unless(interrupt: asyncio.Event, work: Awaitable[Result], seconds: float | None = None) -> Result | None:
    """What comes of the work; None if the interrupt comes first, or the time is over. The work is cancelled then, and awaited."""
    working = asyncio.ensure_future(work)
    stop = asyncio.create_task(interrupt.wait())
    try:
        await asyncio.wait((working, stop), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        return working.result() if working.done() else None
    finally:
        for task in (working, stop):
            task.cancel()
        await asyncio.gather(working, stop, return_exceptions=True)
