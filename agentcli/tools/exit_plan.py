"""The exit_plan tool: the model shows its plan and asks for permission to carry it out."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import ToolError
from agentcli.core.tool import Behaviour, ToolContext, ToolOutput, Traits
from agentcli.tools.compress import Compressing
from agentcli.tools.entry import Entry

FOCUS = "what carrying out the approved plan needs"
COMPACTED = "The user approves the plan. The conversation before it is summarised now. Carry the plan out:"
WHOLE = "The user approves the plan. The conversation stays whole:"


@dataclass(frozen=True, slots=True)
class Planning:
    """The service that ends plan mode."""

    leave: Callable[[], bool]
    """Leaves plan mode after the approval of the plan; returns False if plan mode was off."""
    compacts: Callable[[], bool]
    """Returns True if the approval requests a compaction before the plan is carried out."""


async def exit_plan(ctx: ToolContext, call_id: str, plan: str) -> ToolOutput:
    if not plan.strip():
        raise ToolError("The plan is empty.")
    planning = ctx.service(Planning)
    if planning is not None and not planning.leave():
        return ToolOutput("You are not in plan mode; go on.", metadata={"plan": plan, "approved": False})
    # Allowing this call approves the plan: the permission layer asks, and shows the whole plan.
    compressing = ctx.service(Compressing) if planning is not None and planning.compacts() else None
    if compressing is None:
        return ToolOutput("The user approves the plan. Carry it out.", metadata={"plan": plan})
    why = compressing.ask(FOCUS, call_id)
    said = f"{WHOLE} {why} Carry the plan out." if why else f"{COMPACTED}\n\n{plan}"
    return ToolOutput(said, metadata={"plan": plan})


def title(given: Mapping[str, Any]) -> str:
    """Return a title such as `Plan ready: Move the parser`, with the plan's first line unless that is a step."""
    first = str(given.get("plan", "")).strip().partition("\n")[0].lstrip("# ")
    return "Plan ready" if re.match(r"(?:\d+[.)]|[-*+])\s|$", first) else f"Plan ready: {first.replace('`', '')}"


def preview(_: ToolContext, given: Mapping[str, Any]) -> str:
    """Return the whole plan."""
    return str(given["plan"])


EXIT_PLAN = Entry(
    "exit_plan",
    exit_plan,
    title,
    Traits("ask", behaviour=Behaviour(needs_person=True, for_people=True, presents_plan=True)),
    preview,
)
