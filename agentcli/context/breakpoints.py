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
        """Return the tokens of the messages up to and including a message."""
        ...

    def newest_result(self, least: int, end: int) -> int:
        """Return the number of the newest message before `end` with a tool result of at least `least` tokens; -1 if there is none."""
        ...

    @property
    def snapshot(self) -> int:
        """Number of the first message with a text of the compactor; -1 if there is none."""
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
    """Choose at most four places in the order of the request, by their expected value.

    `head` are the tokens of system and tools, `milestone` the tokens from which a tool result is a milestone. No place is
    spent on a prefix shorter than the model caches, nor on a provider that caches automatically.
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
    # The chances say how likely the next edit spares each prefix: every edit spares the system, a prune spares the part before the
    # first cleared output, an interrupted or rewound prompt everything before itself.
    yield Candidate(Breakpoint(-1), head, 1.0)
    newest = len(messages) - 1
    places = [(newest, 0.95), (newest - 1, 0.96)]
    if _blocks(messages[newest - 1 :]) >= model.cache_lookback:
        # A lookup covers only `cache_lookback` blocks; an entry certainly exists at the end of the former request.
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
    """Return the index of the last part that may carry a breakpoint, or -1: providers accept none on thoughts or empty text."""
    for number in range(len(message.parts) - 1, -1, -1):
        part = message.parts[number]
        if not isinstance(part, Thinking) and not (isinstance(part, Text) and not part.text):
            return number
    return -1
