"""One turn of an embedded session, in a separate task, so that its reader may stop at any time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from agentcli.core.errors import INTERRUPTED, AgentError
from agentcli.core.event import Event
from agentcli.core.tasks import start_task
from agentcli.frontends.headless.commands import turn_of
from agentcli.frontends.run.events import AnyEvent, InitEvent, Result, WarningEvent
from agentcli.frontends.run.results import ResultBuilder, conclusion, run_events

if TYPE_CHECKING:
    from agentcli.agent.session import AgentSession
    from agentcli.program.program import Program

AHEAD = 100
"""Maximum events that a turn may be ahead of its reader; then it waits."""
GRACE = 30.0
"""Seconds that an interrupted turn may take to end cleanly, and again once it is cancelled."""


class Turn:
    """One turn. `first` are events that come before its own."""

    def __init__(
        self, program: Program, agent: AgentSession, text: str, first: tuple[InitEvent | WarningEvent, ...] = ()
    ) -> None:
        self._program, self._agent, self._text, self._first = program, agent, text, first
        self._loop = asyncio.get_running_loop()
        self._interrupt = asyncio.Event()
        self._stopped_by = 0
        self._left = False
        self._ended = False
        self._queue: asyncio.Queue[AnyEvent | None] = asyncio.Queue(AHEAD)
        self._builder = ResultBuilder(agent.journal.id)
        self._task = start_task(self._run())

    @property
    def is_over(self) -> bool:
        """True if its result exists, or if its reader has left."""
        return self._ended or self._left

    async def events(self) -> AsyncIterator[AnyEvent]:
        """Yield the events as they occur, the result last."""
        while (event := await self._queue.get()) is not None:
            yield event
        await self._task

    def interrupt(self) -> None:
        """Interrupt the turn, from any thread; its result comes once it has ended."""
        self._loop.call_soon_threadsafe(self._stop)

    async def leave(self) -> None:
        """Stop reading: interrupt the turn if it still runs, and wait until it has ended.

        If its event loop has ended, it cannot run any more.
        """
        self._left = True
        if self._loop is not asyncio.get_running_loop():
            if self._loop.is_running():
                await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self.leave(), self._loop))
            return
        if not self._task.done():
            self._stop()
        while not self._queue.empty():  # the turn may be waiting for room
            self._queue.get_nowait()
        await settled(self._task)

    def _stop(self) -> None:
        if not self._interrupt.is_set():
            self._stopped_by = INTERRUPTED
            self._interrupt.set()

    async def _put(self, event: AnyEvent | None) -> None:
        if not self._left:
            await self._queue.put(event)

    async def _run(self) -> None:
        try:
            for event in self._first:
                await self._put(event)
            result = await self._result()
            self._ended = True
            await self._put(result)
        finally:
            self._ended = True
            await self._put(None)

    async def _result(self) -> Result:
        seconds = self._program.options.max_time
        late = None if seconds is None else self._loop.call_later(seconds, self._interrupt.set)
        try:
            turn = turn_of(self._program, self._agent, self._text, around=self._program.wraps())
            ended = await turn(self._interrupt, self._show)
        except AgentError as error:
            return self._builder.result(error)
        finally:
            if late is not None:
                late.cancel()
        how = conclusion(ended, seconds, self._stopped_by)
        return self._builder.result(how.error, how.subtype, how.exit_code)

    async def _show(self, event: Event) -> None:
        self._builder.note(event)
        for each in run_events(event):
            await self._put(each)


async def settled(task: asyncio.Task[Any]) -> None:
    """Wait until a task has ended, and cancel it if it takes too long.

    If this call is cancelled, keep waiting, then raise.
    """
    cancelled: asyncio.CancelledError | None = None
    loop = asyncio.get_running_loop()
    for last in (False, True):
        deadline = loop.time() + GRACE
        while not task.done() and (left := deadline - loop.time()) > 0:
            try:
                await asyncio.wait({task}, timeout=left)
            except asyncio.CancelledError as error:
                cancelled = error
        if not task.done() and not last:
            task.cancel()
    if cancelled is not None:
        raise cancelled
