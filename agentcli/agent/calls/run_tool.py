"""The innermost step of a call: run its tool with the session's services and the decisions of the stages."""

from __future__ import annotations

from agentcli.agent.approval import ApprovalGate
from agentcli.agent.calls.call import Call
from agentcli.agent.hooks.outcome import NoHooks
from agentcli.agent.request_builder import RequestBuilder
from agentcli.agent.tool_context import SessionToolContext
from agentcli.core.dataclass import replace
from agentcli.core.tool import CallScope, RunTool


class ToolRun:
    """Runs the tools of calls."""

    def __init__(
        self, run: RunTool, ctx: SessionToolContext, gate: ApprovalGate, hooks: NoHooks, builder: RequestBuilder
    ) -> None:
        self._run, self._ctx, self._gate, self._hooks, self._builder = run, ctx, gate, hooks, builder

    async def __call__(self, call: Call) -> Call:
        """Run the tool of a call on the allowed path and set the call's `output`. Raises AgentError if the tool fails."""
        output = await self._run(call.its_tool, self._context(call), call.call.call_id, call.call.input)
        return replace(call, output=output)

    def _context(self, call: Call) -> SessionToolContext:
        permitted = call.call

        def objection(url: str) -> str:
            return self._gate.objection(replace(permitted, input={**permitted.input, "url": url}), permitted)

        hidden = call.decision.hidden.paths if call.decision is not None else ()
        scope = CallScope(call.path, hidden, call.box, self._hooks.variables, call.buffers, objection)
        auto = self._ctx.limits.line_numbers == "auto"
        return self._ctx.for_call(scope, self._builder.model.spec.line_numbers if auto else None)
