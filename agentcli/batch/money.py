"""Money of a batch: reserved before a task starts, so that a cap holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from agentcli.batch.ledger import TaskState
from agentcli.batch.tasks import Task

SHARE = 20
"""A task without a limit of its own may spend this part of the cap."""


def limit_of(task: Task, cap: float | None) -> float | None:
    """Limit of the cost of one attempt at a task; None without one."""
    if task.max_cost is not None or cap is None:
        return task.max_cost
    return cap / SHARE


def fits(task: Task, states: Mapping[str, TaskState], running: Iterable[tuple[Task, float]], cap: float | None) -> bool:
    """True if a task may start: all that was spent, what those that run may still spend, and what it may spend stay within the cap.

    `running` are the tasks at work with the cost that their attempts began with.
    """
    if cap is None:
        return True
    spent = sum(state.cost for state in states.values())
    reserved = sum(max(0.0, (limit_of(each, cap) or 0.0) - begun) for each, begun in running)
    return spent + reserved + (limit_of(task, cap) or 0.0) <= cap + 1e-9
