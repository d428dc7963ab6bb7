"""The task tool: a subagent works in a separate context and reports."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import ToolError
from agentcli.core.tool import Behaviour, ToolContext, ToolOutput, Traits
from agentcli.tools.entry import Entry


@dataclass(frozen=True, slots=True)
class Delegation:
    """Work for a subagent. `resume` is the id of a subagent to continue; in the `background`, its report comes later."""

    description: str
    prompt: str
    agent: str = ""
    resume: str = ""
    background: bool = False


@dataclass(frozen=True, slots=True)
class Delegates:
    """The service that runs subagents."""

    delegate: Callable[[str, Delegation], Awaitable[ToolOutput]]
    """Runs a subagent for a call's id; its report is the output."""


async def task(
    ctx: ToolContext,
    call_id: str,
    description: str,
    prompt: str,
    agent: str = "",
    resume: Annotated[str, "Id of a former subagent"] = "",
    run_in_background: bool = False,
) -> ToolOutput:
    subagents = ctx.service(Delegates)
    if subagents is None:
        raise ToolError("There are no subagents here. Do it yourself.")
    return await subagents.delegate(call_id, Delegation(description, prompt, agent, resume, run_in_background))


def title(given: Mapping[str, Any]) -> str:
    """Return a title such as `Task: find the parser`."""
    return f"Task: {given.get('description', '')}"


TASK = Entry("task", task, title, Traits("none", behaviour=Behaviour(delegates=True, dispensable=True)))
