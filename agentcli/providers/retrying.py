"""Retries of failed requests; nothing else retries."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from agentcli.core import event
from agentcli.core.errors import ModelError
from agentcli.core.model import Model, ModelSpec, Request, StreamEvent
from agentcli.core.ranges import Positive, Share


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Limits of retrying: `attempts` requests in all; the wait doubles from `first` to `longest` seconds.

    `jitter` is the share of a wait that chance may take away. A provider that asks for more than `patience` seconds is
    not waited for.
    """

    attempts: Positive = 5
    first: float = 0.5
    longest: float = 32.0
    jitter: Share = 0.25
    patience: float = 60.0

    def delay(self, attempt: int, error: ModelError, chance: float) -> float | None:
        """Seconds to wait after failed attempt number `attempt` (from 1), or None to give up. `chance` is in [0, 1)."""
        if not error.retryable or attempt >= self.attempts:
            return None
        if error.retry_after is not None:
            return error.retry_after if error.retry_after <= self.patience else None
        return min(self.longest, self.first * 2.0 ** (attempt - 1)) * (1 - self.jitter * chance)


class RetryingModel:
    """A Model that asks again when its own model fails in a way that may pass."""

    def __init__(
        self,
        model: Model,
        policy: RetryPolicy | None = None,
        *,
        sleep: Callable[[float], Awaitable[Any]] | None = None,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._model = model
        self._policy = policy or RetryPolicy()
        self._sleep = sleep
        self._chance = chance

    @property
    def spec(self) -> ModelSpec:
        """Spec of the wrapped model."""
        return self._model.spec

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        """See `Model.stream`. A wait is announced by `Retrying`; a partial reply is discarded first."""
        attempt = 0
        while True:
            attempt += 1
            started = False
            try:
                async with aclosing(self._model.stream(request)) as steps:  # type: ignore[type-var]
                    async for step in steps:
                        started = True
                        yield step
                return
            except ModelError as error:
                delay = self._policy.delay(attempt, error, self._chance())
                if delay is None:
                    raise
                reason = str(error)
            if started:
                yield event.ReplyRestarted()
            yield event.Retrying(attempt, delay, reason)
            await self._wait(delay)

    async def count(self, request: Request) -> int | None:
        """See `Model.count`; a failure is not worth a second try."""
        return await self._model.count(request)

    async def close(self) -> None:
        """Close the model inside, where it holds something open."""
        close = getattr(self._model, "close", None)
        if close is not None:
            await close()

    async def _wait(self, delay: float) -> None:
        import asyncio

        await (self._sleep or asyncio.sleep)(delay)
