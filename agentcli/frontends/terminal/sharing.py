"""Port for following and answering a session from elsewhere while it is open in a front end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import AgentError, InputError
from agentcli.core.event import Event
from agentcli.core.tool import Question

if TYPE_CHECKING:
    from agentcli.agent.ports import ApprovalRequest, ApprovalResponse, Approve, AskUser
    from agentcli.agent.session import AgentSession
    from agentcli.program.named_worktree import NamedWorktree


class Front(Protocol):
    """A front end as others drive it: programs that share its session, and work while it is idle."""

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

    def show_events(self, events: Sequence[Event]) -> None:
        """Show events."""
        ...


@dataclass(frozen=True, slots=True)
class Leaving:
    """How a session continues once its terminal has closed it."""

    session: str
    folder: str
    prompts: tuple[str, ...] = ()
    """What is sent there first."""
    again: bool = False
    """True if a turn was interrupted, which continues before the prompts."""
    worktree: NamedWorktree | None = None
    """The worktree in which it continues in this terminal; None if it continues in the background."""


class Share:
    """Receives what happens in a front end's session. This one shares nothing, and costs nothing."""

    def show(self, event: Event) -> None:
        """Hear an event."""

    def turned(self) -> None:
        """Hear that a turn has begun or ended."""

    async def moved(self) -> None:
        """Hear that another session is open."""

    async def approve(self, ask: ApprovalRequest, here: Approve) -> ApprovalResponse | None:
        """Return the first answer, from here or elsewhere."""
        return await here(ask)

    async def ask_user(self, questions: Sequence[Question], here: AskUser) -> Sequence[str] | None:
        """Return the first answers, from here or elsewhere."""
        return await here(questions)

    async def close(self) -> None:
        """End the sharing."""


class Sharing:
    """Sharing of a front end's open session: off until `begin`."""

    def __init__(self) -> None:
        self.start: Callable[[Front], Awaitable[Share]] | None = None
        """Shares the open session of a front end."""
        self.share = Share()
        self.front: Front | None = None
        """The front end, once a session is open in it."""
        self.leaving: Leaving | None = None
        """How the session continues elsewhere, if the person asked for that."""

    @property
    def is_on(self) -> bool:
        """True if the open session is shared."""
        return type(self.share) is not Share

    async def begin(self) -> None:
        """Share the open session, and those that replace it. Raises AgentError if that is impossible."""
        if self.start is None or self.front is None:
            raise InputError("Can't share this session here.")
        if not self.is_on:
            self.share = await self.start(self.front)

    async def begin_if(self, wanted: bool, warn: Callable[[str], object]) -> None:
        """Share the open session if requested; `warn` is called if that fails."""
        try:
            if wanted:
                await self.begin()
        except AgentError as error:
            warn(str(error))

    async def end(self) -> None:
        """Share it no longer."""
        share, self.share = self.share, Share()
        await share.close()

    def show(self, events: Sequence[Event]) -> None:
        """Pass events on."""
        for event in events:
            self.share.show(event)

    def turned(self) -> None:
        """Pass on that a turn has begun or ended."""
        self.share.turned()

    async def moved(self) -> None:
        """Pass on that another session is open."""
        await self.share.moved()

    async def approve(self, here: Approve, ask: ApprovalRequest) -> ApprovalResponse | None:
        """Return the first answer to a front end's approval question, `here` or elsewhere."""
        return await self.share.approve(ask, here)

    async def ask_user(self, here: AskUser, questions: Sequence[Question]) -> Sequence[str] | None:
        """Return the first answers to a front end's questions, `here` or elsewhere."""
        return await self.share.ask_user(questions, here)
