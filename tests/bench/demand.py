"""What a session needs in view: the names, values and word sequences that each recorded reply uses and that had come up before.

Knows messages and requests only: no part of the engine that is judged, no pattern of it and no list.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from agentcli.core.message import File, Message, Text, Thinking, ToolCall, ToolResult, Usage
from agentcli.core.model import Request, RequestMessage
from agentcli.core.record import Record

BARE = 4
"""Names in succession, or items of one word each, from which a list is bare: it says nothing about what is in it."""
SHORTEST, DIGITS = 4, 4
"""Characters of a name and digits of a number from which they tell one thing from another."""
RECALL_CALL, RECALLED = 80, 1_000
"""Tokens of a call that fetches what is missed, and of what it brings."""
TENTHS = 10
SEQUENCE = 4
"""Words of a sequence."""
NEXT = 20
"""Replies after a compaction whose needs are looked up in the first request after it."""
_REMEMBERED = 16_384
"""Texts whose names and sequences are remembered: a view has the same texts again and again."""

_WORD = re.compile(r"\w+")
_LEXEME = re.compile(r"[\w$~@]+(?:[./\\:@-]+[\w$]+)*|\n|[^\s\w]")
_COUNT = re.compile(r"[(\[]\d+[)\]]")
_BETWEEN_PARTS = re.compile(r"[/\\:@~]+")
_CODE = re.compile(r"_|[a-z0-9][A-Z]|[^\W\d]\d|\d[^\W\d]|\w\.\w")
_ENDS_ITEM, _SOFT = frozenset(",;|:•\n"), frozenset("-–—*·'\"`")


@dataclass(frozen=True)
class Origin:
    """The last record that held a name with words around it: its number from 0, and the place there."""

    record: int
    place: str


@dataclass(frozen=True)
class Need:
    """A name or value that a reply uses, with its origin. `age` counts the records since then."""

    name: str
    origin: Origin
    age: int


@dataclass(frozen=True)
class Asked:
    """One request under a policy: the needs of its reply, those that it misses, its size in tokens, and prices in USD.

    `recall` is the price of one call that fetches something, `least` that of the reply and of what is new in the request: no
    policy saves that. `sequences` are the numbers of word sequences in the inputs of the reply's calls that had come up before,
    and of those that the request lacks. `soon` is set for the first request after a compaction: the numbers of names that the next
    replies need of what came up before it, and of those that it lacks.
    """

    needed: tuple[Need, ...]
    missed: tuple[Need, ...]
    size: int
    price: float
    recall: float
    least: float = 0.0
    sequences: tuple[int, int] = (0, 0)
    soon: tuple[int, int] | None = None


@dataclass
class Judged:
    """All requests of a session under a policy, one after the other."""

    asked: list[Asked] = field(default_factory=list)
    besides: float = 0.0
    """USD spent on anything else than the requests, as on summaries."""

    @property
    def needed(self) -> int:
        """Names and values that replies used and that had come up before; each once for a reply."""
        return sum(len(each.needed) for each in self.asked)

    @property
    def missed(self) -> tuple[Need, ...]:
        """Those that did not stand in the view."""
        return tuple(need for each in self.asked for need in each.missed)

    @property
    def in_view(self) -> float:
        """The share that stood in the view."""
        return 1 - len(self.missed) / self.needed if self.needed else 1.0

    @property
    def code4(self) -> float:
        """The share of the word sequences of calls that had come up before and stood in the view."""
        return _share(each.sequences for each in self.asked)

    @property
    def compactions(self) -> int:
        """Requests that begin otherwise than the one before."""
        return sum(each.soon is not None for each in self.asked)

    @property
    def after20(self) -> float:
        """The share of the names needed by the next replies that stood in the first request after a compaction; 1 without any."""
        return _share(each.soon for each in self.asked if each.soon)

    @property
    def price(self) -> float:
        """USD without any charge for misses."""
        return self.besides + sum(each.price for each in self.asked)

    @property
    def price_by_name(self) -> float:
        """USD with a recall for each miss."""
        return self.price + sum(each.recall * len(each.missed) for each in self.asked)

    @property
    def price_by_reply(self) -> float:
        """USD with one recall for each reply that misses something."""
        return self.price + sum(each.recall for each in self.asked if each.missed)

    @property
    def price_by_record(self) -> float:
        """USD with a recall for each record that a reply misses something of."""
        return self.price + sum(each.recall * len({need.origin.record for need in each.missed}) for each in self.asked)

    @property
    def least(self) -> float:
        """USD for the replies, and for writing once what is new in each request, with nothing read or written again."""
        return sum(each.least for each in self.asked)

    def tenths(self) -> list[float]:
        """The share in view in each tenth of the requests."""
        parts: list[Judged] = [Judged() for _ in range(TENTHS)]
        for n, each in enumerate(self.asked):
            parts[n * TENTHS // len(self.asked)].asked.append(each)
        return [part.in_view for part in parts]


class Demand:
    """The needs of a recorded session, the same for every policy that is judged by them."""

    def __init__(self, records: Iterable[Record]) -> None:
        self.replies: list[Reply] = []
        came_up: dict[str, Origin] = {}
        said: set[int] = set()
        for n, record in enumerate(records):
            body = record.body
            if isinstance(body, Message) and body.role == "assistant":
                self.replies.append(Reply(body, n, _needs(body, came_up, n), frozenset(given(body) & said)))
            if isinstance(body, Message | ToolResult):
                for place, text in placed(body):
                    came_up |= {name: Origin(n, place) for name in in_words(text)}
                    said |= sequences(text)

    def judge(self) -> Judge:
        """Return a judge of one policy."""
        return Judge(self)

    def soon(self, number: int) -> set[str]:
        """Return the names that came up before a reply and that it or one of the following needs."""
        before = self.replies[number].record
        following = self.replies[number : number + NEXT]
        return {need.name for reply in following for need in reply.needed if need.origin.record < before}


@dataclass(frozen=True)
class Reply:
    """A recorded reply, the number of its record, what it needs, and the word sequences of its calls that had come up."""

    message: Message
    record: int
    needed: tuple[Need, ...]
    sequences: frozenset[int]


class Judge:
    """Looks at the requests of a policy in their order. Raises ValueError for a reply that is not the next one."""

    def __init__(self, demand: Demand) -> None:
        self._judged = Judged()
        self._demand = demand
        self._opening: RequestMessage | None = None

    def watch(self, request: Request, reply: Message) -> None:
        """Compare a request with the needs of the recorded reply, which is priced as the policy's request would be."""
        number = len(self._judged.asked)
        recorded = self._demand.replies[number] if number < len(self._demand.replies) else None
        if recorded is None or recorded.message.parts != reply.parts:
            raise ValueError("the replies are not those of the recorded session, in their order")
        texts = [text for message in request.messages for _, text in placed(message)]
        seen = [in_words(text) for text in texts]
        missed = tuple(need for need in recorded.needed if not any(need.name in names for names in seen))
        lacking = set(recorded.sequences)
        for text in texts if lacking else ():
            there = sequences(text)
            lacking = {each for each in lacking if each not in there}  # not a difference: that looks at all of the text
        size = reply.usage.prompt if reply.usage else 0
        recall = request.model.cost(Usage(0, RECALL_CALL, 0, size, RECALLED)) or 0.0
        former = self._judged.asked[-1].size if self._judged.asked else 0
        new = Usage(0, reply.usage.output if reply.usage else 0, 0, 0, max(0, size - former))
        least = request.model.cost(new) or 0.0
        self._judged.asked.append(
            Asked(
                recorded.needed,
                missed,
                size,
                reply.cost or 0.0,
                recall,
                least,
                (len(recorded.sequences), len(lacking)),
                self._soon(number, seen) if self._begins_otherwise(request) else None,
            )
        )

    def judged(self, besides: float = 0.0) -> Judged:
        """Return all that was judged, with what was spent `besides`. Raises ValueError if replies are left without a request."""
        if len(self._judged.asked) < len(self._demand.replies):
            raise ValueError("not every recorded reply had its request")
        self._judged.besides = besides
        return self._judged

    def _begins_otherwise(self, request: Request) -> bool:
        former, self._opening = self._opening, next(iter(request.messages), None)
        return former is not None and self._opening is not None and former.parts[:1] != self._opening.parts[:1]

    def _soon(self, number: int, seen: Sequence[frozenset[str]]) -> tuple[int, int]:
        needed = self._demand.soon(number)
        return len(needed), sum(not any(name in names for names in seen) for name in needed)


