"""The task tool: a subagent does a piece of work in a context of its own and reports."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any

from agentcli.core.errors import ToolError
from agentcli.core.tool import Outcome, Workplace

Delegate = Callable[[str, str, str, str], Awaitable[Outcome]]
"""Runs a subagent: (call id, description, prompt, agent) → its report; `work.options["task"]`."""


async def task(
    work: Workplace,
    call_id: str,
    description: Annotated[str, "3 to 5 words"],
    prompt: str,
    agent: Annotated[str, "Kind of agent"] = "",
) -> Outcome:
    delegate: Delegate | None = work.options.get("task")
    if delegate is None:
        raise ToolError("There are no subagents here. Do it yourself.")
    return await delegate(call_id, description, prompt, agent)


def title(given: Mapping[str, Any]) -> str:
    """`Task: find the parser`."""
    return f"Task: {given.get('description', '')}"
