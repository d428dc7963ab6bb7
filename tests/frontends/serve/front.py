"""A front end for tests: an open session with a scripted model, whose turns run in the test's own loop."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agentcli.agent.ports import ApprovalRequest, ApprovalResponse, Prompt
from agentcli.core.event import Event
from agentcli.core.streams import closing
from agentcli.frontends.terminal.sharing import Sharing
from agentcli.providers.scripted.model import Script
from tests.agent.open_session import Person, open_session


class Waiting(Person):
    """Somebody who answers an approval once the test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.asks = asyncio.Event()
        self.answer: asyncio.Future[ApprovalResponse | None] = asyncio.get_running_loop().create_future()

    async def __call__(self, ask: ApprovalRequest) -> ApprovalResponse | None:
        self.asked.append(ask)
        self.asks.set()
        return await self.answer


class ScriptedFront:
    """Runs turns of a scripted session, and shares it as a terminal does."""

    def __init__(self, folder: Path, script: Script, person: Person | None = None, **more: Any) -> None:
        self.sharing = Sharing()
        self.person = person or Person()
        self.told: list[str] = []
        self.events: list[Event] = []
        self.working = False
        self._interrupt = asyncio.Event()
        self._turns: list[asyncio.Task[None]] = []
        self.session = open_session(folder, script, person=self._approve, **more)  # type: ignore[arg-type]
        self.sharing.front = self

    async def _approve(self, ask: ApprovalRequest) -> ApprovalResponse | None:
        return await self.sharing.approve(self.person, ask)

    def take(self, text: str) -> str:
        if self.working:
            self.session.steer(Prompt(text))
            return "steered"
        self.working = True
        self._turns.append(asyncio.ensure_future(self._turn(text)))
        return "begun"

    def interrupt(self) -> None:
        self._interrupt.set()

    def tell(self, text: str) -> None:
        self.told.append(text)

    async def done(self) -> None:
        """Wait for the end of all turns."""
        while self._turns:
            await self._turns.pop(0)

    def show(self, events: Sequence[Event]) -> None:
        """Show events, and tell those who follow."""
        self.events += events
        self.sharing.show(events)

    async def _turn(self, text: str) -> None:
        self._interrupt.clear()
        self.sharing.turned()
        try:
            async with closing(self.session.turn(Prompt(text), self._interrupt)) as events:
                async for event in events:
                    self.show([event])
        finally:
            self.working = False
            self.sharing.turned()
