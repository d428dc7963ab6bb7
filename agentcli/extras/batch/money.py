"""Money of a batch: reserved before a task starts, so that a cap holds."""

from __future__ import annotations

from agentcli.extras.batch.tasks import Task

SHARE = 20
"""Divisor of the cap that gives the limit of a task without its own."""


def limit_of(task: Task, cap: float | None) -> float | None:
    """Return the cost limit of one attempt at a task in USD; None without one."""
    if task.max_cost is not None or cap is None:
        return task.max_cost
    return cap / SHARE


def fits(spent: float, reserved: float, wanted: float | None, cap: float | None) -> bool:
    """Return True if a start fits the cap: the money spent, the money reserved by running starts, and its own, in USD."""
    return cap is None or spent + reserved + (wanted or 0.0) <= cap + 1e-9
