"""Retries of failed requests, and the rate gate.

After a refusal, the gate spaces all processes' requests to one provider with one key. Nothing else retries.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from agentcli.core import event
from agentcli.core.dataclass import dataclass
from agentcli.core.errors import ModelError
from agentcli.core.event import seconds_left
from agentcli.core.message import Usage
from agentcli.core.model import Model, ModelSpec, Request, StreamEvent, UsageSeen
from agentcli.core.streams import closing
from agentcli.providers.http_body import too_large
from agentcli.providers.settings import RetryPolicy
from agentcli.system.locked_file import FileLock

HELD_AT_LEAST = 1.0
"""Seconds: shorter waits at the rate gate are not announced."""
LONGEST_TEXT = 4_000_000
"""Maximum characters of the text, thoughts and calls of a reply: several times what any model writes."""
HELD = "the provider has refused requests of this key"


@dataclass(frozen=True, slots=True)
class _Failures:
    """Failed attempts at one request: their number, the time of the first, and the usage of each begun reply."""

    count: int = 0
    since: float = 0.0
    begun: tuple[Usage | None, ...] = ()

    def with_one(self, now: float, *begun: Usage | None) -> _Failures:
        """Return the failures with one more."""
        return _Failures(self.count + 1, self.since if self.count else now, (*self.begun, *begun))


_PIECES = (event.TextDelta, event.ThinkingDelta, event.CallDelta)


class RetryingModel:
    """A Model that repeats requests if its wrapped model fails temporarily."""

    def __init__(
        self,
        model: Model,
        policy: RetryPolicy | None = None,
        *,
        gate: Gate | None = None,
        attended: bool = False,
        passes_on: Callable[[ModelError], bool] = lambda _: False,
        sleep: Callable[[float], Awaitable[Any]] | None = None,
        chance: Callable[[], float] = random.random,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Wrap a model; each request passes `gate` first. Errors that it `passes_on` are not retried.

        `attended` means that a person may start a server; `clock` returns seconds and stops while the machine sleeps.
        """
        self._model = model
        self._policy = policy or RetryPolicy()
        self._gate = gate or OpenGate()
        self._attended = attended
        self._passes_on = passes_on
        self._sleep = sleep
        self._chance = chance
        self._clock = clock
        self._reached = False

    @property
    def spec(self) -> ModelSpec:
        """Spec of the wrapped model."""
        return self._model.spec

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        """Stream a reply like `Model.stream`, announcing each wait with `Retrying`, or `Waiting` at the gate.

        A partial reply stays until the wait is over, and is then discarded.
        """
        with self._gate.user() as user:
            held = self._gate.take(user)
            if held >= HELD_AT_LEAST:
                yield event.Waiting(held, HELD)
            if held:
                await self._wait(held)
            async with closing(self._attempts(request, user)) as steps:
                async for step in steps:
                    yield step

    async def _attempts(self, request: Request, user: str) -> AsyncIterator[StreamEvent]:
        """Send requests until one is answered. Waits at the gate do not reduce the patience."""
        failures = _Failures()
        while True:
            started, usage, size = False, None, 0
            sent = self._clock()
            try:
                async with closing(self._model.stream(request)) as steps:
                    async for step in steps:
                        if not started:
                            self._gate.passed(self._clock() - sent)
                        started = self._reached = True
                        usage = step.usage if isinstance(step, UsageSeen) else usage
                        size += len(step.text) if isinstance(step, _PIECES) else 0
                        if size > LONGEST_TEXT:
                            raise too_large(
                                f"{self.spec.name} wrote more than {LONGEST_TEXT:,} characters in one reply"
                            )
                        yield step
                return
            except ModelError as error:
                begun = started or error.begun or error.cause == "bad_reply"
                failures = failures.with_one(self._clock(), *([usage] if begun else []))
                retry = self._retry(error, failures, sent)
                held = self._gate.take(user) - retry.delay
            yield retry
            await self._wait(retry.delay)
            if held > 0:
                failures = replace(failures, since=failures.since + held)
                if held >= HELD_AT_LEAST:
                    yield event.Waiting(held, HELD)
                await self._wait(held)
            if started:
                yield event.ReplyRestarted()

    def _retry(self, error: ModelError, failures: _Failures, sent: float) -> event.Retrying:
        """Return the wait before the next request, and report a refusal to the gate.

        Raise the error if there is no next request.
        """
        elapsed = self._clock() - failures.since
        # A host that was reached in this run exists: the network is down, and waiting helps.
        absent = error.unstarted or (error.unresolved and not self._reached)
        policy = self._policy.unattended if absent and not self._attended else self._policy
        delay = policy.delay(failures.count, error, self._chance(), elapsed, len(failures.begun))
        if delay is None or self._passes_on(error):
            raise self._last(error, elapsed, failures) from None
        if error.cause == "rate_limit":
            self._gate.refused(error.retry_after or 0.0, self._clock() - sent)
        return event.Retrying(failures.count, delay, error.brief, max(0.0, policy.patience - elapsed))

    async def prepare(self) -> None:
        """Let the wrapped model prepare before its first request."""
        prepare = getattr(self._model, "prepare", None)
        if prepare is not None:
            await prepare()

    async def count(self, request: Request) -> int | None:
        """Count tokens as `Model.count`, without retries."""
        return await self._model.count(request)

    async def close(self) -> None:
        """Close the wrapped model, if it has anything open."""
        close = getattr(self._model, "close", None)
        if close is not None:
            await close()

    def _last(self, error: ModelError, elapsed: float, failures: _Failures) -> ModelError:
        """Return the final error: the same, with the number of attempts if another request may succeed later."""
        if not error.retryable:
            return error
        patience = self._policy.patience
        if (error.retry_after or 0.0) > patience:
            tried = f"That is longer than retry.patience ({patience:g} s)."
        elif failures.count > 1:
            paid = self._paid(failures.begun, error)
            tried = f"Gave up after {failures.count} requests in {seconds_left(elapsed)}.{paid}"
        else:
            return error
        return ModelError(
            f"{str(error).rstrip('.')}. {tried}",
            error.cause,
            retry_after=error.retry_after,
            status=error.status,
            should_retry=error.should_retry,
            brief=error.brief,
            begun=error.begun,
        )

    def _paid(self, cut: Sequence[Usage | None], error: ModelError) -> str:
        """Describe cost and likely cause of replies that broke off; empty for a single one."""
        from agentcli.core.costs import money

        if len(cut) < 2:
            return ""
        known = [cost for usage in cut if usage is not None and (cost := self.spec.cost(usage)) is not None]
        paid = f"at least {money(sum(known))} for them" if known else "for each of them"
        told = f" {len(cut)} replies had begun and broke off: the provider may charge {paid}."
        if error.cause != "network":
            return told
        return f"{told} If they break off at the same place, a proxy or a limit of size on the way cuts them."

    async def _wait(self, delay: float) -> None:
        import asyncio

        await (self._sleep or asyncio.sleep)(delay)


