"""Plan of a batch: its options, kept beside its tasks, and the next step of each task. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Literal

from agentcli.batch.ledger import FINAL, TaskState
from agentcli.batch.tasks import Isolation, Task
from agentcli.core.dataclass import dataclass

LOSSES, WAITS, FAILED_SETUPS = 3, 5, 1
"""Times that an attempt is started again after it was lost, refused for the time being, or its tree could not be set up."""
Keep = Literal["failed", "all", "none"]


@dataclass(frozen=True, slots=True)
class Plan:
    """Options of a batch. `name` stands in the refs of its results; `cap` is in USD; `flags` go to every agent as they are."""

    name: str
    workers: int = 4
    cap: float | None = None
    isolation: Isolation = "worktree"
    boxed: bool = True
    keep: Keep = "failed"
    retry: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()

    @property
    def mode(self) -> str:
        """The permission mode of the agents: nobody can be asked, and the box holds them."""
        return "plan" if self.isolation == "none" else "yolo"


@dataclass(frozen=True, slots=True)
class Start:
    """A start of a task: which attempt, and the state whose session it goes on with, if any."""

    task: Task
    attempt: int = 1
    tries: int = 0
    goes_on: TaskState | None = None


def next_start(task: Task, state: TaskState | None, retry: Collection[str] = ()) -> Start | None:
    """The next start of a task that is not at work; None where its state is final."""
    if state is None:
        return Start(task)
    row = state.newest
    match row.state:
        case "passed":
            return Start(task, row.attempt + 1) if task.id in retry else None
        case "failed":
            again = task.id in retry or "failed" in retry
            more = row.attempt < task.attempts and not row.over
            return Start(task, row.attempt + 1) if again or more else None
        case "limited":
            again = task.id in retry or "limited" in retry
            return Start(task, row.attempt + 1, goes_on=state) if again else None
        case "error":
            return Start(task, row.attempt, row.tries) if row.tries <= FAILED_SETUPS or "lost" in retry else None
        case "lost" | "running":
            # What was at work when its driver died is lost: nobody waits for it any more.
            tries = row.tries if row.state == "lost" else row.tries + 1
            if tries > LOSSES and "lost" not in retry:
                return None
            return Start(task, row.attempt, tries, goes_on=state if tries <= 1 else None)
        case _:
            return Start(task, row.attempt, row.tries, goes_on=state)


def counted(states: Mapping[str, TaskState]) -> Mapping[str, int]:
    """The number of tasks in each state."""
    found: dict[str, int] = {}
    for state in states.values():
        found[state.state] = found.get(state.state, 0) + 1
    return found


def is_done(state: TaskState | None) -> bool:
    """True if a task has its result."""
    return state is not None and state.state in FINAL


def as_json(plan: Plan, tasks: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The content of `batch.json`: `tasks` maps ids to digest, repository and base commit."""
    options = {"workers": plan.workers, "cap": plan.cap, "isolation": plan.isolation, "boxed": plan.boxed}
    return {"version": 1, "name": plan.name, "options": options, "tasks": tasks}
