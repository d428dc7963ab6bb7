"""What can wait is done once nothing has gone on for a while: the session gets a better title."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from agentcli.core.event import Event

if TYPE_CHECKING:
    from agentcli.agent.session import AgentSession

QUIET = 30.0
"""Seconds without work before it begins: somebody who reads an answer is not idle yet."""
PATIENCE = 1.0
"""Seconds that it has to end when the program is left."""


class Idle:
    """`working` says whether something goes on, `session` which session is open; `tell` shows what happened.

    `quiet` are the seconds without work before it begins.
    """

    def __init__(
        self,
        working: Callable[[], bool],
        session: Callable[[], AgentSession],
        tell: Callable[[Sequence[Event]], None],
        quiet: float = QUIET,
    ) -> None:
        self.quiet = quiet
        self._working, self._session, self._tell = working, session, tell
        self._timer: asyncio.TimerHandle | None = None
        self._work: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Work has just ended: count from now."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(self.quiet, self._start)

    async def stop(self) -> None:
        """Begin nothing more, and end what goes on."""
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
        self._tell(await session.improve_title())