FOLDER = "gates"
"""The folder of the gates in the state folder."""
GROWTH = 1.3
"""Factor by which the gap grows with each further spell of refusals."""
HALF_LIFE = 150.0
"""Seconds in which a gap halves. Once the gap has settled, one request in twenty is refused."""
LEAST_GAP, FIRST_GAP, LONGEST_GAP, NO_GAP = 0.25, 2.0, 8.0, 0.05
"""Seconds: the smallest gap, the largest first gap, the largest gap, and the size below which there is no gap."""
COMPANY = 60.0
"""Seconds after another user's request for which a key counts as shared: only then are requests spaced."""
LONGEST_HOLD = 3_600.0
"""Maximum seconds that a request waits: a file that demands more was written under another clock."""
_PROCESS = secrets.token_hex(4)
"""Distinguishes processes on different machines and in containers, whose ids may be equal."""


class Gate(Protocol):
    """Port from a retrying model to the gate of its provider."""

    def user(self) -> AbstractContextManager[str]:
        """Yield a name for one user of the key during a request; concurrent requests have different users."""
        ...

    def take(self, user: str) -> float:
        """Take the next slot; return the seconds until it."""
        ...

    def refused(self, retry_after: float, since: float) -> None:
        """Record a refusal of a request that was sent `since` seconds ago."""
        ...

    def passed(self, since: float) -> None:
        """Record the acceptance of a request that was sent `since` seconds ago."""
        ...


class OpenGate:
    """A gate without any waits, for models without a server."""

    def user(self) -> AbstractContextManager[str]:
        """Yield an empty name: an open gate needs none."""
        return contextlib.nullcontext("")

    def take(self, user: str) -> float:
        """Return 0: there is nothing to wait for."""
        return 0.0

    def refused(self, retry_after: float, since: float) -> None:
        """Ignore the refusal."""

    def passed(self, since: float) -> None:
        """Ignore the success."""


