"""A feature of a session as a value: the parts that one package adds to its calls, prompts and notices."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Container, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from itertools import chain

from agentcli.agent.calls.call import Stage
from agentcli.agent.calls.execute import CallStages
from agentcli.agent.calls.stages import FoundTools
from agentcli.agent.core import SessionCore
from agentcli.agent.ports import Prompt
from agentcli.agent.reply import ReplyBuilder
from agentcli.agent.tool_context import Offer
from agentcli.core.dataclass import dataclass
from agentcli.core.event import Emit, Event, TurnEnded
from agentcli.core.tasks import start_task


async def no_wait(_: asyncio.Event) -> None:
    """Wait for nothing."""


async def no_fact() -> str:
    """Return no reminder."""
    return ""


def no_events(_: ReplyBuilder) -> Iterable[Event]:
    """Return no events."""
    return ()


async def no_background() -> bool:
    """Return False: no news can come."""
    return False


def no_end(_: TurnEnded) -> Iterable[Event]:
    """Return no events."""
    return ()


def nothing() -> None:
    """Do nothing."""


def no_objection(_: ReplyBuilder) -> Unfinished:
    """Let a turn end."""
    return Unfinished()


@dataclass(frozen=True, slots=True)
class Unfinished:
    """An objection to the end of a turn: a reminder for the model, which continues then, or a notice for the person.

    `undone` says what is left undone if no reminder helped: the turn ends as incomplete.
    """

    reminder: str = ""
    notice: str = ""
    undone: str = ""


Follow = Callable[[TurnEnded, asyncio.Event, Emit], Awaitable[Prompt | TurnEnded | None]]
"""Continues the work after a turn: returns a prompt for one more turn, or an end in place of the turn's own, if any."""


Watch = Callable[[], AbstractContextManager[Callable[[Event], object]]]
"""Enters a turn, and leaves it at its end; in between the returned function sees each event before the front end does."""


Due = Callable[[asyncio.Event, Emit], Awaitable[str | Prompt | None]]
"""Returns the prompt that begins a turn by itself, if any: a text as a person types it, or a prompt for the model."""


@dataclass(frozen=True, slots=True)
class WithState:
    """Parts of a feature for sessions that have a state of it on record, under its name."""

    follow: Follow
    """Called after each turn."""
    notes: Callable[[], Sequence[str]] = tuple
    """Notes for the person when the session is opened."""
    decides: Callable[[], bool] = bool
    """True if `follow` decides whether the work is done, so that the end of a turn says nothing about it."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """Turns that a feature begins by itself."""

    is_due: Callable[[], bool]
    """True if one is due, asked about every second while no turn runs."""
    due: Due
    """Returns the prompt that is due, and records before that it is."""


@dataclass(frozen=True, slots=True)
class SessionFeature:
    """Parts that a package adds to a session; everything but the name may be empty."""

    name: str
    stages: Sequence[Stage] = ()
    """Stages that its calls pass."""
    found: FoundTools | None = None
    """Tools that it finds as the session goes."""
    services: Sequence[Offer] = ()
    """Services for its tools and for other features, by type."""
    opened: Callable[[asyncio.Event], Awaitable[object]] = no_wait
    """Waits, before a turn, for what its first request needs; an interrupt ends the wait."""
    fact: Callable[[], Awaitable[str]] = no_fact
    """A reminder for the model, which is said again with a prompt once the view no longer says it."""
    listing: Callable[[], str] = str
    """A reminder for the model that is given once."""
    before_request: Callable[[], Iterable[Event]] = tuple
    """Records facts that a request must contain, before room is made for it."""
    replied: Callable[[ReplyBuilder], Iterable[Event]] = no_events
    """Records facts from a reply, before the reply itself is recorded."""
    prompted: Callable[[], object] = nothing
    """Hears that a prompt of the person was recorded."""
    answered: Callable[[], object] = nothing
    """Hears that all calls of a reply have their results. Raises AgentError to end the turn."""
    before_end: Callable[[ReplyBuilder], Unfinished] = no_objection
    """Judges the reply with which a turn is about to end."""
    with_state: WithState | None = None
    ended: Callable[[TurnEnded], Iterable[Event]] = no_end
    """Yields events for the person once a turn has ended."""
    news: Callable[[], Sequence[str]] = tuple
    """Events outside of the conversation since the last call, for the model."""
    background: Callable[[], Awaitable[bool]] = no_background
    """Waits for news of background work that no later turn would report; False if none can come."""
    schedule: Schedule | None = None
    notices: Callable[[], Iterable[Event]] = tuple
    """Notices for the person before a turn."""
    watch: Watch | None = None
    """Sees the events of each turn before the front end does."""
    closed: Callable[[], None] = nothing
    """Stops the feature's processes and tasks when the session is closed."""


