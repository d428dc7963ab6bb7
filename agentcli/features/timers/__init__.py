"""Timers, at intervals or once, and background commands whose output wakes the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentcli.agent.feature import SessionPart
from agentcli.agent.tool_context import offer
from agentcli.program.feature import Feature
from agentcli.tools.jobs import Wakes

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Sequence

    from agentcli.agent.core import SessionCore
    from agentcli.agent.ports import Prompt
    from agentcli.core.event import Emit, TurnEnded
    from agentcli.program.command import Command
    from agentcli.tools.jobs import Job


class Timers(Feature[object]):
    name = "timers"

    def commands(self) -> Sequence[Command]:
        from agentcli.features.timers.commands import COMMANDS

        return COMMANDS

    def session(self, program: object, core: SessionCore) -> SessionPart:
        return TimersSession(core)


class TimersSession(SessionPart):
    """Timers of a session, recorded under this name, and its background commands with `wake_on`."""

    name = "timers"

    def __init__(self, core: SessionCore) -> None:
        self._core, self._jobs = core, core.jobs
        self.services = [offer(Wakes, Wakes(self._watch))]

    def _watch(self, job: Job, pattern: str, seconds: float) -> None:
        from agentcli.features.timers.wakes import watch

        watch(job, pattern, seconds)

    def notes(self) -> Sequence[str]:
        from agentcli.features.timers.session import notes

        return notes(self._core)

    async def background(self) -> bool:
        """Wait until a command wakes the model."""
        if not self._jobs.has_listener:
            return False
        from agentcli.features.timers.wakes import has_news

        return await has_news(self._jobs)

    async def after_turn(self, ended: TurnEnded, interrupt: asyncio.Event, emit: Emit) -> Prompt | TurnEnded | None:
        from agentcli.features.timers.session import follow

        return await follow(self._core, ended, interrupt, emit)

    def is_due(self) -> bool:
        if self.name not in self._core.journal.history.features:
            return False
        from agentcli.features.timers.session import is_due

        return is_due(self._core)

    def goes_on(self) -> bool:
        if self.name not in self._core.journal.history.features:
            return False
        from agentcli.features.timers.session import goes_on

        return goes_on(self._core)

    def continues_with(self) -> str:
        return "/loop resume" if self.goes_on() else ""

    async def due(self, interrupt: asyncio.Event, emit: Emit) -> str | Prompt | None:
        from agentcli.features.timers.session import due

        return await due(self._core, interrupt, emit)
