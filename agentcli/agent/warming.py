"""Repeats the last request during the user's pause, for a reply of one token, if that pays twice over."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from agentcli.agent.core import SessionCore
from agentcli.agent.reply import ReplyBuilder
from agentcli.context.cache_health import changed_between
from agentcli.context.warmth import LEAD, LONGEST, USUAL, Pauses, gain, gains_by_cold
from agentcli.core.errors import AgentError, ModelError, StoreError
from agentcli.core.event import Event, Retrying, UsageReported, Waiting
from agentcli.core.message import Text, Usage
from agentcli.core.model import Request
from agentcli.core.record import FeatureState
from agentcli.core.streams import closing
from agentcli.system.paths import replace_file

NAME = "keeping the cache warm"
"""The name of the feature, and of its records."""
PATIENCE = 20.0
"""Seconds for the answer to a repetition."""

_log = logging.getLogger(__name__)


class Warmer:
    """Keeps a session's cache warm. `file` keeps the user's pauses; None: they are forgotten at the end.

    What it spends is recorded with the next prompt, by `/usage`, or at the end. While the session waits, no record is made.
    """

    def __init__(self, core: SessionCore, file: Path | None) -> None:
        self._core, self._file = core, file
        self._pauses = _kept(file)
        self._replied_at: float | None = None
        self._usage, self._cost = Usage(), 0.0
        self._refused = False
        """True once the provider has refused a repetition."""
        self._rests = False
        """True if nothing is repeated until the next reply."""

    def answered(self) -> None:
        """Begin the wait for the next prompt, if this process has sent a request."""
        cache = self._core.builder.cache
        self._replied_at, self._rests = cache.clock() if cache.used_at else None, False

    def prompted(self, *, by_user: bool) -> None:
        """Note the end of the wait, which is a pause if the user wrote the prompt."""
        self.record()
        replied_at, self._replied_at = self._replied_at, None
        if replied_at is None or not by_user:
            return
        self._pauses = self._pauses.after(self._core.builder.cache.clock() - replied_at)
        if self._file is not None:
            try:
                replace_file(self._file, json.dumps({"pauses": self._pauses.counts}), mode=0o600)
            except (OSError, StoreError) as error:
                _log.info("pauses are not kept: %s", error)

    def record(self) -> None:
        """Record what was spent since the last record."""
        if self._usage.total:
            state = FeatureState(NAME, {"spent": self._spent}, self._core.model.name, self._usage, self._cost)
            self._core.record(state)
        self._usage, self._cost = Usage(), 0.0

    def wait(self) -> float | None:
        """Return the seconds until the request is repeated; None if that does not pay, or is not possible."""
        builder, spec = self._core.builder, self._core.model
        cache, size = builder.cache, builder.cache.health.expected
        if self._replied_at is None or self._rests or not self._is_possible(cache.sent):
            return None
        age = cache.clock() - cache.used_at
        price, cold = spec.cost(Usage(cache_read=size, output=1)), spec.cost(Usage(cache_write=size))
        if price is None or cold is None or not self._may_spend(price) or age > spec.cache_lifetime:
            return None
        rest = max(0.0, spec.cache_lifetime - LEAD - age)
        waited = cache.clock() + rest - self._replied_at
        pays = waited <= LONGEST and gain(self._pauses, waited, spec.cache_lifetime, price, cold - price) > price
        return rest if pays and not gains_by_cold(builder.window(), size, datetime.now(UTC)) else None

    def expires(self) -> float:
        """Return the seconds until the cache has expired."""
        cache = self._core.builder.cache
        return max(0.0, cache.used_at + self._core.model.cache_lifetime - cache.clock())

    async def repeat(self) -> Sequence[Event]:
        """Repeat the last request if that still pays and the next one will begin with it; return its cost.

        Errors of the network and refusals are only logged, and nothing is repeated until the next reply.
        """
        builder = self._core.builder
        sent, rest = builder.cache.sent, self.wait()
        if rest is None or rest > LEAD or sent is None or changed_between(sent, builder.aside((Text("…"),))):
            self._rests = True
            return []
        reply = ReplyBuilder()
        try:
            async with asyncio.timeout(PATIENCE), closing(builder.model.stream(replace(sent, max_output=1))) as steps:
                async for step in steps:
                    if isinstance(step, Retrying | Waiting):
                        self._rests = True
                        break
                    reply = reply.add(step)
            if reply.usage is not None:
                builder.cache.note_repetition()
        except (AgentError, TimeoutError) as error:
            _log.info("the cache is not kept warm: %s", error)
            self._refused = isinstance(error, ModelError) and error.cause == "bad_request"
            self._rests = True
        finally:
            events = self._pay(reply.usage)
        return events

    def _pay(self, usage: Usage | None) -> Sequence[Event]:
        if usage is None:
            return []
        cost = self._core.model.cost(usage)
        self._usage, self._cost = self._usage + usage, self._cost + (cost or 0.0)
        return [UsageReported(usage, cost, 0, kind="aside")]

    @property
    def _spent(self) -> float:
        """USD spent in this session so far."""
        kept = self._core.journal.history.features.get(NAME)
        return (float(kept.data.get("spent", 0.0)) if kept is not None else 0.0) + self._cost

    def _may_spend(self, price: float) -> bool:
        """Return True if neither the limit for warming nor a budget is used up."""
        guard, spending = self._core.guard, self._core.spending
        within = all(budget.used(spent) < 1 for budget, spent in guard.state(*spending.totals()))
        return within and self._spent + price <= self._core.builder.settings.cache.warm_cost

    def _is_possible(self, sent: Request | None) -> bool:
        """Return True if the request can be repeated, and its prefix is marked for the cache."""
        spec = self._core.model
        if self._core.builder.cache.health.expected < max(1, spec.cache_minimum):
            return False
        if sent is None or self._refused or spec.kind != "anthropic" or not spec.cache_explicit:
            return False
        # A budget of thoughts is larger than one token, and without it the cache would not be read.
        thinks = spec.thinking == "budget" and sent.options.get("thinking")
        return bool(sent.breakpoints) and sent.compaction is None and not thinks


def _kept(file: Path | None) -> Pauses:
    """Return the pauses in a file; none if there is no such file, or another version wrote it."""
    try:
        counts = json.loads(file.read_text(encoding="utf-8"))["pauses"] if file is not None else ()
        if len(counts) == len(USUAL) and all(count >= 0 for count in counts):
            return Pauses(tuple(map(float, counts)))
    except (OSError, ValueError, TypeError, KeyError):
        pass
    return Pauses()