MakeFeature = Callable[[SessionCore], SessionFeature | None]
"""Makes a feature of a session whose core is finished; None if it brings nothing to this one."""


class FeatureList:
    """The features of one session as one: what each adds, in their order."""

    def __init__(self, features: Sequence[SessionFeature], stages: CallStages) -> None:
        self.all, self.stages = features, stages

    async def opened(self, interrupt: asyncio.Event) -> None:
        """Wait until the first request can be made."""
        for one in self.all:
            await one.opened(interrupt)

    async def facts(self) -> Sequence[str]:
        """Return the reminders that are due as long as the view does not have them."""
        return [await one.fact() for one in self.all]

    def listings(self) -> str:
        """Return the lists that the model is given once."""
        return "\n".join(filter(None, [one.listing() for one in self.all]))

    def before_request(self) -> Iterator[Event]:
        """Record facts that the next request must contain."""
        return chain.from_iterable(one.before_request() for one in self.all)

    def replied(self, reply: ReplyBuilder) -> Iterator[Event]:
        """Record facts from a reply, before the reply itself is recorded."""
        return chain.from_iterable(one.replied(reply) for one in self.all)

    def prompted(self) -> None:
        """Tell all that a prompt of the person was recorded."""
        for one in self.all:
            one.prompted()

    def answered(self) -> None:
        """Tell all that the calls of a reply have their results. Raises AgentError if the turn is to end."""
        for one in self.all:
            one.answered()

    def before_end(self, reply: ReplyBuilder) -> Unfinished:
        """Return the first objection to the end of a turn with this reply."""
        said = (one.before_end(reply) for one in self.all)
        return next((objection for objection in said if objection != Unfinished()), Unfinished())

    @contextmanager
    def watching(self, emit: Emit) -> Iterator[Emit]:
        """Enter a turn, and return what emits its events once the features that watch it have seen them."""
        with ExitStack() as stack:
            watchers = [stack.enter_context(one.watch()) for one in self.all if one.watch is not None]

            async def watched(event: Event) -> None:
                for see in watchers:
                    see(event)
                await emit(event)

            yield watched if watchers else emit

    def ended(self, ended: TurnEnded) -> Iterator[Event]:
        """Return events for the person after a turn."""
        return chain.from_iterable(one.ended(ended) for one in self.all)

    def following(self, recorded: Container[str]) -> Sequence[Follow]:
        """Return the ways to continue after a turn, of the features that have a state on record."""
        return [state.follow for state in self._with_state(recorded)]

    def decides(self, recorded: Container[str]) -> bool:
        """Return True if a feature decides after a turn whether the work is done."""
        return any(state.decides() for state in self._with_state(recorded))

    def notes(self, recorded: Container[str]) -> Sequence[str]:
        """Return notes for the person on an opened session, of the features that have a state on record."""
        return [note for state in self._with_state(recorded) for note in state.notes()]

    def _with_state(self, recorded: Container[str]) -> Sequence[WithState]:
        return [one.with_state for one in self.all if one.with_state is not None and one.name in recorded]

    def due(self) -> Due | None:
        """Return the call for the prompt that is due; None if none is."""
        schedules = (one.schedule for one in self.all if one.schedule is not None)
        return next((each.due for each in schedules if each.is_due()), None)

    def news(self) -> Sequence[str]:
        """Return notices for the model of events outside of the conversation."""
        return [line for one in self.all for line in one.news()]

    async def wait_for_background(self) -> bool:
        """Wait for the first news of background work; False if none can come."""
        waiting = [start_task(one.background()) for one in self.all if one.background is not no_background]
        try:
            for each in asyncio.as_completed(waiting):
                if await each:
                    return True
            return False
        finally:
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)

    def notices(self) -> Iterable[Event]:
        """Return notices for the person before a turn."""
        return chain.from_iterable(one.notices() for one in self.all)

    def close(self) -> None:
        """End what features have running."""
        for one in self.all:
            one.closed()
