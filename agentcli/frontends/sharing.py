"""Port for a session that is followed and answered from elsewhere while it is open in a front end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from agentcli.core.errors import AgentError, InputError
from agentcli.core.event import Event
from agentcli.core.tool import Question

if TYPE_CHECKING:
    from agentcli.agent.ports import ApprovalRequest, ApprovalResponse, Approve, AskUser
    from agentcli.agent.session import AgentSession


class Front(Protocol):
    """A front end as it is driven from elsewhere."""

    @property
    def session(self) -> AgentSession:
        """The open session."""
        ...

    @property
    def working(self) -> bool:
        """True during a turn."""
        ...

    def take(self, text: str) -> str:
        """Send a message to the running turn, or begin one with it; return `steered`, `queued` or `begun`. Raises AgentError."""
        ...

    def interrupt(self) -> None:
        """Interrupt the running turn."""
        ...

    def tell(self, text: str) -> None:
        """Tell the person here something, in one line."""
        ...


class Share(Protocol):
    """Reports of a front end while its session is shared."""

    def show(self, event: Event) -> None:
        """Hear an event."""
        ...

    def turned(self) -> None:
        """Hear that a turn has begun or ended."""
        ...

    async def moved(self) -> None:
        """Hear that another session is open."""
        ...

    async def approve(self, ask: ApprovalRequest, here: Approve) -> ApprovalResponse | None:
        """Return the first answer, from here or elsewhere."""
        ...

    async def ask_user(self, questions: Sequence[Question], here: AskUser) -> Sequence[str] | None:
        """Return the first answers, from here or elsewhere."""
        ...

    async def close(self) -> None:
        """End the sharing."""
        ...


class Sharing:
    """The sharing of a front end's open session: off until `begin`. While it is off, it costs nothing."""

    def __init__(self) -> None:
        self.start: Callable[[Front], Awaitable[Share]] | None = None
        """Shares the open session of a front end."""
        self.share: Share | None = None
        self.front: Front | None = None
        """The front end, once a session is open in it."""

    async def begin(self) -> None:
        """Share the open session, and those that replace it. Raises AgentError if that cannot be."""
        if self.start is None or self.front is None:
            raise InputError("Can't share this session here.")
        if self.share is None:
            self.share = await self.start(self.front)

    async def begin_if(self, wanted: bool, warn: Callable[[str], object]) -> None:
        """Share the open session if that is wanted; `warn` is told if it cannot be."""
        try:
            if wanted:
                await self.begin()
        except AgentError as error:
            warn(str(error))

    async def end(self) -> None:
        """Share it no longer."""
        share, self.share = self.share, None
        if share is not None:
            await share.close()

    def show(self, events: Sequence[Event]) -> None:
        """Pass events on."""
        if self.share is not None:
            for event in events:
                self.share.show(event)

    def turned(self) -> None:
        """Pass on that a turn has begun or ended."""
        if self.share is not None:
            self.share.turned()

    async def moved(self) -> None:
        """Pass on that another session is open."""
        if self.share is not None:
            await self.share.moved()

    def approving(self, here: Approve) -> Approve:
        """Return a front end's function for approvals, to which answers from elsewhere count, too."""

        async def approve(ask: ApprovalRequest) -> ApprovalResponse | None:
            return await (here(ask) if self.share is None else self.share.approve(ask, here))

        return approve

    def asking(self, here: AskUser) -> AskUser:
        """Return a front end's function for questions, to which answers from elsewhere count, too."""

        async def ask(questions: Sequence[Question]) -> Sequence[str] | None:
            return await (here(questions) if self.share is None else self.share.ask_user(questions, here))

        return ask
