"""A session in a separate process without a terminal: it is shared, and does what comes from elsewhere.

`agentcli serve` starts it.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Sequence
from functools import partial

from agentcli.agent.ports import ApprovalRequest, ApprovalResponse, Prompt
from agentcli.agent.session import AgentSession
from agentcli.core.errors import AgentError
from agentcli.core.event import Event, Warned
from agentcli.core.tool import Question
from agentcli.frontends.opening import program_of
from agentcli.frontends.serve.control import share_session
from agentcli.frontends.terminal.input.attachments import with_attachments
from agentcli.frontends.terminal.sharing import Sharing
from agentcli.program.front_end import FrontEnd
from agentcli.program.options import Options
from agentcli.system.logs import log_to

IDLE = 1800.0
"""Seconds without a turn, a question or a running job after which the session is closed; it stays stored."""
LOOK = 1.0
"""Seconds between two looks for prompts that are due."""


def host_session(options: Options) -> int:
    """Open the session in the options, share it and run its turns; return the exit code."""
    sharing = Sharing()
    program = program_of(
        options, front_end=FrontEnd(partial(sharing.approve, _elsewhere), partial(sharing.ask_user, _others))
    )
    log_to(program.dirs, program.env)
    with program.preparing():
        session = program.sessions.begin()
    sharing.start = partial(share_session, program, name="serve")
    program.start_parts()

    async def run() -> int:
        try:
            return await HostedSession(session, sharing).run()
        finally:
            await program.close()

    return asyncio.run(run())


class HostedSession:
    """Runs the turns of a session; a front end for `Sharing`."""

    def __init__(self, session: AgentSession, sharing: Sharing, idle: float = IDLE) -> None:
        self.session, self._sharing, self._idle = session, sharing, idle
        self.working = False
        self._interrupt = asyncio.Event()
        self._waiting: asyncio.Queue[str] = asyncio.Queue()
        self._ended = asyncio.Event()
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
                prompt = await self._next()
                if prompt is not None:
                    await self._turn(prompt)
                if prompt is not None or self.session.core.jobs.running():
                    used = loop.time()
        finally:
            await self._sharing.end()
            await self.session.end("other")
        return 0

    async def _next(self) -> Prompt | None:
        """Return the next message, or a prompt that is due by itself; None if there is none yet."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LOOK):
                text = await self._waiting.get()
                return await asyncio.to_thread(with_attachments, text, self.session.cwd)
        if self.session.is_due():
            due = await self.session.due(self._interrupt, self._sharing.show)
            return Prompt(due) if isinstance(due, str) else due
        return None

    async def _turn(self, prompt: Prompt) -> None:
        self._interrupt.clear()
        self.working = True
        self._sharing.turned()
        try:
            await self.session.run(prompt, self._interrupt, self._show)
        except AgentError as error:
            await self._show(Warned(str(error)))
        finally:
            self.working = False
            self._sharing.turned()
            for late in self.session.conversation.withdraw():
                self._waiting.put_nowait(late.text)

    async def _show(self, event: Event) -> None:
        self._sharing.show([event])

    def take(self, text: str) -> str:
        """Send a message to the running turn, or begin one."""
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
