"""An event loop with a clock of its own: it stands still while anything happens, and jumps to the next timer when nothing does."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")
MOMENT = 0.02
"""Real seconds without any news after which nothing is to be expected. All who take part must run on this loop."""


class JumpingLoop(asyncio.SelectorEventLoop):
    """`now` is its time in seconds: hours pass in a moment, and no work takes any time."""

    def __init__(self) -> None:
        self.now = 1_000.0
        super().__init__(_Selector(self))

    def time(self) -> float:
        return self.now

    async def shutdown_default_executor(self, *_: Any) -> None:
        """Wait for its threads without a limit: from Python 3.12 on there is one, which would pass in a moment."""
        await super().shutdown_default_executor()


class _Selector(selectors.DefaultSelector):
    def __init__(self, loop: JumpingLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(timeout and min(timeout, MOMENT))
        if timeout and not ready:
            self._loop.now += timeout
        return ready


def seconds_of(work: Coroutine[Any, Any, T]) -> tuple[float, T]:
    """Run to its end what waits for long; the seconds that passed on its clock, and its result."""
    with asyncio.Runner(loop_factory=JumpingLoop) as runner:
        loop = runner.get_loop()
        began = loop.time()
        result = runner.run(work)
        return loop.time() - began, result
