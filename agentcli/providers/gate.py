"""Rate gate: the requests of all processes to one provider with one key are spaced, once the provider has refused some."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from agentcli.core.dataclass import dataclass

FOLDER = "gates"
"""The folder of the gates in the state folder."""
GROWTH, SHRINKAGE = 1.3, 0.985
"""Factors of the gap: after a refusal, and after each request that was let in. One request in twenty is then refused once the gap has settled."""
LEAST_GAP, FIRST_GAP, LONGEST_GAP, NO_GAP = 0.25, 2.0, 8.0, 0.05
"""Seconds: the least gap, the most to begin with, the longest, and the one below which there is none."""
QUIET = 600.0
"""Seconds without a request after which a gap is forgotten."""
LONGEST_HOLD = 3_600.0
"""Seconds that a request is held at most: what says more was written under another clock."""


class Gate(Protocol):
    """Port of a model that retries to the gate of its provider."""

    def take(self) -> float:
        """Take the next slot; the seconds until it."""
        ...

    def refused(self, retry_after: float, since: float) -> None:
        """Note a refusal of a request that was sent `since` seconds ago."""
        ...

    def passed(self) -> None:
        """Note a request that was let in."""
        ...


class OpenGate:
    """A gate that holds nothing up, for models without a server."""

    def take(self) -> float:
        """Nothing to wait for."""
        return 0.0

    def refused(self, retry_after: float, since: float) -> None:
        """Nobody else is to know."""

    def passed(self) -> None:
        """Nothing to learn."""


@dataclass(frozen=True, slots=True)
class Spacing:
    """The state of a gate: the next free slot, the gap between two, and the times of the last growth and the last use, as seconds since the epoch."""

    slot: float = 0.0
    gap: float = 0.0
    grown: float = 0.0
    used: float = 0.0

    def taken(self, now: float) -> tuple[Spacing, float]:
        """The state after a request, and the seconds that it has to wait."""
        gap = self.gap if now - self.used < QUIET else 0.0
        at = min(max(now, self.slot), now + LONGEST_HOLD)
        return replace(self, slot=at + gap, gap=gap, used=at), at - now

    def refused(self, now: float, retry_after: float, sent: float) -> Spacing:
        """The state after a refusal. Of requests that were under way together only the first makes the gap grow."""
        later = replace(self, slot=max(self.slot, now + min(retry_after, LONGEST_HOLD)), used=now)
        if sent < self.grown:
            return later
        # The wait that is asked for says something of the pace, but a second is the least that most providers name.
        first = min(retry_after, FIRST_GAP) if retry_after > 1 else retry_after / 2
        gap = GROWTH * self.gap if self.gap else first
        return replace(later, gap=min(max(gap, LEAST_GAP), LONGEST_GAP), grown=now)

    def passed(self) -> Spacing:
        """The state after a request that was let in."""
        gap = self.gap * SHRINKAGE
        return replace(self, gap=gap if gap >= NO_GAP else 0.0)


class RateGate:
    """A gate in a small locked file, which does not exist until a request was refused. `clock` returns seconds since the epoch.

    A file that cannot be read or written holds nothing up.
    """

    def __init__(self, path: Path, clock: Callable[[], float] = time.time) -> None:
        self._path, self._clock = path, clock

    def take(self) -> float:
        """Take the next slot; the seconds until it."""
        waits = [0.0]

        def taken(spacing: Spacing) -> Spacing:
            after, waits[0] = spacing.taken(self._clock())
            return after

        self._change(taken)
        return waits[0]

    def refused(self, retry_after: float, since: float) -> None:
        """Hold all requests until the provider takes some again, and space them more."""
        now = self._clock()
        self._change(lambda spacing: spacing.refused(now, retry_after, now - since), make=True)

    def passed(self) -> None:
        """Space requests a little less."""
        self._change(Spacing.passed)

    def _change(self, change: Callable[[Spacing], Spacing], make: bool = False) -> None:
        with contextlib.suppress(OSError), self._opened(make) as file:
            before = _read(file)
            after = change(before)
            if after != before:
                data = json.dumps([after.slot, after.gap, after.grown, after.used]).encode()
                os.pwrite(file, data, 0)
                os.ftruncate(file, len(data))

    @contextlib.contextmanager
    def _opened(self, make: bool) -> Iterator[int]:
        import fcntl

        if make:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | (os.O_CREAT if make else 0)
        file = os.open(self._path, flags, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield file
        finally:
            os.close(file)


def gate_for(folder: Path | None, provider: str, url: str, key: str | None) -> Gate:
    """The gate of a provider for a key, the same in all processes of this user; an open one without a folder."""
    if folder is None:
        return OpenGate()
    import hashlib

    digest = hashlib.sha256(f"{url}\0{key or ''}".encode()).hexdigest()[:16]
    name = "".join(letter if letter.isalnum() else "-" for letter in provider)[:40]
    return RateGate(folder / f"{name}-{digest}.json")


def _read(file: int) -> Spacing:
    try:
        slot, gap, grown, used = map(float, json.loads(os.pread(file, 1_000, 0)))
    except (ValueError, TypeError):
        return Spacing()
    return Spacing(slot, gap, grown, used)
