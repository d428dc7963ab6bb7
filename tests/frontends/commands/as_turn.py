"""The outputs of a slash command as a turn, for front ends without a terminal."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

from agentcli.agent.session import AgentSession
from agentcli.core.event import Event
from agentcli.frontends.commands.outputs import Answer, as_turn
from agentcli.program.commands import Output


def joined(answer: Answer) -> str:
    """The lines of an answer."""
    return "\n".join(answer.lines)


async def events_of(
    outputs: AsyncIterator[Output],
    session: AgentSession,
    text_of: Callable[[Answer], str] = joined,
    interrupt: asyncio.Event | None = None,
) -> list[Event]:
    """The events of the turn, its end last."""
    events: list[Event] = []

    async def keep(event: Event) -> None:
        events.append(event)

    ended = await as_turn(outputs, session, interrupt or asyncio.Event(), keep, text_of)
    assert events[-1] == ended
    return events
