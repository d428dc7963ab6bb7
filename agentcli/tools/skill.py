"""The skill tool: the body of a skill, read when it is needed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import ToolError
from agentcli.core.tool import ToolContext, ToolOutput, Traits
from agentcli.tools.entry import Entry


@dataclass(frozen=True, slots=True)
class Skills:
    """The service that reads skills."""

    open: Callable[[str, str, str], Awaitable[ToolOutput]]
    """Returns the body of a skill for a call's id, a name, and the arguments to fill in."""


async def skill(ctx: ToolContext, call_id: str, name: str, arguments: str = "") -> ToolOutput:
    skills = ctx.service(Skills)
    if skills is None:
        raise ToolError("There are no skills here.")
    return await skills.open(call_id, name, arguments)


def title(given: Mapping[str, Any]) -> str:
    """Return a title such as `Skill: pdf`."""
    return f"Skill: {given.get('name', '')}"


SKILL = Entry("skill", skill, title, Traits("none"))
