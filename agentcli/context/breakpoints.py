"""Cache breakpoints: the few places in a request up to which the next request is most likely the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from agentcli.core.dataclass import dataclass
from agentcli.core.message import Text, Thinking
from agentcli.core.model import MOST_BREAKPOINTS, Breakpoint, ModelSpec, RequestMessage

MILESTONE = 2_000
"""Tokens from which a tool result is large enough to end a cached prefix."""


class Sizes(Protocol):
    """Token counts of a request's messages: see `TokenCounter.sizes`."""

    def through(self, number: int) -> int:
        """Tokens of the messages up to and including one."""
        ...

    def newest_result(self, least: int, end: int) -> int:
        """Number of the newest message before `end` that has a tool result of at least so many tokens; -1 where there is none."""
        ...

    @property
    def snapshot(self) -> int:
        """Number of the first message with a text of the compactor; -1 where there is none."""
        ...


@dataclass(frozen=True, slots=True)
class Candidate:
    """A possible breakpoint, with the tokens before it and the chance that the next request has the same ones."""

    place: Breakpoint
    tokens: int
    chance: float

    @property
    def value(self) -> float:
        """Tokens that the next request may expect to read from the cache for it."""
        return self.tokens * self.chance


def breakpoints(
    messages: Sequence[RequestMessage],
    head: int,
    model: ModelSpec,
    sizes: Sizes,
    milestone: int = MILESTONE,
) -> tuple[Breakpoint, ...]:
    """At most four places in the order of the request, best expected value first served.

    `head` are the tokens of system and tools, `milestone` those from which a tool result is a milestone. Nothing is
    spent on a prefix shorter than the model caches, nor on a provider that caches by itself.
    """
    if not model.cache_explicit:
        return ()
    best: dict[Breakpoint, Candidate] = {}
    for candidate in _candidates(messages, head, model, sizes, milestone):
        known = best.get(candidate.place)
        if candidate.tokens >= model.cache_minimum and (known is None or known.value < candidate.value):
            best[candidate.place] = candidate
    chosen = sorted(best.values(), key=lambda candidate: -candidate.value)[:MOST_BREAKPOINTS]
    return tuple(sorted((each.place for each in chosen), key=lambda place: (place.message, place.part)))


def _candidates(
    messages: Sequence[RequestMessage], head: int, model: ModelSpec, sizes: Sizes, milestone: int
) -> Iterator[Candidate]:
    # The chances say what kind of edit would spare each prefix: all spare the system, a prune what is before the first
    # cleared output, an interrupted or rewound prompt everything but itself.
    yield Candidate(Breakpoint(-1), head, 1.0)
    newest = len(messages) - 1
    places = [(newest, 0.95), (newest - 1, 0.96)]
    if _blocks(messages[newest - 1 :]) >= model.cache_lookback:
        # A lookup goes back only so many blocks; the end of the former request is where an entry is sure to be.
        places.append((newest - 2, 0.97))
    places.append((sizes.snapshot, 0.99))
    places.append((sizes.newest_result(milestone, newest - 1), 0.9))
    for number, chance in places:
        part = _last_markable(messages[number]) if 0 <= number < len(messages) else -1
        if part >= 0:
            yield Candidate(Breakpoint(number, part), head + sizes.through(number), chance)


def _blocks(messages: Sequence[RequestMessage]) -> int:
    return sum(len(message.parts) for message in messages)


def _last_markable(message: RequestMessage) -> int:
    """Index of the last part that may carry a breakpoint, or -1: providers take none on thoughts or on empty text."""
    for number in range(len(message.parts) - 1, -1, -1):
        part = message.parts[number]
        if not isinstance(part, Thinking) and not (isinstance(part, Text) and not part.text):
            return number
    return -1
