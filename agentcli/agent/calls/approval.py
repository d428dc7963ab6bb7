"""Stage of approval: rules and mode decide about a call, hooks and the person if these leave it open."""

from __future__ import annotations

from agentcli.agent.approval import ApprovalGate, AskHooks
from agentcli.agent.calls.call import Call, Stage
from agentcli.agent.calls.prepare import Prepare


class ApprovalStage(Stage):
    """Asks the gate about each call, which hears of the later calls of its reply as well."""

    def __init__(self, gate: ApprovalGate, prepare: Prepare, ask_hooks: AskHooks) -> None:
        self._gate, self._prepare, self._ask_hooks = gate, prepare, ask_hooks

    async def judge(self, call: Call) -> Call:
        later = [(other, tool) for other in call.later if (tool := self._prepare.known(other.name)) is not None]
        return await self._gate.decide(call, later, self._ask_hooks)
