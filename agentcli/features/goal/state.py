"""Goal of a session as a value, stored in its records: its text, the check, the limits, and the progress."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Literal, cast, get_args

from agentcli.agent.core import SessionCore
from agentcli.core.codec.fields import number, text, whole
from agentcli.core.costs import money
from agentcli.core.dataclass import dataclass, replace
from agentcli.core.event import Recorded, seconds_left
from agentcli.core.message import Usage
from agentcli.core.record import FeatureState

NAME = "goal"
"""The name of the feature, and of its records."""
TURNS = 25
"""Default maximum turns of a goal."""
SECONDS = 2 * 3600.0
"""Default maximum seconds of a goal."""
Status = Literal["active", "paused", "reached", "cleared"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """Result of a check: `why` is a line; `warning` is for the person; `output` is more text for the model.

    `unknown` if the check gave no verdict: it hung, or the judging model failed. `model` was paid `usage` and `cost`
    for it.
    """

    answer: Literal["reached", "not yet", "impossible", "unknown", "interrupted"]
    why: str
    warning: str = ""
    output: str = ""
    model: str = ""
    usage: Usage = Usage()
    cost: float | None = None


_NOTHING = Verdict("unknown", "")


@dataclass(frozen=True, slots=True)
class Goal:
    """A goal and its progress. `check` is the command whose exit code 0 proves it; without one a model judges."""

    text: str
    check: str = ""
    most_turns: int = TURNS
    most_seconds: float = SECONDS
    most_cost: float | None = None
    """The largest cost in USD, None for no limit."""
    status: Status = "active"
    why: str = ""
    """Result of the newest check, or the reason for the pause."""
    since: int = 0
    """Number of the newest record when the goal was set."""
    turn: int = 1
    """The turn that runs or ended last, from 1 on."""
    seconds: float = 0.0
    cost: float = 0.0
    """Time and money spent in the turns that have ended."""
    began: float = 0.0
    """Time at which the running turn began, in seconds since the epoch; 0 if none runs."""
    cost_before: float = 0.0
    """The cost of the session when the running turn began."""
    turn_since: int = 0
    """Number of the newest record when the running turn began."""
    idle: int = 0
    """Turns in a row without a new result."""
    unjudged: int = 0
    """Checks in a row that gave no verdict."""
    opened: int = -1
    """The opening of the session in which it was set or resumed: after a restart it waits for `/goal resume`."""

    @property
    def progress(self) -> str:
        """The progress as a line: turn, time and cost."""
        spent = f", {money(self.cost)}" if self.cost else ""
        return f"turn {self.turn} of {self.most_turns}, {seconds_left(self.seconds)}{spent}"

    def runs(self, core: SessionCore) -> bool:
        """Return whether it continues by itself in this session."""
        return self.status == "active" and self.opened == core.opened_at

    def limit(self) -> str:
        """Return the limit that forbids one more turn; empty if none does."""
        if self.turn >= self.most_turns:
            return f"{self.most_turns} turns"
        if self.seconds >= self.most_seconds:
            return seconds_left(self.most_seconds)
        if self.most_cost is not None and self.cost >= self.most_cost:
            return f"${self.most_cost:g}"
        return ""

    def accounted(self, core: SessionCore, now: float) -> Goal:
        """Return the goal with the running turn's time and cost added; then no turn is running."""
        if not self.began:
            return self
        # The duration of a turn that a crash ended is unknown, its cost is not.
        seconds = max(0.0, now - self.began) if self.opened == core.opened_at else 0.0
        cost = max(0.0, (core.journal.history.cost or 0.0) - self.cost_before)
        return replace(self, seconds=self.seconds + seconds, cost=self.cost + cost, began=0.0)

    def begun(self, core: SessionCore, paid: float | None = None) -> Goal:
        """Return the goal as its turn begins; `paid` is a cost that is counted already and recorded with it."""
        history = core.journal.history
        return replace(
            self,
            status="active",
            began=time.time(),
            cost_before=(history.cost or 0.0) + (paid or 0.0),
            turn_since=history.last_seq,
            opened=core.opened_at,
        )


def goal_of(core: SessionCore) -> Goal | None:
    """Return a session's newest goal; None if there is none, or its record is unreadable."""
    kept = core.journal.history.features.get(NAME)
    try:
        return None if kept is None else _from_json(kept.data)
    except (TypeError, KeyError):
        return None


def save(core: SessionCore, goal: Goal, paid: Verdict = _NOTHING) -> Recorded:
    """Record a goal, with the cost of its verdict."""
    data = {name: getattr(goal, name) for name in Goal.__slots__}
    return core.record(FeatureState(NAME, data, paid.model, paid.usage, paid.cost))


def _from_json(raw: Mapping[str, Any]) -> Goal:
    status = text(raw, "status")
    fresh = Goal(text(raw, "text", None))
    names = ("most_turns", "since", "turn", "turn_since", "idle", "unjudged", "opened")
    sums = ("most_seconds", "seconds", "cost", "began", "cost_before")
    counts: dict[str, Any] = {name: whole(raw, name) for name in names}
    amounts: dict[str, Any] = {name: float(number(raw, name) or 0.0) for name in sums}
    return replace(
        fresh,
        check=text(raw, "check"),
        status=cast("Status", status) if status in get_args(Status) else "paused",
        why=text(raw, "why"),
        most_cost=number(raw, "most_cost"),
        **counts,
        **amounts,
    )
