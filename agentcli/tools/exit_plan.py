"""The exit_plan tool: the model shows its plan and asks to carry it out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from agentcli.core.errors import ToolError
from agentcli.core.tool import Outcome, Workplace

Leave = Callable[[str], Awaitable[None]]
"""Leaves plan mode once the plan is approved: `work.options["exit_plan"]`."""


async def exit_plan(work: Workplace, call_id: str, plan: str) -> Outcome:
    if not plan.strip():
        raise ToolError("The plan is empty.")
    leave: Leave | None = work.options.get("exit_plan")
    if leave is not None:
        await leave(plan)
    # Whoever allows this call approves the plan: the permission layer asks, and shows the plan whole.
    return Outcome("The user approves the plan. Carry it out.", metadata={"plan": plan})


def title(given: Mapping[str, Any]) -> str:
    """`Plan ready: Move the parser`, the plan's first line."""
    first = str(given.get("plan", "")).strip().partition("\n")[0].lstrip("# ")
    return f"Plan ready: {first}"
