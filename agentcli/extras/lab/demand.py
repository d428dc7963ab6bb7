"""Demand of recorded work: the names and values that each reply uses and that an earlier record introduced."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence, Set
from functools import lru_cache, reduce
from itertools import pairwise
from typing import Any

from agentcli.core.dataclass import dataclass, replace
from agentcli.core.message import File, Message, Text, ToolCall, ToolResult
from agentcli.core.model import Request, RequestMessage
from agentcli.core.record import Body

PARTS = 10
"""Parts of a session that are judged one by one."""


@dataclass(frozen=True, slots=True)
class Needs:
    """Needs of a session's requests under a policy, in order. They count the names that each reply needed, and missed
    in its view.
    """

    needed: tuple[int, ...] = ()
    missed: tuple[int, ...] = ()
    sequences: tuple[int, int] = (0, 0)
    """Word sequences in the inputs of calls that had come up before, and those of them that the view lacked."""
    soon: tuple[int, int] = (0, 0)
    """Earlier names used by the `NEXT` replies after a compaction, and those that the first request after it lacked."""

    @property
    def in_view(self) -> float:
        """Share of needed names that were in view; 1 if nothing was needed."""
        return _share(self.needed, self.missed)

    @property
    def code4(self) -> float:
        """Share of repeated word sequences that were in view; 1 if there were none."""
        return _share(self.sequences[:1], self.sequences[1:])

    @property
    def after20(self) -> float:
        """Share of soon needed names that the first request after a compaction had; 1 without a compaction."""
        return _share(self.soon[:1], self.soon[1:])

    def tenths(self) -> tuple[float, ...]:
        """Return that share for each tenth of the requests."""
        ends = [len(self.needed) * n // PARTS for n in range(PARTS + 1)]
        return tuple(_share(self.needed[start:end], self.missed[start:end]) for start, end in pairwise(ends))

    def __add__(self, other: Needs) -> Needs:
        return Needs(
            self.needed + other.needed,
            self.missed + other.missed,
            _sum(self.sequences, other.sequences),
            _sum(self.soon, other.soon),
        )


class _Compacted:
    """The first request after a compaction: the names that it states, those known then, and those used since.

    A name that a later record states before it is used does not count: it was in view again.
    """

    def __init__(self, request: Request, known: Set[str]) -> None:
        self.left = NEXT
        self._wanted, self._used = set(known), set[str]()
        self._seen = {name for message in request.messages for text in _texts(message) for name in stated(text)}

    def answered(self, used: Set[str]) -> None:
        """Note the names that one of the next replies uses."""
        self.left -= 1
        self._used |= used & self._wanted

    def stated(self, names: Set[str]) -> None:
        """Note the names that a record states after the compaction."""
        self._wanted -= names

    @property
    def counts(self) -> tuple[int, int]:
        """Numbers of the names used so far, and of those that it lacks."""
        return len(self._used), len(self._used - self._seen)


class Demand:
    """Names that a session has introduced so far; thoughts do not count, because not every provider gets them again."""

    def __init__(self) -> None:
        self._known: set[str] = set()
        self._said: set[int] = set()
        self._opening: object = None
        self._compacted: list[_Compacted] = []

    def bring_up(self, body: Body) -> None:
        """Note the names in a record."""
        if isinstance(body, Message | ToolResult):
            for text in _texts(body):
                found = stated(text)
                self._known |= found
                for each in self._compacted:
                    if each.left:
                        each.stated(found)
                self._said |= sequences(text)

    def of(self, reply: Message, request: Request) -> tuple[int, int]:
        """Return the number of known names that a reply uses, and how many of these its request does not state."""
        used = {name for text in _texts(reply) for name in _named(text)} & self._known
        missed = set(used)
        for message in request.messages:
            for text in _texts(message) if missed else ():
                missed -= stated(text)
        return len(used), len(missed)

    def needs(self, reply: Message, request: Request, former: Needs) -> Needs:
        """Return the needs so far with those of one more reply; call it once for each request, in their order."""
        needed, missed = self.of(reply, request)
        self._begin(request)
        used = {name for text in _texts(reply) for name in _named(text)}
        for each in self._compacted:
            if each.left:
                each.answered(used)
        soon = reduce(_sum, (each.counts for each in self._compacted), (0, 0))
        return replace(former + Needs((needed,), (missed,), self._repeated(reply, request)), soon=soon)

    def _begin(self, request: Request) -> None:
        """Note a request that begins otherwise than the former one: the first after a compaction."""
        former, opening = self._opening, request.messages[0].parts[:1] if request.messages else None
        self._opening = opening
        if former is not None and opening is not None and former != opening:
            self._compacted.append(_Compacted(request, self._known))

    def _repeated(self, reply: Message, request: Request) -> tuple[int, int]:
        """Count the word sequences in inputs of calls that occurred before, and how many of these are out of view."""
        repeated = _given(reply) & self._said
        lacking = set(repeated)
        for message in request.messages:
            for text in _texts(message) if lacking else ():
                lacking -= sequences(text)
        return len(repeated), len(lacking)


def placed(source: Message | ToolResult) -> Iterator[tuple[bool, str]]:
    """Yield the texts of a record, each with True if the user wrote it."""
    if isinstance(source, ToolResult):
        yield False, source.output
        return
    for part in source.parts:
        for text in _texts(replace(source, parts=(part,))):
            yield source.role == "user" and isinstance(part, Text), text


def used(reply: Message) -> Iterator[str | int]:
    """Yield the names that a reply uses, and the word sequences in the inputs of its calls."""
    for text in _texts(reply):
        yield from _named(text)
    yield from _given(reply)


@lru_cache(16_384)
def sequences(text: str) -> frozenset[int]:
    """Return the hashes of all sequences of four words in a text."""
    words = [sys.intern(word) for word in _PLAIN.findall(text)]
    return frozenset(map(hash, zip(*(words[n:] for n in range(SEQUENCE)), strict=False)))


@lru_cache(65_536)
def stated(text: str) -> frozenset[str]:
    """Return the names in a text that states something about them. More than four in a row, with only separators
    between, are a bare list.
    """
    found, row, end = set[str](), list[str](), 0
    for word in _WORD.finditer(text):
        names = _parts(word[0])
        if not names:
            continue
        if word.start() - end > GAP or not _SEPARATORS.fullmatch(text, end, word.start()):
            found |= _told(row)
            row = []
        row += names
        end = word.end()
    return frozenset(found | _told(row))


def _told(row: Sequence[str]) -> set[str]:
    return set() if len(row) > LIST else set(row)


@lru_cache(4_096)
def _named(text: str) -> frozenset[str]:
    return frozenset(name for word in _WORD.finditer(text) for name in _parts(word[0]))


def _parts(word: str) -> list[str]:
    """Return the names in a word: each code-like part of a path, and long numbers."""
    parts = (part.strip(".-") for part in _PATH.split(word))
    return [part for part in parts if _NAME.fullmatch(part)]


def _texts(source: Message | RequestMessage | ToolResult) -> Iterator[str]:
    for part in (source,) if isinstance(source, ToolResult) else source.parts:
        match part:
            case Text(text):
                yield text
            case ToolCall(_, _, given):
                for value in _values(given):
                    yield f"the value is {value}"
            case ToolResult(_, _, _, output):
                yield output
            case File(_, path, text):
                yield f"the file {path} has\n{text}"
            case _:
                continue


def _given(reply: Message) -> set[int]:
    calls = (part for part in reply.parts if isinstance(part, ToolCall))
    return {each for call in calls for value in _values(call.input) for each in sequences(str(value))}


def _values(given: object) -> Iterator[Any]:
    match given:
        case Mapping():
            for value in given.values():
                yield from _values(value)
        case list() | tuple():
            for value in given:
                yield from _values(value)
        case _:
            yield given


def _share(needed: Sequence[int], missed: Sequence[int]) -> float:
    return 1 - sum(missed) / sum(needed) if sum(needed) else 1.0


def _sum(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    return one[0] + other[0], one[1] + other[1]


SEQUENCE = 4
"""Words of a sequence."""
NEXT = 20
"""Replies after a compaction whose needs are looked up in the first request after it."""
_PLAIN = re.compile(r"\w+")
LIST = 4
"""Maximum names in a row that are not a bare list."""
GAP = 40
"""Maximum characters between two names of a bare list."""
_WORD = re.compile(r"[\w$@~][\w$@~./\\:-]*")
_PATH = re.compile(r"[/\\:@~]+")
_NAME = re.compile(
    r"(?=.{4})(?:(?=.*_)|(?=.*[a-z0-9][A-Z])|(?=.*\d.*[^\W\d])|(?=.*[^\W\d].*\d)|(?=.*\w\.\w))(?=.*[^\W\d_])[\w$.-]+|\d[\d._-]{2,}\d"
)
"""A part that mixes letters with digits, underscores, dots or inner capitals; or a number of at least four digits."""
_SEPARATORS = re.compile(r"[\s,;|•*`'\"\d.-]*(?:\s(?:and|or)\s)?[\s,;|•*`'\"\d.-]*")
