"""The task tool: a subagent does a piece of work in a context of its own and reports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from agentcli.core.errors import ToolError
from agentcli.core.tool import Delegation, ToolContext, ToolOutput


async def task(
    ctx: ToolContext,
    call_id: str,
    description: str,
    prompt: str,
    agent: str = "",
    resume: Annotated[str, "Id of a former subagent"] = "",
    run_in_background: bool = False,
) -> ToolOutput:
    if ctx.spawn is None:
        raise ToolError("There are no subagents here. Do it yourself.")
    return await ctx.spawn(call_id, Delegation(description, prompt, agent, resume, run_in_background))


def title(given: Mapping[str, Any]) -> str:
    """Return a title such as `Task: find the parser`."""
    return f"Task: {given.get('description', '')}"
