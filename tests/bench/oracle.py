"""The least that a session can cost: the price under an oracle that knows the last use of each text.

It keeps the user's words, and each other text up to its last use, either whole or in pieces. An edit costs it nothing, so no policy
reaches it; the distance is what a policy pays for not knowing the future.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from agentcli.core.message import Message, ToolResult, Usage
from agentcli.core.model import ModelSpec
from agentcli.core.record import Record
from tests.bench.demand import given, in_words, placed, sequences, used

WHOLE = 0
PIECE = 1_500
"""Characters of a piece."""
RATE = 0.34
"""Tokens a character, as in the replay."""
HEAD = 4_500
"""Tokens of system and tools."""


@dataclass
class Unit:
    """A text that is kept or dropped as one. `born` and `last` number the first request that has it and the last that needs it."""

    tokens: float
    born: int
    last: int
    users: bool


@dataclass
class Ideal:
    """A session under an oracle: USD, and the tokens of each prompt."""

    price: float = 0.0
    sizes: list[int] = field(default_factory=list)


def ideal(records: Sequence[Record], model: ModelSpec, piece: int = WHOLE) -> Ideal:
    """Return the least price of a session with texts of at most `piece` characters as units, or with whole texts."""
    found, before, cached = Ideal(), float("-inf"), set[int]()
    units, asked = _units(records, piece)
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


def _units(records: Iterable[Record], piece: int) -> tuple[list[Unit], list[tuple[float, int]]]:
    """All texts of a session with their last use, and the time and the tokens of the reply of each request."""
    units, asked, time = list[Unit](), list[tuple[float, int]](), 0.0
    place: dict[str | int, int] = {}
    for record in records:
        body = record.body
        if not isinstance(body, Message | ToolResult):
            continue
        is_reply = isinstance(body, Message) and body.role == "assistant"
        if isinstance(body, Message) and is_reply:
            for need in (*used(body), *given(body)):
                if need in place:
                    units[place[need]].last = len(asked)
            size = sum(len(text) for _, text in placed(body))
            asked.append((time, (body.usage.output if body.usage else 0) or round(size * RATE)))
        for kind, text in placed(body):
            for part in pieces(text, piece):
                users = kind == "a prompt"
                units.append(Unit(len(part) * RATE, len(asked), len(asked), users))
                place |= dict.fromkeys((*in_words(part), *sequences(part)), len(units) - 1)
        time = _seconds(record.time)
    return units, asked


def pieces(text: str, longest: int) -> Iterator[str]:
    """The parts of a text of at most `longest` characters, of whole lines if these are not longer; all of it for 0."""
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


def _seconds(time: str) -> float:
    moment = datetime.fromisoformat(time)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
