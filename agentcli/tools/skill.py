"""The skill tool: the body of a skill, read when it is needed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from agentcli.core.errors import ToolError
from agentcli.core.tool import ToolContext, ToolOutput, Traits
from agentcli.tools.entry import Entry


class Skills(Protocol):
    """The service that reads skills."""

    async def open_skill(self, call_id: str, name: str, given: str) -> ToolOutput:
        """Return the body of a skill, with its arguments filled in."""
        ...


async def skill(ctx: ToolContext, call_id: str, name: str, arguments: str = "") -> ToolOutput:
    skills = ctx.service(Skills)
    if skills is None:
        raise ToolError("There are no skills here.")
    return await skills.open_skill(call_id, name, arguments)


def title(given: Mapping[str, Any]) -> str:
    """Return a title such as `Skill: pdf`."""
    return f"Skill: {given.get('name', '')}"


SKILL = Entry("skill", skill, title, Traits("none"))
