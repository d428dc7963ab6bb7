"""The task tool: a subagent works in a separate context and reports."""

from __future__ import annotations

from agentcli.core.tool import ToolOutput
from agentcli.tools.task import Delegates, Delegation
from tests.tools.conftest import Call
from tests.tools.workplace import Bench


def test_a_task_is_given_to_whoever_runs_subagents(call: Call, ctx: Bench) -> None:
    async def delegate(call_id: str, work: Delegation) -> ToolOutput:
        return ToolOutput(f"{call_id} {work.description} {work.prompt} {work.agent}")

    given = {"description": "find it", "prompt": "Where?", "agent": "explore"}
    assert call("task", **given).status == "error"
    ctx.offer(Delegates, Delegates(delegate))
    assert call("task", **given).output == "c1 find it Where? explore"
