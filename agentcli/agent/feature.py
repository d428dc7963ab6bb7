"""The part that a feature adds to a session. Imports almost nothing at run time: each feature's package imports it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentcli.core.dataclass import dataclass

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Collection, Iterable, Sequence
    from contextlib import AbstractContextManager

    from agentcli.agent.calls.call import Stage
    from agentcli.agent.ports import FoundTools, Prompt
    from agentcli.agent.reply import ReplyBuilder
    from agentcli.agent.tool_context import Offer
    from agentcli.core.event import Emit, Event, TurnEnded
    from agentcli.core.model import ToolSchema
    from agentcli.extension import Status

    See = Callable[[Event], object]


@dataclass(frozen=True, slots=True)
class Unfinished:
    """An objection to the end of a turn."""

    reminder: str = ""
    """A reminder for the model, which then continues."""
    notice: str = ""
    """A notice for the person."""
    undone: str = ""
    """What is left undone if no reminder helped: the turn ends as incomplete."""
    verified: bool | None = None
    """True if the session's calls prove the message's claims; None if it claims nothing."""
    answer: str = ""
    """The final answer, if it is an earlier message."""


class SessionPart:
    """What a feature adds to one session.

    Every method may be omitted. The session calls them around a turn, and the loop inside it.
    """

    name: str
    """Name of the part, and of its recorded state."""
    stages: Sequence[Stage] = ()
    """Stages for calls after the agent's own: the calls were allowed, and `around` wraps the running tool directly."""
    found: FoundTools | None = None
    """Tools that it finds as the session goes."""
    services: Sequence[Offer] = ()
    """Services for its tools and for other features, by type."""
    follows: bool = False
    """True if `after_turn` is called even without a recorded state."""
    status: str = ""
    """Text for the status line."""
    reads_status: bool = False
    """True if its text depends on the other facts of the status line."""

    def notes(self) -> Sequence[str]:
        """Return notes for the person when a session with a recorded state of this part is opened."""
        return ()

    async def opened(self, interrupt: asyncio.Event) -> None:
        """Before a turn, wait for what its first request needs. An interrupt ends the wait."""

    def upfront(self) -> Sequence[ToolSchema]:
        """Return tools that the model of a session that begins now sees, because they pay in this session."""
        return ()

    def watch(self) -> AbstractContextManager[See] | None:
        """Enter a turn, and leave it at its end.

        In between, the returned function sees each event before the front end does.
        """
        return None

    def notices(self) -> Iterable[Event]:
        """Return notices for the person before a turn."""
        return ()

    async def fact(self) -> str:
        """Return a reminder for the model, repeated with a prompt once the view no longer has it."""
        return ""

    def listing(self) -> str:
        """Return a reminder for the model that is given once."""
        return ""

    def prompted(self) -> None:
        """Note that a prompt of the person was recorded."""

    async def asides(self) -> Sequence[str]:
        """Return texts that are added for the model before a request."""
        return ()

    def before_request(self) -> Iterable[Event]:
        """Record facts that a request must contain, before room is made for it."""
        return ()

    def replied(self, reply: ReplyBuilder) -> Iterable[Event]:
        """Record facts from a reply, before the reply itself is recorded."""
        return ()

    def answered(self) -> None:
        """Handle the results of all calls of a reply. Raises AgentError to end the turn."""

    def news(self) -> Sequence[str]:
        """Return events outside the conversation since the last call, for the model."""
        return ()

    def before_end(self, reply: ReplyBuilder) -> Unfinished:
        """Judge the reply with which a turn is about to end."""
        return Unfinished()

    async def background(self) -> bool:
        """Wait for news of background work that no later turn would report. Return False if none can come."""
        return False

    def decides(self) -> bool:
        """Return True if `after_turn` decides whether the work is done, so that `before_end` need not.

        Called when `after_turn` is.
        """
        return False

    async def ended(self, ended: TurnEnded) -> Iterable[Event]:
        """Return events for the person once a turn has ended."""
        return ()

    async def after_turn(self, ended: TurnEnded, interrupt: asyncio.Event, emit: Emit) -> Prompt | TurnEnded | None:
        """Return a prompt for one more turn, or an end that replaces the turn's own, if any.

        Called only if the session has a state of this part, or the part `follows`.
        """
        return None

    def is_due(self) -> bool:
        """Return True if it begins a turn by itself now. Called about every second while no turn runs."""
        return False

    def goes_on(self) -> bool:
        """Return True if it may begin a turn by itself later: a session without a terminal stays open for that."""
        return False

    def continues_with(self) -> str:
        """Return the slash command that continues its running work when the session is opened elsewhere; empty without any."""
        return ""

    async def due(self, interrupt: asyncio.Event, emit: Emit) -> str | Prompt | None:
        """Record the beginning of that turn, and return its prompt.

        The prompt is a text as a person types it, or a prompt for the model.
        """
        return None

    async def refresh_status(self, now: Status) -> bool:
        """Derive its text for the status line from the other facts; return True if it has changed."""
        return False

    def closed(self) -> None:
        """Stop its processes and tasks when the session is closed."""


def with_state(parts: Sequence[SessionPart], recorded: Collection[str]) -> Sequence[SessionPart]:
    """Return the parts that have a state on record."""
    return [part for part in parts if part.name in recorded]


def parts_that_follow(parts: Sequence[SessionPart], recorded: Collection[str]) -> Sequence[SessionPart]:
    """Return the parts that may continue the work after a turn."""
    return [part for part in parts if part.follows or part.name in recorded]


def objection(parts: Sequence[SessionPart], reply: ReplyBuilder) -> Unfinished:
    """Return the first objection to the end of a turn with this reply."""
    objections = (part.before_end(reply) for part in parts)
    return next((one for one in objections if one != Unfinished()), Unfinished())


def due(parts: Sequence[SessionPart]) -> SessionPart | None:
    """Return the part that begins a turn now; None if there is none."""
    return next((part for part in parts if part.is_due()), None)
