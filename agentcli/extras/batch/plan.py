"""Plan of a batch: its options, stored beside its tasks, and the next step of each task. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from agentcli.core.dataclass import dataclass
from agentcli.extras.batch.ledger import FINAL, State, TaskState
from agentcli.extras.batch.tasks import Isolation, Task

LOSSES, WAITS, FAILED_SETUPS = 3, 5, 1
"""Number of restarts of an attempt after a loss, a temporary refusal, or a failed set-up of its tree."""
WORKERS = 4
"""Default number of concurrent tasks."""
Keep = Literal["failed", "all", "none"]


@dataclass(frozen=True, slots=True)
class Plan:
    """Options of a batch. `name` is part of its results' refs; `cap` is in USD; `flags` go to every agent unchanged.

    `shard` is (I, N): this run takes every N-th task, starting with number I, counted from 0. It gets an N-th of the
    cap. With `together` all attempts at a task start at once.
    """

    name: str
    workers: int = WORKERS
    cap: float | None = None
    isolation: Isolation = "worktree"
    boxed: bool = True
    keep: Keep = "failed"
    retry: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    shard: tuple[int, int] = (0, 1)
    together: bool = False

    @property
    def share(self) -> float | None:
        """Part of the cap that this run may spend, in USD; None without a cap."""
        return None if self.cap is None else self.cap / self.shard[1]

    def keeps(self, state: State) -> bool:
        """Return True if the tree of a start with this final state stays. A tree that may be continued always stays."""
        return state not in FINAL or self.keep == "all" or (self.keep == "failed" and state != "passed")

    @property
    def settings(self) -> tuple[str, ...]:
        """The settings among the flags, as `NAME=VALUE`."""
        words = zip(self.flags, self.flags[1:], strict=False)
        return tuple(value for name, value in words if name == "--set")

    @property
    def mode(self) -> str:
        """Permission mode of the agents: nobody can be asked, and the sandbox contains them."""
        return "plan" if self.isolation == "none" else "yolo"


@dataclass(frozen=True, slots=True)
class Start:
    """A start of a task: the number of the attempt, and the state whose session it continues, if any."""

    task: Task
    attempt: int = 1
    tries: int = 0
    goes_on: TaskState | None = None
    round: int = 0


def name_of(folder: Path) -> str:
    """Return the name of a batch from its folder, in the characters that refs and session ids allow."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", folder.name).strip("-_")[:40] or "batch"


def next_starts(task: Task, state: TaskState | None, retry: Collection[str], together: bool) -> Sequence[Start]:
    """Return a task's next starts, including running ones; empty if its state is final.

    With `together`, all attempts at once.
    """
    if together and task.attempts > 1 and (state is None or (state.newest.round == 0 and state.state not in FINAL)):
        known = state.attempts if state else {}
        alone = replace(task, attempts=1)
        each = {number: next_start(alone, known.get(number), retry) for number in range(1, task.attempts + 1)}
        return [replace(start, task=task, attempt=number) for number, start in each.items() if start]
    start = next_start(task, state, retry)
    return [start] if start else []


def next_start(task: Task, state: TaskState | None, retry: Collection[str] = ()) -> Start | None:
    """Return the next start of a task with sequential attempts; None if its state is final."""
    start = _next_start(task, state, retry)
    if start is None or state is None:
        return start
    again = state.state in FINAL and (start.task.id in retry or state.state in retry)
    return replace(start, round=state.newest.round + again)


def _next_start(task: Task, state: TaskState | None, retry: Collection[str]) -> Start | None:
    if state is None:
        return Start(task)
    row = state.newest
    last = max(state.attempts, default=row.attempt)
    match row.state:
        case "passed":
            return Start(task, last + 1) if task.id in retry else None
        case "failed":
            again = task.id in retry or "failed" in retry
            more = row.attempt < task.attempts and not row.over
            return Start(task, last + 1) if again or more else None
        case "limited":
            again = task.id in retry or "limited" in retry
            return Start(task, last + 1, goes_on=state) if again else None
        case "error":
            return Start(task, row.attempt, row.tries) if row.tries <= FAILED_SETUPS or "lost" in retry else None
        case "lost":
            if row.tries > LOSSES and "lost" not in retry:
                return None
            return Start(task, row.attempt, row.tries, goes_on=state if row.tries <= 1 else None)
        case _:
            return Start(task, row.attempt, row.tries, goes_on=state)


def counted(states: Mapping[str, TaskState]) -> Mapping[str, int]:
    """Return the number of tasks in each state."""
    found: dict[str, int] = {}
    for state in states.values():
        found[state.state] = found.get(state.state, 0) + 1
    return found


def as_json(plan: Plan, tasks: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the content of `batch.json`: `tasks` maps ids to digest, repository and base commit."""
    options = {"workers": plan.workers, "cap": plan.cap, "isolation": plan.isolation, "boxed": plan.boxed}
    return {"version": 1, "name": plan.name, "options": options, "tasks": tasks}
