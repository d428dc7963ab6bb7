"""A session in a separate process without a terminal: it is shared, and does what comes from elsewhere.

`agentcli serve` and `agentcli --bg` start it.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import signal
from collections.abc import Callable, Sequence
from functools import partial

from agentcli.agent.ports import ApprovalRequest, ApprovalResponse, Prompt, RunTurn
from agentcli.agent.session import AgentSession
from agentcli.core.errors import AgentError, InputError
from agentcli.core.event import Event, TurnEnded, Warned
from agentcli.core.tool import Question
from agentcli.frontends.opening import program_of
from agentcli.frontends.serve.control import share_session
from agentcli.frontends.terminal.input.attachments import with_attachments
from agentcli.frontends.terminal.sharing import Sharing
from agentcli.program.front_end import FrontEnd
from agentcli.program.options import Options
from agentcli.program.program import Program
from agentcli.system.logs import log_to

IDLE = 1800.0
"""Seconds without a turn, a question or a running job after which the session is closed; it stays stored."""
GARBAGE = 5_000
"""Threshold of Python's garbage collection for a process that lives long, beside others; a start has a higher one."""
LOOK = 1.0
"""Seconds between two looks for prompts that are due."""


def host_session(
    options: Options, hosted: Callable[[Program, AgentSession, Sharing], HostedSession] | None = None
) -> int:
    """Open the session in the options, share it and run its turns; return the exit code.

    `hosted` makes what runs them, by default until nobody has used the session for a while.
    """
    sharing = Sharing()
    program = program_of(
        options, front_end=FrontEnd(partial(sharing.approve, _elsewhere), partial(sharing.ask_user, _others))
    )
    log_to(program.dirs, program.env)
    with program.preparing():
        session = program.sessions.begin()
    sharing.start = partial(share_session, program, name="serve")
    program.start_parts()
    gc.set_threshold(GARBAGE)

    async def run() -> int:
        try:
            return await (hosted or _until_idle)(program, session, sharing).run()
        finally:
            await program.close()

    return asyncio.run(run())


def _until_idle(_: Program, session: AgentSession, sharing: Sharing) -> HostedSession:
    return HostedSession(session, sharing)


class HostedSession:
    """Runs the turns of a session; a front end for `Sharing`."""

    def __init__(self, session: AgentSession, sharing: Sharing, idle: float = IDLE) -> None:
        self.session, self._sharing, self._idle = session, sharing, idle
        self.working = False
        self._interrupt = asyncio.Event()
        self._waiting: asyncio.Queue[str] = asyncio.Queue()
        self._ended = asyncio.Event()
        self._stopped = False
        """True once a signal has ended it."""
        sharing.front = self

    async def run(self) -> int:
        """Share the session and run its turns, and return the exit code.

        It ends at a signal, or after `idle` seconds without work.
        """
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self._end)
        self.session.begin(self.show_events)
        await self._sharing.begin()
        try:
            used = loop.time()
            while not self._ended.is_set() and loop.time() - used < self._idle:
                turn = await self._next()
                if turn is not None:
                    await self._turn(turn)
                if turn is not None or self.session.goes_on():
                    used = loop.time()
        finally:
            self._ended.set()  # what is sent now would be lost
            await self._sharing.end()
            await self.session.end("other")
        return 0

    async def _next(self) -> RunTurn | None:
        """Return the turn of the next message, or of a prompt that is due; None if there is none yet."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LOOK):
                text = await self._waiting.get()
                prompt = await asyncio.to_thread(with_attachments, text, self.session.cwd)
                return partial(self.session.run, prompt)
        if self.session.is_due():
            due = await self.session.due(self._interrupt, self._sharing.show)
            following = Prompt(due) if isinstance(due, str) else due
            return None if following is None else partial(self.session.run, following)
        return None

    async def _turn(self, turn: RunTurn) -> TurnEnded:
        self._interrupt.clear()
        self.working = True
        self._sharing.turned()
        try:
            return await turn(self._interrupt, self._show)
        except AgentError as error:
            await self._show(Warned(str(error)))
            return TurnEnded("failed", error=error)
        finally:
            self.working = False
            self._sharing.turned()
            for late in self.session.conversation.withdraw():
                self._waiting.put_nowait(late.text)

    async def _show(self, event: Event) -> None:
        self._sharing.show([event])

    def take(self, text: str) -> str:
        """Send a message to the running turn, or begin one. Raises InputError if the session is about to end."""
        if self._ended.is_set():
            raise InputError(f"The session ends. To continue it: agentcli resume {self.session.journal.id}")
        if self.working:
            self.session.steer(with_attachments(text, self.session.cwd))
            return "steered"
        self._waiting.put_nowait(text)
        return "begun"

    def interrupt(self) -> None:
        """Interrupt the turn."""
        self._interrupt.set()

    def tell(self, text: str) -> None:
        """Do nothing: nobody is here, and followers get answers as events."""

    def show_events(self, events: Sequence[Event]) -> None:
        """Pass events on to the followers."""
        self._sharing.show(events)

    def _end(self) -> None:
        self._stopped = True
        self._ended.set()
        self._interrupt.set()


async def _elsewhere(_: ApprovalRequest) -> ApprovalResponse | None:
    """Wait: only a person elsewhere answers."""
    await asyncio.Event().wait()
    return None


async def _others(_: Sequence[Question]) -> Sequence[str] | None:
    """Wait: only a person elsewhere answers."""
    await asyncio.Event().wait()
    return None
