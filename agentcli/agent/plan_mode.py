"""The end of plan mode: the person has approved a plan."""

from __future__ import annotations

from agentcli.agent.core import SessionCore
from agentcli.core.record import Settings


class PlanMode:
    """Plan mode of a session."""

    def __init__(self, core: SessionCore) -> None:
        self._core = core

    async def leave_plan(self, plan: str) -> bool:
        """Leave plan mode after the person approved the plan, for the mode chosen with it. Return False outside of plan mode."""
        approval = self._core.approval
        if approval.mode != "plan":
            return False
        approval.mode = approval.after_plan
        self._core.record(Settings("", approval.mode))
        return True
