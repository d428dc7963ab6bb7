"""The least that a session can cost: its price under an oracle that knows the last use of each text.

It keeps the user's words, and each other text up to its last use, whole or in pieces. An edit costs it nothing, so no
policy reaches it. The distance is what a policy pays for not knowing the future.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field

from agentcli.core.dataclass import dataclass
from agentcli.core.message import Message, ToolResult, Usage
from agentcli.core.model import ModelSpec
from agentcli.core.record import Record
from agentcli.extras.lab import demand
from agentcli.extras.lab.emulate import seconds_of

WHOLE = 0
PIECE = 1_500
"""Characters of a piece."""
RATE = 0.34
"""Tokens a character, as in the replay."""
HEAD = 4_500
"""Tokens of system and tools."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Functions that find what a text states and what a reply uses. `texts` yields True for a user's words, and the text."""

    texts: Callable[[Message | ToolResult], Iterable[tuple[bool, str]]]
    stated: Callable[[str], Iterable[str | int]]
    used: Callable[[Message], Iterable[str | int]]


LAB = Reading(demand.placed, lambda text: (*demand.stated(text), *demand.sequences(text)), demand.used)


@dataclass(slots=True)
class Unit:
    """A text that is kept or dropped as one. `born` and `last` number the first request that has it and the last that needs it."""

    tokens: float
    born: int
    last: int
    users: bool


@dataclass(slots=True)
class Ideal:
    """A session under an oracle: USD, and the tokens of each prompt."""

    price: float = 0.0
    sizes: list[int] = field(default_factory=list)


def ideal(records: Sequence[Record], model: ModelSpec, piece: int = WHOLE, reading: Reading = LAB) -> Ideal:
    """Return the least price of a session with texts of at most `piece` characters as units, or with whole texts."""
    found, before, cached = Ideal(), float("-inf"), set[int]()
    units, asked = _units(records, piece, reading)
    for number, (time, output) in enumerate(asked):
        shown = {n for n, unit in enumerate(units) if unit.born <= number and (unit.users or unit.last >= number)}
        warm = time - before <= model.cache_lifetime
        kept = shown & cached if warm else set[int]()
        head = (HEAD, 0) if warm else (0, HEAD)
        read = head[0] + sum(units[n].tokens for n in kept)
        written = head[1] + sum(units[n].tokens for n in shown - kept)
        found.price += model.cost(Usage(0, output, 0, round(read), round(written))) or 0.0
        found.sizes.append(round(read + written))
        before, cached = time, shown
    return found


def _units(records: Iterable[Record], piece: int, reading: Reading) -> tuple[list[Unit], list[tuple[float, int]]]:
    """Return all texts with their last use, and for each request its time and the tokens of its reply."""
    units, asked, time = list[Unit](), list[tuple[float, int]](), 0.0
    place: dict[str | int, int] = {}
    for record in records:
        body = record.body
        if not isinstance(body, Message | ToolResult):
            continue
        if isinstance(body, Message) and body.role == "assistant":
            for need in reading.used(body):
                if need in place:
                    units[place[need]].last = len(asked)
            size = sum(len(text) for _, text in reading.texts(body))
            asked.append((time, (body.usage.output if body.usage else 0) or round(size * RATE)))
        for users, text in reading.texts(body):
            for part in pieces(text, piece):
                units.append(Unit(len(part) * RATE, len(asked), len(asked), users))
                place |= dict.fromkeys(reading.stated(part), len(units) - 1)
        time = seconds_of(record.time)
    return units, asked


def pieces(text: str, longest: int) -> Iterator[str]:
    """Yield the parts of a text, of whole lines and at most `longest` characters; all of it for 0."""
    part = ""
    for line in text.splitlines(keepends=True) if longest else [text]:
        if part and len(part) + len(line) > longest:
            yield part
            part = ""
        part += line
        while longest and len(part) > longest:
            yield part[:longest]
            part = part[longest:]
    if part:
        yield part
