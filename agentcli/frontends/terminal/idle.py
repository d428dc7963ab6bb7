"""Background work while idle: improves the title, keeps the cache warm, and tells what the user should know."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from agentcli.core.tasks import log_failure, run_beside

if TYPE_CHECKING:
    from agentcli.agent.session import AgentSession
    from agentcli.agent.warming import Warmer
    from agentcli.frontends.terminal.sharing import Front

QUIET = 30.0
"""Seconds of inactivity before it starts: a user who reads an answer is not idle yet."""
WAITED_FOR = 60.0
"""Seconds of inactivity after which hooks of Notification run."""
PAUSES = "pauses.json"
"""The file of the user's pauses, in the folder of the state."""
PATIENCE = 1.0
"""Seconds for a cancelled task to end at exit."""


class Idle:
    """Timer for idle work. `quiet`: seconds of inactivity before it starts; `failed` gets an exception that ends it."""

    def __init__(
        self,
        front: Front,
        quiet: float = QUIET,
        failed: Callable[[BaseException], object] = log_failure,
    ) -> None:
        self.quiet = quiet
        self.cold_cost = 0.0
        """USD from which a cold cache is reported; 0: never."""
        self.pauses: Path | None = None
        """The file of the user's pauses; None: they are not kept."""
        self._front, self._failed = front, failed
        self._timers: list[asyncio.TimerHandle] = []
        self._work: asyncio.Task[None] | None = None
        self._warming: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Restart the timers after work has ended."""
        self._cancel_timers()
        later = asyncio.get_running_loop().call_later
        self._timers = [later(self.quiet, self._start), later(WAITED_FOR, self._notify)]
        self._watch_cache()

    def pause(self) -> None:
        """Stop what must not go on beside the user's work."""
        self._cancel_timers()
        if self._warming is not None:
            self._warming.cancel()

    async def stop(self) -> None:
        """Cancel the timers and the running tasks."""
        self.pause()
        running = {task for task in (self._work, self._warming) if task is not None and not task.done()}
        if running:
            for task in running:
                task.cancel()
            await asyncio.wait(running, timeout=PATIENCE)

    def _watch_cache(self) -> None:
        """Plan to keep the cache warm, or to report that it is cold."""
        later, warmer = asyncio.get_running_loop().call_later, self._warmer()
        wait = warmer.wait()
        if wait is not None:
            self._timers.append(later(wait, self._warm))
        elif self.cold_cost and (rest := warmer.expires()):
            self._timers.append(later(rest + 1, self.report_cold))

    def _warmer(self) -> Warmer:
        session = self._front.session
        if session.warmer is None:
            from agentcli.agent.warming import Warmer  # not needed for the first prompt

            session.warmer = Warmer(session.core, self.pauses)
            session.warmer.answered()
        return session.warmer

    def _warm(self) -> None:
        if not self._front.working:
            self._warming = run_beside(self._repeat(), self._failed)

    async def _repeat(self) -> None:
        events = await self._warmer().repeat()
        self._front.show_events(events)
        self._watch_cache()

    def _cancel_timers(self) -> None:
        for timer in self._timers:
            timer.cancel()

    def _notify(self) -> None:
        if not self._front.working:
            self._front.session.core.hooks.notify("agentcli is waiting for your input", "idle_prompt")

    def report_cold(self) -> None:
        """Tell the person what the next request costs because the provider's cache has expired, if that is much."""
        if not self._front.working and (line := self._front.session.report.cold(self.cold_cost)):
            self._front.tell(line)

    def _start(self) -> None:
        busy = self._work is not None and not self._work.done()
        if not busy and not self._front.working:
            self._work = run_beside(self._improve_title(self._front.session), self._failed)

    async def _improve_title(self, session: AgentSession) -> None:
        self._front.show_events(await session.improve_title())
