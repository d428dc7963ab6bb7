"""Timers of a session as values, stored in its records."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from agentcli.agent.core import SessionCore
from agentcli.core.codec.fields import items, number, text, whole
from agentcli.core.dataclass import dataclass, replace
from agentcli.core.event import Recorded, seconds_left
from agentcli.core.record import FeatureState

NAME = "timers"
"""The name of the feature, and of its records."""
RUNS = 100
"""Default runs of a repeated timer."""
MOST = 20
"""Timers that a session may have."""
SHOWN = 60


@dataclass(frozen=True, slots=True)
class Timer:
    """A prompt with its times. `every` is the interval in seconds, 0 for a timer that runs once; `next` is in seconds since the epoch."""

    id: int
    text: str
    every: float
    next: float
    left: int = 1
    """Runs that are left."""
    until: str = ""
    """Command that ends the timer with exit code 0; it runs before each prompt."""
    cost: float | None = None
    """Cost in USD at which the timer ends, counted from the session's cost `cost_from`."""
    cost_from: float = 0.0

    def line(self, now: float) -> str:
        """Return the timer as a line for people."""
        how = f"every {seconds_left(self.every)}, {self.left} left" if self.every else "once"
        due = "due now" if self.next <= now else f"next in {seconds_left(self.next - now)}"
        ends = "".join(
            [f", until `{self.until}`" * bool(self.until), "" if self.cost is None else f", at most ${self.cost:g}"]
        )
        return f"{self.id}. {how}{ends}, {due}: {short(self.text)}"


@dataclass(frozen=True, slots=True)
class Timers:
    """Timers of a session. `failed` counts the failed runs in a row; `running` is true while a timer's turn runs."""

    all: tuple[Timer, ...] = ()
    made: int = 0
    """The number of the newest timer."""
    paused: str = ""
    """The reason why none runs; empty if they do."""
    failed: int = 0
    running: bool = False
    opened: int = -1
    """The opening of the session in which they were set or resumed: after a restart they wait for `/loop resume`."""

    def run(self, core: SessionCore) -> bool:
        """Return whether they run by themselves in this session."""
        return bool(self.all) and not self.paused and self.opened == core.opened_at

    @property
    def first(self) -> Timer | None:
        """The timer that is due first."""
        return min(self.all, key=lambda timer: (timer.next, timer.id), default=None)

    def without(self, timer: Timer) -> Timers:
        """Return the timers without this one."""
        return replace(self, all=tuple(each for each in self.all if each.id != timer.id))

    def with_next(self, timer: Timer, now: float) -> Timers:
        """Return the timers after this one has begun a run. It has its next run, or is gone after the last run."""
        if timer.left <= 1 or not timer.every:
            return self.without(timer)
        later = replace(timer, left=timer.left - 1, next=now + timer.every)
        return replace(self, all=tuple(later if each.id == timer.id else each for each in self.all))


def timers_of(core: SessionCore) -> Timers:
    """Return the timers of a session; none if their record is unreadable."""
    kept = core.journal.history.features.get(NAME)
    try:
        return Timers() if kept is None else _from_json(kept.data)
    except (TypeError, KeyError):
        return Timers()


def save(core: SessionCore, timers: Timers) -> Recorded:
    """Record the timers as they are in this opening of the session."""
    each = [{name: getattr(timer, name) for name in Timer.__slots__} for timer in timers.all]
    data = {"timers": each, "made": timers.made, "paused": timers.paused, "failed": timers.failed}
    return core.record(FeatureState(NAME, {**data, "running": timers.running, "opened": core.opened_at}))


def lines(core: SessionCore) -> Sequence[str]:
    """Return the timers for people, one a line."""
    timers, now = timers_of(core), time.time()
    if not timers.all:
        return ["No timers. /loop 5m TEXT runs a prompt every 5 minutes."]
    waiting = timers.paused or ("" if timers.run(core) else "the session was resumed")
    state = [f"Paused ({waiting}). /loop resume continues."] if waiting else []
    return [*state, *(timer.line(now) for timer in timers.all)]


def short(text: str) -> str:
    """Return the beginning of a text, in one line."""
    line = " ".join(text.split())
    return line if len(line) <= SHOWN else line[: SHOWN - 1] + "…"


def _from_json(raw: Mapping[str, Any]) -> Timers:
    return Timers(
        tuple(map(_timer, items(raw, "timers", dict))),
        whole(raw, "made"),
        text(raw, "paused"),
        whole(raw, "failed"),
        bool(raw.get("running")),
        whole(raw, "opened", -1),
    )


def _timer(raw: Mapping[str, Any]) -> Timer:
    return Timer(
        whole(raw, "id", None),
        text(raw, "text", None),
        max(0.0, number(raw, "every") or 0.0),
        number(raw, "next") or 0.0,
        whole(raw, "left", 1),
        text(raw, "until"),
        number(raw, "cost"),
        number(raw, "cost_from") or 0.0,
    )
