"""Session of the agent in an embedding program: several turns, interruption, forks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace
from typing import TYPE_CHECKING, Self
from weakref import WeakSet

from agentcli.core.errors import InputError, UsageError
from agentcli.core.history import in_force
from agentcli.core.streams import closing
from agentcli.core.tasks import start_task
from agentcli.frontends.headless.print_mode import init_event
from agentcli.frontends.python.options import Given, RunOptions, checked
from agentcli.frontends.python.turn import GRACE, Turn, settled
from agentcli.frontends.run.events import AnyEvent, InitEvent, WarningEvent
from agentcli.frontends.run.results import record_events
from agentcli.providers.connect import warm
from agentcli.sessions.session import Session as StoredSession

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Unpack

    from agentcli.agent.session import AgentSession
    from agentcli.core.message import Usage
    from agentcli.program.program import Program


_MOMENTS = 3
"""Rounds of the event loop to wait for Python to close the events of a turn without a reader."""


_sessions: WeakSet[Session] = WeakSet()
"""Opened sessions of this process."""


class Session:
    """A session: `async with Session(cwd=…) as s`, then `s.say(text)` for each turn. Limits apply to each turn.

    Raises UsageError at once for invalid options. Opening it raises AgentError if a key or model is missing, or if
    configuration is wrong. It also raises AgentError if the session to resume does not exist or is open elsewhere.
    """

    def __init__(self, **options: Unpack[RunOptions]) -> None:
        self._given = checked(options)
        self._opened: tuple[Program, AgentSession] | None = None
        self._closed = False
        self._closing: asyncio.Task[None] | None = None
        self._first: tuple[InitEvent | WarningEvent, ...] = ()
        self._turn: Turn | None = None

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def open(self) -> None:
        """Open the session, which `async with` does automatically."""
        if self._opened is not None or self._closed:
            raise UsageError("This session was already opened. To continue it, create another one with resume.")

        await _others_closed()
        program = self._given.program()
        with program.preparing():
            agent = program.sessions.begin()
        self._opened = program, agent
        _sessions.add(self)
        try:
            await asyncio.to_thread(warm, agent.core.model.kind)
            await agent.prepare(asyncio.Event())
        except BaseException:  # a cancelled start must not keep the session open either
            await self.close()
            raise
        self._first = (init_event(agent), *map(WarningEvent, agent.notes))

    async def close(self) -> None:
        """Interrupt the running turn, end jobs and servers, and let others open the session. It stays stored."""
        self._closed = True
        if self._closing is not None and not self._closing.done() and not self._closing.get_loop().is_running():
            self._closing = None  # its event loop has ended
        if self._opened is not None and self._closing is None:
            self._closing = start_task(self._close(*self._opened))
        if self._closing is not None:
            await settled(self._closing)
            self._closing.result()

    async def _close(self, program: Program, agent: AgentSession) -> None:
        try:
            if self._turn is not None:
                await self._turn.leave()
            await agent.core.jobs.close()
            await agent.end("other")
        finally:
            self._opened = None
            await program.close()

    async def say(self, text: str) -> AsyncGenerator[AnyEvent, None]:
        """Run one turn; yield its events, the result last.

        A reader that stops reading, or is cancelled, interrupts the turn; the session continues from there. `@path`
        attaches a file, and `/compress` and similar commands work, as they do for `agentcli -p`. Raise UsageError while
        another turn runs, and for a session that is not open; InputError for a prompt without text.
        """
        program, agent = self._open()
        if not text.strip():
            raise InputError("No prompt.")
        await self._left_turn()
        if self._turn is not None:
            raise UsageError("A turn is running. Wait for its result, or interrupt it.")
        first, self._first = self._first, ()
        self._turn = turn = Turn(program, agent, text, first)
        try:
            async with closing(turn.events()) as events:
                async for event in events:
                    yield event
        finally:
            try:
                await turn.leave()
            finally:
                self._turn = None if self._turn is turn else self._turn

    async def _left_turn(self) -> None:
        """Wait for the end of a turn whose reader has left, for example by `break`: Python then closes its events."""
        for _ in range(_MOMENTS):
            if self._turn is None:
                return
            if self._turn.is_over:
                await self._turn.leave()
                self._turn = None
                return
            await asyncio.sleep(0)

    def interrupt(self) -> None:
        """Interrupt the running turn, from any thread; its result comes as soon as it has ended."""
        if self._turn is not None:
            self._turn.interrupt()

    def fork(self) -> Session:
        """Return a copy of the current session, to be opened separately. Raise InputError for a session that is not stored."""
        program, agent = self._open()
        if not isinstance(agent.journal, StoredSession) or not agent.history.entries:
            raise InputError("Only a session that is stored, and has begun, can be forked.")
        copy = program.store.fork(agent.journal.info)
        options = replace(self._given.options, session=copy.id, session_id="", fork=False)
        return session_with(replace(self._given, options=options))

    @property
    def id(self) -> str:
        """Id by which the session is resumed."""
        return self._open()[1].journal.id

    @property
    def model(self) -> str:
        """The model in use."""
        return self._open()[1].core.model.name

    @property
    def mode(self) -> str:
        """The permission mode."""
        return self._open()[1].core.approval.mode

    @property
    def cwd(self) -> Path:
        """Folder that the session works in."""
        return self._open()[1].cwd

    @property
    def usage(self) -> Usage:
        """Tokens of the whole session."""
        return self._open()[1].history.usage

    @property
    def cost(self) -> float | None:
        """Cost of the whole session in USD; None if prices are unknown."""
        return self._open()[1].history.cost

    @property
    def history(self) -> tuple[AnyEvent, ...]:
        """Messages, calls and results of the whole session as events, without undone ones."""
        journal = self._open()[1].journal
        return tuple(
            event for record in in_force(list(journal.records())) for event in record_events(record, record.time)
        )

    def _open(self) -> tuple[Program, AgentSession]:
        if self._opened is None:
            raise UsageError("This session is not open. Use `async with Session(…) as s`.")
        return self._opened


def session_with(given: Given) -> Session:
    """Return a session with options that were checked before."""
    session = Session()
    session._given = given
    return session


async def _others_closed() -> None:
    """Wait for this loop's closing sessions: one of them may be the one to resume.

    After a reader leaves, for example by `break`, Python closes its events a few rounds of the loop later.
    """
    if not _sessions:
        return
    for _ in range(_MOMENTS):
        await asyncio.sleep(0)
    loop = asyncio.get_running_loop()
    tasks = [session._closing for session in [*_sessions] if session._closing is not None]
    if waiting := [task for task in tasks if task.get_loop() is loop and not task.done()]:
        await asyncio.wait(waiting, timeout=GRACE)
