"""Calls pass the stages: judged one by one, then run inside them."""

from __future__ import annotations

from collections.abc import Sequence

from agentcli.agent.calls.call import Call, Run, Stage, refusal, wrapped
from agentcli.agent.calls.finish import Finish
from agentcli.agent.calls.prepare import Prepare
from agentcli.agent.calls.run_tool import ToolRun
from agentcli.agent.core import SessionCore
from agentcli.core.event import Recorded
from agentcli.core.message import ToolCall, ToolResult


class CallStages:
    """Runs calls through the stages of one session, from `prepare` to `finish`."""

    def __init__(self, core: SessionCore, prepare: Prepare, finish: Finish, stages: Sequence[Stage]) -> None:
        self.prepare, self.finish, self._stages = prepare, finish, stages
        tool = ToolRun(core.setup.tools.run, core.ctx, core.approval, core.hooks, core.builder)
        self.run_unrecorded: Run = wrapped(stages[stages.index(finish) + 1 :], tool)
        """Runs a call that the model did not make: its output becomes no result, and failures are raised."""
        self.run: Run = wrapped(stages, tool)
        """Runs a call that was allowed. The call that it returns has a result, always."""

    def prepared(self, calls: Sequence[ToolCall]) -> list[Call]:
        """Return the calls of a reply, ready for the first stage."""
        return self.prepare.prepared(calls)

    async def judge(self, on_way: list[Call], at: int) -> Call:
        """Judge the call at index `at`, updating it in `on_way` after each stage, since an interrupt may end a stage's wait."""
        for stage in self._stages:
            on_way[at] = call = await stage.judge(on_way[at])
            if call.result is not None:
                break
        return on_way[at]

    def has(self, tool: str) -> bool:
        """Return true if the session has a tool of its own with this name."""
        return tool in self.prepare.tools

    async def permitted(self, call: ToolCall) -> Call:
        """Decide about a call of one of the session's own tools that the model did not make; `why_refused` tells if it may run."""
        return await self.judge([Call(call, call, call.name)], 0)

    def unrun(self, call: ToolCall, why: str) -> ToolResult:
        """Return the result of a call that was never judged."""
        result = refusal(call, why, "interrupted")
        self.finish.note(self.prepared([call])[0].asked, result)
        return result

    def record(self, call: Call) -> Recorded:
        """Record the result of a call."""
        return self.finish.record(call)