def names(text: str) -> Iterator[str]:
    """All code-like names and values in a text, in order: identifiers, file names, versions, ids, long numbers."""
    for found in _LEXEME.finditer(text):
        yield from _names_of(found[0])


@lru_cache(_REMEMBERED)
def in_words(text: str) -> frozenset[str]:
    """The names and values that stand in a text with anything but other items of a bare list around them."""
    lexemes = [found[0] for found in _LEXEME.finditer(_COUNT.sub(" ", text))]
    bare = _in_rows(lexemes) | _in_items(lexemes)
    return frozenset(name for n, lexeme in enumerate(lexemes) if n not in bare for name in _names_of(lexeme))


@lru_cache(_REMEMBERED)
def sequences(text: str) -> frozenset[int]:
    """The hashes of all sequences of four words in a text."""
    words = [sys.intern(word) for word in _WORD.findall(text)]
    return frozenset(map(hash, zip(*(words[n:] for n in range(SEQUENCE)), strict=False)))


def given(reply: Message) -> set[int]:
    """The word sequences in the inputs of a reply's calls."""
    calls = (part for part in reply.parts if isinstance(part, ToolCall))
    return {each for call in calls for value in _values(call.input) for each in sequences(value)}


def used(reply: Message) -> list[str]:
    """The names and values in a reply, each once."""
    return list(dict.fromkeys(name for _, text in placed(reply) for name in names(text)))


