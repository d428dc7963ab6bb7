"""Calls for the tests of single stages: a call of a built-in tool, judged by a stage or run inside it."""

from __future__ import annotations

import asyncio
from typing import Any

from agentcli.agent.calls.call import Call, Run, Stage, beginning
from agentcli.core.dataclass import replace
from agentcli.core.message import ToolCall, ToolResult
from agentcli.core.tool import ToolOutput
from agentcli.tools.registry import tools

TOOLS = {tool.name: tool for tool in tools()}


def a_call(name: str, id: str = "c1", **given: Any) -> Call:
    """A call of a built-in tool that has passed the first stage."""
    return beginning(ToolCall(id, name, given), TOOLS[name])


def judged(stage: Stage, call: Call) -> Call:
    return asyncio.run(stage.judge(call))


def ended(stage: Stage, run: Run, call: Call) -> Call:
    """The call after it ran inside the stage."""
    return asyncio.run(stage.around(run)(call))


def with_result(output: str, **result: Any) -> Run:
    """A run that ends with a result of this output."""

    async def run(call: Call) -> Call:
        return replace(call, result=ToolResult(call.call.call_id, call.call.name, "success", output, **result))

    return run


async def unchanged(call: Call) -> Call:
    """A run that adds nothing to the call."""
    return call


def with_output(output: ToolOutput) -> Run:
    """A run of a tool that gives this output."""

    async def run(call: Call) -> Call:
        return replace(call, output=output)

    return run
