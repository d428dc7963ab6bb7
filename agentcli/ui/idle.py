"""Background work while idle: improves the session's title."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from agentcli.core.event import Event

if TYPE_CHECKING:
    from agentcli.agent.session import AgentSession

QUIET = 30.0
"""Seconds of inactivity before it starts: a user who reads an answer is not idle yet."""
PATIENCE = 1.0
"""Seconds for a cancelled task to end at exit."""


class Idle:
    """Timer for idle work. `working`: True during a turn; `session`: the open session; `show` shows events.

    `quiet`: seconds of inactivity before it starts.
    """

    def __init__(
        self,
        working: Callable[[], bool],
        session: Callable[[], AgentSession],
        show: Callable[[Sequence[Event]], None],
        quiet: float = QUIET,
    ) -> None:
        self.quiet = quiet
        self._working, self._session, self._show = working, session, show
        self._timer: asyncio.TimerHandle | None = None
        self._work: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Restart the timer after work has ended."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(self.quiet, self._start)

    async def stop(self) -> None:
        """Cancel the timer and the running task."""
        if self._timer is not None:
            self._timer.cancel()
        if self._work is not None and not self._work.done():
            self._work.cancel()
            await asyncio.wait({self._work}, timeout=PATIENCE)

    def _start(self) -> None:
        busy = self._work is not None and not self._work.done()
        if not busy and not self._working():
            self._work = asyncio.get_running_loop().create_task(self._improve_title(self._session()))

    async def _improve_title(self, session: AgentSession) -> None:
        self._show(await session.improve_title())