@dataclass(frozen=True, slots=True)
class Spacing:
    """State of a gate, with times in seconds since the epoch."""

    slot: float = 0.0
    """The next free slot."""
    gap: float = 0.0
    """Seconds between slots at the time `grown`, when it last grew."""
    grown: float = 0.0
    refusing: bool = False
    """True during a spell of refusals, until a request is accepted."""
    users: tuple[tuple[str, float], ...] = ()
    """The newest two users, each with the time of its last slot."""

    def gap_at(self, now: float) -> float:
        """Return the current gap; 0 if it was written under a clock ahead of this one."""
        if self.grown > now:
            return 0.0
        gap = self.gap * 0.5 ** ((now - self.grown) / HALF_LIFE)
        return gap if gap >= NO_GAP else 0.0

    def taken(self, now: float, user: str) -> tuple[Spacing, float]:
        """Return the state after a request of this user, and the seconds that it must wait."""
        others = tuple(each for each in self.users if each[0] != user)
        shared = any(now - used < COMPANY for _, used in others)
        at = min(max(now, self.slot), now + LONGEST_HOLD)
        slot = at + (self.gap_at(now) if shared else 0.0)
        return replace(self, slot=slot, users=((user, at), *others[:1])), at - now

    def refused(self, now: float, retry_after: float, sent: float) -> Spacing:
        """Return the state after a refusal.

        The gap grows only with the first refusal of a spell: the others reveal nothing new about the pace.
        """
        later = replace(self, slot=max(self.slot, now + min(retry_after, LONGEST_HOLD)), refusing=True)
        before = self.gap_at(now)
        if before and (self.refusing or sent < self.grown):
            return later
        # The requested wait is a hint about the pace, but most providers request at least a second.
        first = min(retry_after, FIRST_GAP) if retry_after > 1 else retry_after / 2
        gap = GROWTH * before if before else first
        return replace(later, gap=min(max(gap, LEAST_GAP), LONGEST_GAP), grown=now)

    def passed(self, sent: float) -> Spacing:
        """Return the state after an accepted request; one sent before a refusal does not end a spell."""
        return self if sent < self.grown else replace(self, refusing=False)


class RateGate:
    """A gate in a small locked file, which does not exist until a request is refused.

    `clock` returns seconds since the epoch. If the file is not readable or writable, no request waits.
    """

    def __init__(self, path: Path, clock: Callable[[], float] = time.time) -> None:
        self._path, self._clock = path, clock

    @contextlib.contextmanager
    def user(self) -> Iterator[str]:
        """Yield a name like `Gate.user`, the lowest free one, so that a single user keeps its name."""
        taken = _USERS.setdefault(self._path, set())
        number = next(number for number in range(len(taken) + 1) if number not in taken)
        taken.add(number)
        try:
            yield f"{_PROCESS}-{os.getpid()}-{number}"
        finally:
            taken.discard(number)

    def take(self, user: str) -> float:
        """Take the next slot; return the seconds until it."""
        waits = [0.0]

        def taken(spacing: Spacing) -> Spacing:
            after, waits[0] = spacing.taken(self._clock(), user)
            return after

        self._change(taken)
        return waits[0]

    def refused(self, retry_after: float, since: float) -> None:
        """Hold all requests until the provider accepts some again, and space them more."""
        now = self._clock()
        self._change(lambda spacing: spacing.refused(now, retry_after, now - since), make=True)

    def passed(self, since: float) -> None:
        """Note that the provider takes requests again."""
        now = self._clock()
        self._change(lambda spacing: spacing.passed(now - since))

    def _change(self, change: Callable[[Spacing], Spacing], make: bool = False) -> None:
        with contextlib.suppress(OSError), self._opened(make) as file:
            before = _read(file)
            after = change(before)
            if after != before:
                data = json.dumps([after.slot, after.gap, after.grown, after.refusing, after.users]).encode()
                os.pwrite(file, data, 0)
                os.ftruncate(file, len(data))

    @contextlib.contextmanager
    def _opened(self, make: bool) -> Iterator[int]:
        if make:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with FileLock(self._path, make=make) as lock:
            yield lock.file


def gate_for(folder: Path | None, provider: str, url: str, key: str | None) -> Gate:
    """Return a provider's gate for a key, the same in all processes of this user.

    Without a folder, return an open gate.
    """
    if folder is None:
        return OpenGate()
    import hashlib

    digest = hashlib.sha256(f"{url}\0{key or ''}".encode()).hexdigest()[:16]
    name = "".join(letter if letter.isalnum() else "-" for letter in provider)[:40]
    return RateGate(folder / f"{name}-{digest}.json")


_USERS: dict[Path, set[int]] = {}
"""The numbers of this process's running requests, by gate."""


def _read(file: int) -> Spacing:
    try:
        slot, gap, grown, refusing, users = json.loads(os.pread(file, 1_000, 0))
        named = tuple((str(name), float(used)) for name, used in users)
        return Spacing(float(slot), float(gap), float(grown), bool(refusing), named)
    except (ValueError, TypeError):
        return Spacing()
