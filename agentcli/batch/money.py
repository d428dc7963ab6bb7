"""Money of a batch: reserved before a task starts, so that a cap holds."""

from __future__ import annotations

from agentcli.batch.tasks import Task

SHARE = 20
"""A task without a limit of its own may spend this part of the cap."""


def limit_of(task: Task, cap: float | None) -> float | None:
    """Limit of the cost of one attempt at a task; None without one."""
    if task.max_cost is not None or cap is None:
        return task.max_cost
    return cap / SHARE


def fits(spent: float, reserved: float, wanted: float | None, cap: float | None) -> bool:
    """True if a start may be made: all that was spent, what those at work may still spend, and what it may spend stay within the cap."""
    return cap is None or spent + reserved + (wanted or 0.0) <= cap + 1e-9
