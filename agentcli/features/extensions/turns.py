"""Functions of extensions around a turn."""

from __future__ import annotations

import asyncio
from typing import Any

from agentcli.agent.aside import SideQuestion
from agentcli.agent.ports import Prompt, RunTurn
from agentcli.agent.session import AgentSession
from agentcli.core.clock import Clock
from agentcli.core.dataclass import replace
from agentcli.core.event import Emit, Event, Recorded, TurnEnded
from agentcli.core.message import Message, Text, reminder
from agentcli.extension import Answer, Ended
from agentcli.features.extensions.context import SessionContext, Shown
from agentcli.features.extensions.loading import Extension
from agentcli.features.extensions.session import SECONDS, SessionHost


async def run_around(
    host: SessionHost,
    extension: Extension,
    function: Any,
    turn: RunTurn,
    session: AgentSession,
    interrupt: asyncio.Event,
    emit: Emit,
) -> TurnEnded:
    """Run a turn within a function of an extension, and return its end. Raise AgentError."""
    within = WrappedTurn(host, turn, session, interrupt, emit)
    context = SessionContext(host, extension, Clock(), within)
    within.waited = context.waited
    returned = await host.call(extension, function, SECONDS, "turn", within, context=context, raises=True)
    ended = await within.ended(returned if isinstance(returned, Ended) else None)
    await emit(ended)
    return ended


class WrappedTurn:
    """A turn, as functions around it use it, and the receiver of what they show."""

    waited: Any

    def __init__(
        self, host: SessionHost, turn: RunTurn, session: AgentSession, interrupt: asyncio.Event, emit: Emit
    ) -> None:
        self._host, self._turn, self._session = host, turn, session
        self._interrupt, self._emit = interrupt, emit
        self._reminders: list[Text] = []
        self._shown: list[Event] = []
        self._answered = False
        self._last: TurnEnded | None = None

    def remind(self, text: str) -> None:
        """Add a text for the model to the prompt."""
        self._reminders.append(reminder(text))

    async def run(self) -> Ended:
        """Run the turn."""
        ended: Ended = await self.waited(self._run())
        return ended

    async def go_on(self, text: str) -> Ended:
        """Continue with a text for the model."""
        ended: Ended = await self.waited(self._go_on(text))
        return ended

    def show(self, shown: Shown) -> None:
        """Show a text to the person before the turn starts or continues."""
        self._shown.append(shown.event)

    def add_prompt(self, text: str, more: str = "") -> None:
        """Send a prompt once no turn runs."""
        self._host.add_prompt(text, more)

    async def ask_aside(self, question: str) -> Answer:
        """Ask a side question. Raise AgentError."""
        aside = SideQuestion(self._session.core, question, self._session.prepare)
        await aside.ask(self._interrupt, self._emit, tell_cost=False)
        return Answer(aside.answer, aside.notes, aside.spent)

    async def ended(self, returned: Ended | None) -> TurnEnded:
        """Return the end that the function chose; without one the turn's own, which runs now if it has not."""
        if self._last is None and returned is None:
            await self._run()
        await self._tell()
        last = self._last or TurnEnded("done")
        if returned is None or returned == self._end(last):
            return last
        if returned.error is not None:
            return TurnEnded("failed", returned.text, returned.error, last.steps)
        return replace(last, text=returned.text)

    async def _run(self) -> Ended:
        pending = self._session.conversation.pending
        pending += self._reminders
        await self._tell()
        ended = await self._turn(self._interrupt, self._heard)
        for each in self._reminders:
            if each in pending:
                pending.remove(each)
        self._last = ended
        return self._end(ended)

    async def _go_on(self, text: str) -> Ended:
        await self._tell()
        prompt = Prompt("", (reminder(text),), typed=False)
        self._last = await self._session.run(prompt, self._interrupt, self._heard, continues=True)
        return self._end(self._last)

    def _end(self, ended: TurnEnded) -> Ended:
        return Ended(ended.text, ended.ending, ended.error, self._answered)

    async def _tell(self) -> None:
        shown, self._shown = self._shown, []
        for event in (*shown, *self._host.take_events()):
            await self._emit(event)

    async def _heard(self, event: Event) -> None:
        """Pass on an event, but no end: the function may change it."""
        match event:
            case TurnEnded():
                return
            case Recorded(record) if isinstance(record.body, Message) and record.body.role == "assistant":
                self._answered = True
            case _:
                pass
        await self._emit(event)
