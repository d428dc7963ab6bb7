"""One prompt and its answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from agentcli.api.options import RunOptions, checked
from agentcli.api.session import Session, session_with
from agentcli.core.errors import AgentError
from agentcli.ui.run_events import AnyEvent, Result

if TYPE_CHECKING:
    from typing import Unpack


def query(prompt: str, **options: Unpack[RunOptions]) -> AsyncGenerator[AnyEvent, None]:
    """One prompt: the events of its run, the result last. Raises UsageError at once for options that make no sense.

    Reading the first event raises AgentError for all that keeps a session from being opened.
    """
    return _events(session_with(replace(checked(options), one_turn=True)), prompt)


async def run(prompt: str, **options: Unpack[RunOptions]) -> Result:
    """One prompt: its result, also of a run that failed. Raises AgentError where no session can be opened."""
    result = None
    async with aclosing(query(prompt, **options)) as events:
        async for event in events:
            result = event if isinstance(event, Result) else result
    if result is None:
        raise AgentError("The run has ended without a result.")
    return result


async def _events(session: Session, prompt: str) -> AsyncGenerator[AnyEvent, None]:
    async def close() -> None:
        with suppress(AgentError):
            await session.close()

    def left(_: object) -> None:
        closing.add(asyncio.ensure_future(close()))

    closing: set[asyncio.Future[None]] = set()
    reader = asyncio.current_task()
    if reader is not None:
        # A reader that was cancelled in its own code leaves the events as they are, until they are collected as garbage.
        reader.add_done_callback(left)
    try:
        async with session, aclosing(session.say(prompt)) as events:
            async for event in events:
                yield event
    finally:
        if reader is not None:
            reader.remove_done_callback(left)