def _share(counts: Iterable[tuple[int, int]]) -> float:
    """The share that is there, of numbers of what is needed and what is missed; 1 if nothing is needed."""
    needed, missed = (sum(each) for each in zip(*counts, strict=True)) if (counts := list(counts)) else (0, 0)
    return 1 - missed / needed if needed else 1.0


def _needs(reply: Message, came_up: Mapping[str, Origin], now: int) -> tuple[Need, ...]:
    return tuple(Need(name, came_up[name], now - came_up[name].record) for name in used(reply) if name in came_up)


def placed(message: Message | RequestMessage | ToolResult) -> Iterator[tuple[str, str]]:
    """The texts that a model reads in a message, with their place. Its thoughts are not sent again by all providers."""
    role = message.role if isinstance(message, Message | RequestMessage) else ""
    for part in (message,) if isinstance(message, ToolResult) else message.parts:
        match part:
            case Text(text):
                yield "a reply" if role == "assistant" else "a prompt", text
            case ToolCall(_, name, given):
                yield f"input of {name}", "\n".join(f"given = {value}" for value in _values(given))
            case ToolResult(_, name, _, output):
                yield f"output of {name}", output
            case File(_, path, text):
                yield "an attached file", f"file {path} {text}"
            case Thinking() | _:
                pass


def _values(given: Any) -> Iterator[str]:
    """What a call was given, without the names of parameters: the model has those from the tool."""
    match given:
        case Mapping():
            for value in given.values():
                yield from _values(value)
        case str():
            yield given
        case Sequence():
            for value in given:
                yield from _values(value)
        case _:
            yield str(given)


def _names_of(lexeme: str) -> Iterator[str]:
    for part in _BETWEEN_PARTS.split(lexeme):
        part = part.strip(".-")
        if not _is_numeric(part):
            if len(part) >= SHORTEST and _CODE.search(part):
                yield part
        elif sum(letter.isdigit() for letter in part) >= DIGITS:
            yield part


def _is_numeric(part: str) -> bool:
    return all(letter.isdigit() or letter in ".-_" for letter in part)


def _is_name(lexeme: str) -> bool:
    return "/" in lexeme or "\\" in lexeme or next(_names_of(lexeme), None) is not None


def _is_hard(lexeme: str) -> bool:
    """True if this is no name, word or number, and no list has it between its items."""
    return not (lexeme[0].isalnum() or lexeme[0] in "_$~@" or lexeme in _SOFT or lexeme in _ENDS_ITEM)


def _in_rows(lexemes: Sequence[str]) -> set[int]:
    """The names that follow one another with no word between them."""
    bare, row = set[int](), list[int]()
    for n, lexeme in enumerate((*lexemes, "(")):
        if lexeme in _SOFT or lexeme in _ENDS_ITEM or (_is_numeric(lexeme) and not _is_name(lexeme)):
            continue
        if _is_name(lexeme):
            row.append(n)
            continue
        if len(row) >= BARE:
            bare |= {*row}
        row = []
    return bare


def _in_items(lexemes: Sequence[str]) -> set[int]:
    """The items of lists in which each item is one word or name."""
    bare, row, item = set[int](), list[int](), list[int]()
    for n, lexeme in enumerate((*lexemes, "\n", "(", "(", "\n")):
        if lexeme not in _ENDS_ITEM:
            if lexeme not in _SOFT and (not _is_numeric(lexeme) or _is_name(lexeme)):
                item += [n, n] if _is_hard(lexeme) else [n]
            continue
        if len(item) == 1:
            row += item
        elif item:
            if len(row) >= BARE:
                bare |= {*row}
            row = []
        item = []
    return bare
