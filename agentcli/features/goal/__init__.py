"""Goals: work turn after turn until a check proves the goal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentcli.agent.feature import SessionPart
from agentcli.program.feature import Feature

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Sequence

    from agentcli.agent.core import SessionCore
    from agentcli.agent.ports import Prompt
    from agentcli.core.event import Emit, TurnEnded
    from agentcli.program.command import Command


class Goal(Feature[object]):
    name = "goal"

    def commands(self) -> Sequence[Command]:
        from agentcli.features.goal.commands import COMMANDS

        return COMMANDS

    def session(self, program: object, core: SessionCore) -> SessionPart:
        return GoalSession(core)


class GoalSession(SessionPart):
    """The goal of a session, on record under this name."""

    name = "goal"

    def __init__(self, core: SessionCore) -> None:
        self._core = core

    def notes(self) -> Sequence[str]:
        from agentcli.features.goal.session import notes

        return notes(self._core)

    def decides(self) -> bool:
        from agentcli.features.goal.session import is_running

        return is_running(self._core)

    def continues_with(self) -> str:
        return "/goal resume" if self.decides() else ""

    async def after_turn(self, ended: TurnEnded, interrupt: asyncio.Event, emit: Emit) -> Prompt | TurnEnded | None:
        from agentcli.features.goal.session import follow

        return await follow(self._core, ended, interrupt, emit)
