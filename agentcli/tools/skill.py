"""The skill tool: the body of a skill, read when it is needed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentcli.core.errors import ToolError
from agentcli.core.tool import ToolContext, ToolOutput


async def skill(ctx: ToolContext, call_id: str, name: str, arguments: str = "") -> ToolOutput:
    if ctx.open_skill is None:
        raise ToolError("There are no skills here.")
    return await ctx.open_skill(call_id, name, arguments)


def title(given: Mapping[str, Any]) -> str:
    """Return a title such as `Skill: pdf`."""
    return f"Skill: {given.get('name', '')}"
