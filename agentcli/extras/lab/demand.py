"""Demand of recorded work: the names and values that each reply uses and that an earlier record introduced."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

from agentcli.core.dataclass import dataclass
from agentcli.core.message import File, Message, Text, ToolCall, ToolResult
from agentcli.core.model import Request, RequestMessage
from agentcli.core.record import Body

PARTS = 10
"""Parts of a session that are judged one by one."""


@dataclass(frozen=True, slots=True)
class Needs:
    """Needs of a session's requests under a policy, in order: how many names each reply needed, and missed in its view."""

    needed: tuple[int, ...] = ()
    missed: tuple[int, ...] = ()

    @property
    def in_view(self) -> float:
        """Share of needed names that were in view; 1 if nothing was needed."""
        return _share(self.needed, self.missed)

    def tenths(self) -> tuple[float, ...]:
        """Return that share for each tenth of the requests."""
        ends = [len(self.needed) * n // PARTS for n in range(PARTS + 1)]
        return tuple(_share(self.needed[start:end], self.missed[start:end]) for start, end in pairwise(ends))

    def __add__(self, other: Needs) -> Needs:
        return Needs(self.needed + other.needed, self.missed + other.missed)


class Demand:
    """Names that a session has introduced so far; thoughts do not count, because not every provider gets them again."""

    def __init__(self) -> None:
        self._known: set[str] = set()

    def bring_up(self, body: Body) -> None:
        """Note the names in a record."""
        if isinstance(body, Message | ToolResult):
            for text in _texts(body):
                self._known |= stated(text)

    def of(self, reply: Message, request: Request) -> tuple[int, int]:
        """Return the number of known names that a reply uses, and how many of these its request does not state."""
        used = {name for text in _texts(reply) for name in _named(text)} & self._known
        missed = set(used)
        for message in request.messages:
            for text in _texts(message) if missed else ():
                missed -= stated(text)
        return len(used), len(missed)


@lru_cache(65_536)
def stated(text: str) -> frozenset[str]:
    """Return the names in a text that states something about them: more than four in a row, with only separators
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
