"""Work beside a turn: it has its own interrupt, and does not affect the turn's display."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from agentcli.agent.ports import Interruptible
from agentcli.core.event import Event, Noticed, Warned
from agentcli.frontends.terminal.screen import Screen


class Beside:
    """Works that run beside a turn, the newest last. `notice` shows a line until `withdraw` removes it."""

    def __init__(self, screen: Screen, notice: Callable[[str], object], withdraw: Callable[[str], object]) -> None:
        self._screen, self._notice, self._withdraw = screen, notice, withdraw
        self._running: dict[asyncio.Event, asyncio.Event] = {}
        """The interrupt of each, and an event that is set at its end."""

    async def play(self, doing: str, work: Interruptible) -> None:
        """Carry out work, showing its notices and warnings."""
        interrupt, done = asyncio.Event(), asyncio.Event()
        self._running[interrupt] = done
        said = f"{doing}. Esc stops it."
        self._notice(said)

        async def show(event: Event) -> None:
            if isinstance(event, Noticed | Warned):
                self._screen.apply(event)

        try:
            await work(interrupt, show)
        finally:
            del self._running[interrupt]
            done.set()
            self._withdraw(said)

    def stop(self) -> bool:
        """Interrupt the newest work that is still running; return False if there is none."""
        for interrupt in reversed(self._running):
            if not interrupt.is_set():
                interrupt.set()
                return True
        return False

    async def ended(self) -> None:
        """Interrupt all, and wait for their end."""
        for interrupt, done in [*self._running.items()]:
            interrupt.set()
            await done.wait()
