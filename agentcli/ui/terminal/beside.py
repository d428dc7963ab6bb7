"""Work beside a turn: it has its own interrupt, and leaves the screen's account of the turn alone."""

from __future__ import annotations

import asyncio
from typing import Protocol

from agentcli.agent.ports import Interruptible
from agentcli.core.event import Event, Noticed, Warned
from agentcli.ui.terminal.screen import Screen


class Notices(Protocol):
    """The terminal, as far as work beside a turn may write to it."""

    screen: Screen

    def notice(self, text: str) -> None:
        """Show a line until it is withdrawn."""

    def withdraw(self, text: str) -> None:
        """Remove a line."""


class Beside:
    """Works that run beside a turn, the newest last."""

    def __init__(self, console: Notices) -> None:
        self._console = console
        self._running: dict[asyncio.Event, asyncio.Event] = {}
        """The interrupt of each, and what is set at its end."""

    async def play(self, doing: str, work: Interruptible) -> None:
        """Carry out work, showing its notices and warnings."""
        interrupt, done = asyncio.Event(), asyncio.Event()
        self._running[interrupt] = done
        said = f"{doing}. Esc stops it."
        self._console.notice(said)

        async def show(event: Event) -> None:
            if isinstance(event, Noticed | Warned):
                self._console.screen.apply(event)

        try:
            await work(interrupt, show)
        finally:
            del self._running[interrupt]
            done.set()
            self._console.withdraw(said)

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
