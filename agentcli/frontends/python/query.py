"""One prompt and its answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from agentcli.core.errors import AgentError
from agentcli.core.streams import closing
from agentcli.core.tasks import run_beside, when_done
from agentcli.frontends.python.options import RunOptions, checked
from agentcli.frontends.python.session import Session, session_with
from agentcli.frontends.run.events import AnyEvent, Result

if TYPE_CHECKING:
    from typing import Unpack


def query(prompt: str, **options: Unpack[RunOptions]) -> AsyncGenerator[AnyEvent, None]:
    """Run one prompt; yield the events of its run, the result last. Raise UsageError at once for invalid options.

    Reading the first event raises AgentError for any problem that prevents opening a session.
    """
    return _events(session_with(replace(checked(options), one_turn=True)), prompt)


async def run(prompt: str, **options: Unpack[RunOptions]) -> Result:
    """Run one prompt; return its result, also for a failed run. Raise AgentError if no session can be opened."""
    result = None
    async with closing(query(prompt, **options)) as events:
        async for event in events:
            result = event if isinstance(event, Result) else result
    if result is None:
        raise AgentError("The run has ended without a result.")
    return result


async def _events(session: Session, prompt: str) -> AsyncGenerator[AnyEvent, None]:
    async def close() -> None:
        with suppress(AgentError):
            await session.close()

    def left() -> None:
        run_beside(close())

    reader = asyncio.current_task()
    # The events of a reader cancelled in its own code stay open until they are garbage-collected.
    stay = when_done(reader, left) if reader is not None else None
    try:
        async with session, closing(session.say(prompt)) as events:
            async for event in events:
                yield event
    finally:
        if stay is not None:
            stay()
