"""Background work while idle: improves the session's title, and reports a cold cache, and that the user is awaited."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from agentcli.core.tasks import log_failure, run_beside

if TYPE_CHECKING:
    from agentcli.agent.session import AgentSession
    from agentcli.frontends.terminal.sharing import Front

QUIET = 30.0
"""Seconds of inactivity before it starts: a user who reads an answer is not idle yet."""
WAITED_FOR = 60.0
"""Seconds of inactivity after which hooks of Notification run."""
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
        self._front, self._failed = front, failed
        self._timers: list[asyncio.TimerHandle] = []
        self._work: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Restart the timer after work has ended."""
        self._cancel_timers()
        later = asyncio.get_running_loop().call_later
        self._timers = [later(self.quiet, self._start), later(WAITED_FOR, self._notify)]
        if self.cold_cost:
            lifetime = self._front.session.core.model.cache_lifetime
            self._timers.append(later(lifetime + 1, self.report_cold))

    async def stop(self) -> None:
        """Cancel the timer and the running task."""
        self._cancel_timers()
        if self._work is not None and not self._work.done():
            self._work.cancel()
            await asyncio.wait({self._work}, timeout=PATIENCE)

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
