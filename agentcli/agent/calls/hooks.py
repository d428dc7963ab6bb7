"""Stage of hooks: PreToolUse before the decision about a call, PermissionRequest instead of the person, PostToolUse
after it.
"""

from __future__ import annotations

import asyncio

from agentcli.agent.calls.call import Call, PrintedEvents, Run, Stage
from agentcli.agent.hooks import Hooks, Outcome, with_hook_output
from agentcli.agent.ports import ApprovalRequest
from agentcli.core.dataclass import replace


class HookStage(Stage):
    """Runs the hooks of calls.

    Their messages for the person go to `printed`, and so does a hook's request to end the turn.
    """

    def __init__(self, hooks: Hooks, printed: PrintedEvents, attended: bool) -> None:
        self._hooks, self._printed, self._attended = hooks, printed, attended

    async def judge(self, call: Call) -> Call:
        judged = await self._hooks.pre_tool(call.call)
        self._report(judged)
        if judged.verdict.context:
            call = replace(call, notes=(*call.notes, judged.verdict.context))
        if judged.verdict.input is not None:
            call = call.with_input(judged.verdict.input)
        return replace(call, hooked=judged)

    def around(self, run: Run) -> Run:
        async def ran(call: Call) -> Call:
            call = await run(call)
            result = call.result
            if result is None or result.status == "interrupted":
                return call
            try:
                outcome = await self._hooks.post_tool(call.call, result)
            except asyncio.CancelledError:
                return call  # an interrupt ends the hooks and leaves the result unchanged
            self._report(outcome)
            return replace(call, result=with_hook_output(result, outcome))

        return ran

    async def request(self, ask: ApprovalRequest) -> Outcome:
        """Return the hooks' answer instead of the person's; if they give none, notify the person."""
        outcome = await self._hooks.permission(ask.call, ask.session, ask.always)
        self._report(outcome)
        if outcome.verdict.answer not in ("allow", "deny") and self._attended:
            self._hooks.notify(f"agentcli needs your permission to use {ask.call.name}", "permission_prompt")
        return outcome

    def _report(self, outcome: Outcome) -> None:
        """Show the hooks' messages to the person, and record if one ends the turn."""
        for event in outcome.events:
            self._printed.add(event)
        if outcome.verdict.ends:
            self._printed.ended = outcome.verdict.stop_reason or outcome.verdict.reason or "A hook ended the turn."
