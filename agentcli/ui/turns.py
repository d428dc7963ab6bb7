"""Turns as the front ends with a person play them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import aclosing

from agentcli.core.event import Event, TurnEnded


async def given_back(turn: AsyncIterator[Event], give_back: Callable[[], None]) -> AsyncIterator[Event]:
    """The events of a turn; `give_back` is called for a prompt that a hook kept from being sent."""
    async with aclosing(turn) as events:  # type: ignore[type-var]
        async for event in events:
            yield event
            if isinstance(event, TurnEnded) and event.ending == "blocked":
                give_back()
