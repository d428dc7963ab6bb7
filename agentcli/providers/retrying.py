"""Retries of failed requests; nothing else retries."""

from __future__ import annotations

import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from agentcli.core import event
from agentcli.core.dataclass import dataclass
from agentcli.core.errors import OUTAGES, ModelError
from agentcli.core.event import seconds_left
from agentcli.core.model import Model, ModelSpec, Request, StreamEvent
from agentcli.core.text.ranges import Share
from agentcli.providers.gate import Gate, OpenGate

OTHER_ATTEMPTS = 5
"""Requests in all where the fault is no outage, such as a reply that does not follow the wire format: time alone does not cure it."""
ASKED_JITTER = 0.1
"""Share of a wait that a provider asks for which chance may add: those who wait for the same moment must not all come back in it."""
HELD_AT_LEAST = 1.0
"""Seconds: a shorter wait at the rate gate is not announced."""
HELD = "Held back: the provider has refused requests of this key"
ASKED_AT_LEAST = 1.0
"""Seconds: a shorter wait that a provider asks for is one of our own, which grows."""
_MOST_DOUBLINGS = 30


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """`[retry]`: limits of retrying. Times in seconds; the wait doubles from `first` to `longest`."""

    patience: float = 600.0
    """Seconds from the first failure on for which requests are repeated: overload, server and network faults, rate limits."""
    short_patience: float = 30.0
    """The same where there is a substitute: a fallback model, or a snapshot made without a model."""
    attempts: int = 0
    """Maximum requests, the first included; 0: limited by `patience` alone."""
    first: float = 0.5
    """The first wait."""
    longest: float = 15.0
    """The longest wait."""
    jitter: Share = 0.25
    """Maximum share of a wait that is taken off at random."""

    @property
    def short(self) -> RetryPolicy:
        """The policy with `short_patience`."""
        return replace(self, patience=min(self.patience, self.short_patience))

    def delay(self, attempt: int, error: ModelError, chance: float, elapsed: float = 0.0) -> float | None:
        """Seconds to wait after failed attempt number `attempt` (from 1), or None to give up.

        `chance` is in [0, 1), `elapsed` the seconds since the first failure.
        """
        most = self.attempts or (0 if error.cause in OUTAGES else OTHER_ATTEMPTS)
        if not error.retryable or 0 < most <= attempt:
            return None
        asked = error.retry_after or 0.0
        wait = self._wait(attempt, asked, chance)
        least = asked if asked >= ASKED_AT_LEAST else wait
        return wait if elapsed + least <= self.patience else None

    def _wait(self, attempt: int, asked: float, chance: float) -> float:
        if asked >= ASKED_AT_LEAST:
            return asked * (1 + ASKED_JITTER * chance)
        growing = self.first * 2.0 ** min(attempt - 1, _MOST_DOUBLINGS)
        return max(asked, min(self.longest, growing) * (1 - self.jitter * chance))


class RetryingModel:
    """A Model that asks again when its own model fails in a way that may pass."""

    def __init__(
        self,
        model: Model,
        policy: RetryPolicy | None = None,
        *,
        gate: Gate | None = None,
        sleep: Callable[[float], Awaitable[Any]] | None = None,
        chance: Callable[[], float] = random.random,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`gate` is asked before each request; `clock` returns seconds that do not run while the machine sleeps."""
        self._model = model
        self._policy = policy or RetryPolicy()
        self._gate = gate or OpenGate()
        self._sleep = sleep
        self._chance = chance
        self._clock = clock

    @property
    def spec(self) -> ModelSpec:
        """Spec of the wrapped model."""
        return self._model.spec

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        """See `Model.stream`. A wait is announced by `Retrying`; a partial reply stands until it is over, and is then discarded."""
        attempt, failed_at = 0, 0.0
        held = self._gate.take()
        if held >= HELD_AT_LEAST:
            yield event.Retrying(0, held, HELD)
        if held:
            await self._wait(held)
        while True:
            attempt += 1
            started = False
            sent = self._clock()
            try:
                async with aclosing(self._model.stream(request)) as steps:  # type: ignore[type-var]
                    async for step in steps:
                        if not started:
                            self._gate.passed()
                        started = True
                        yield step
                return
            except ModelError as error:
                failed_at = self._clock() if attempt == 1 else failed_at
                elapsed = self._clock() - failed_at
                delay = self._policy.delay(attempt, error, self._chance(), elapsed)
                if delay is None:
                    raise self._last(error, attempt, elapsed) from None
                if error.cause == "rate_limit":
                    self._gate.refused(error.retry_after or 0.0, self._clock() - sent)
                delay = max(delay, self._gate.take())
                reason = error.brief
            yield event.Retrying(attempt, delay, reason, max(0.0, self._policy.patience - elapsed))
            await self._wait(delay)
            if started:
                yield event.ReplyRestarted()

    async def prepare(self) -> None:
        """Have the model inside find out what it can before its first request."""
        prepare = getattr(self._model, "prepare", None)
        if prepare is not None:
            await prepare()

    async def count(self, request: Request) -> int | None:
        """See `Model.count`; a failure is not worth a second try."""
        return await self._model.count(request)

    async def close(self) -> None:
        """Close the model inside, where it holds something open."""
        close = getattr(self._model, "close", None)
        if close is not None:
            await close()

    def _last(self, error: ModelError, attempts: int, elapsed: float) -> ModelError:
        """The error to raise for good: the same, with what was tried where another request may help later."""
        if not error.retryable:
            return error
        patience = self._policy.patience
        if (error.retry_after or 0.0) > patience:
            tried = f"That is longer than retry.patience ({patience:g} s)."
        elif attempts > 1:
            tried = f"Gave up after {attempts} requests in {seconds_left(elapsed)}."
        else:
            return error
        return ModelError(
            f"{str(error).rstrip('.')}. {tried}",
            error.cause,
            retry_after=error.retry_after,
            status=error.status,
            should_retry=error.should_retry,
            brief=error.brief,
        )

    async def _wait(self, delay: float) -> None:
        import asyncio

        await (self._sleep or asyncio.sleep)(delay)
