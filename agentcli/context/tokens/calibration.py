"""Tokens per character of each model, learned from reported usage.

Sizes of the messages between two replies need no estimate.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agentcli.context.view import View, ViewMessage
from agentcli.core.dataclass import dataclass, replace
from agentcli.core.history import History, added
from agentcli.core.message import Message, ToolResult, Usage
from agentcli.core.record import Compaction, Prune

Size = Callable[[Message | ToolResult], tuple[float, int]]
"""Size and number of blocks that a record adds to a prompt."""


@dataclass(frozen=True, slots=True)
class Rate:
    """Observations of one model: `tokens` for `size`, and the tokens of a prompt before its first message (`head`)."""

    tokens: float = 0.0
    size: float = 0.0
    head: float = 0.0


LOWEST_RATE, HIGHEST_RATE = 0.04, 1.5
"""Limits of a believable rate, in tokens per unit of size. A Cyrillic letter is four units and about a quarter of a token."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """Rates by model. `start` is the prior rate, `weight` its weight in characters.

    A reply's share is learned only from additions of at least `least` characters with a believable rate.
    """

    rates: Mapping[str, Rate]
    start: float = 0.34
    weight: float = 5_000.0
    per_block: float = 8.0
    least: float = 200.0

    def rate(self, model: str) -> float:
        """Return the tokens per unit of size for a model."""
        seen = self.rates.get(model, Rate())
        return (self.start * self.weight + seen.tokens) / (self.weight + seen.size)

    def head(self, model: str) -> float:
        """Return the tokens of system and tools as far as known, or 0."""
        return self.rates.get(model, Rate()).head

    def learn(self, model: str, tokens: float, size: float, blocks: int) -> Calibration:
        """Return the calibration after one more addition of known size; implausible ones (a changed prefix, an image) are ignored."""
        tokens -= blocks * self.per_block
        if size < self.least or not LOWEST_RATE < tokens / size < HIGHEST_RATE:
            return self
        seen = self.rates.get(model, Rate())
        rates = {**self.rates, model: Rate(seen.tokens + tokens, seen.size + size, seen.head)}
        return Calibration(rates, self.start, self.weight, self.per_block, self.least)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON of `Carry.calibration`, kept across a compaction."""
        return {model: [rate.tokens, rate.size, rate.head] for model, rate in self.rates.items()}


def from_json(raw: Mapping[str, Any]) -> Calibration:
    """Return the calibration that a compaction carried, without malformed entries."""
    rates = {}
    for model, values in raw.items():
        if isinstance(values, list | tuple) and len(values) == 3:
            rates[model] = Rate(*(float(value) for value in values))
    return Calibration(rates)


@dataclass(frozen=True, slots=True)
class Learned:
    """The calibration learned from a history, and the additions to the prompt since the newest reply in it.

    `last` is the seq of that reply and the tokens reported for everything up to it.
    """

    history: History
    calibration: Calibration
    last: tuple[int, int] | None = None
    size: float = 0.0
    blocks: int = 0


def calibrate(history: History, size: Size, former: Learned | None = None) -> Learned:
    """Learn the calibration from the replies of a history.

    This is a pure fold: its result is the same live and after a resume. With the result for a `former` history that has
    the same compaction and prunes, it reads only the new records.
    """
    carried, since = _carried(history)
    learned, entries = Learned(history, carried), history.entries
    if former and former.history.compaction is history.compaction and former.history.prunes is history.prunes:
        new = added(history, former.history)
        learned, entries = (learned, entries) if new is None else (former, new)
    edits = [record.seq for record in history.prunes]
    calibration, last, grown, blocks = learned.calibration, learned.last, learned.size, learned.blocks
    for record in entries:
        if record.seq < since:
            continue
        body = record.body
        if isinstance(body, Message) and body.role == "assistant" and body.usage and body.usage.prompt:
            if last and _same_prefix(last[0], record.seq, edits):
                calibration = calibration.learn(body.model, body.usage.prompt - last[1], grown, blocks)
            elif last is None and not since and grown:
                calibration = _with_head(calibration, body.model, body.usage, grown, blocks)
            last, grown, blocks = _base(record.seq, body, size)
        elif isinstance(body, Message | ToolResult):
            more, count = size(body)
            grown, blocks = grown + more, blocks + count
    return Learned(history, calibration, last, grown, blocks)


def is_whole(message: Message) -> bool:
    """Return True if a reply's reported output covers its content: not if it broke off."""
    return message.stop not in ("interrupted", "error", None)


def _carried(history: History) -> tuple[Calibration, int]:
    body = history.compaction.body if history.compaction else None
    if isinstance(body, Compaction) and history.compaction:
        carried = from_json(body.carry.calibration)
        return carried, history.compaction.seq if carried.rates else body.kept_from
    return from_json({}), 0


def _same_prefix(earlier: int, later: int, edits: Sequence[int]) -> bool:
    return bisect_right(edits, earlier) == bisect_left(edits, later)


def _base(seq: int, message: Message, size: Size) -> tuple[tuple[int, int], float, int]:
    """Return the start of the next addition.

    It is after the reply if that is whole. Otherwise, it is after its prompt with the received parts added.
    """
    usage = message.usage or Usage()
    if is_whole(message):
        return (seq, usage.total), 0.0, 0
    more, count = size(message)
    return (seq, usage.prompt), more, count


def _with_head(calibration: Calibration, model: str, usage: Usage, size: float, blocks: int) -> Calibration:
    """Return the calibration with the size of the first prompt without its messages."""
    head = usage.prompt - size * calibration.rate(model) - blocks * calibration.per_block
    seen = replace(calibration.rates.get(model, Rate()), head=max(0.0, head))
    return replace(calibration, rates={**calibration.rates, model: seen})


LEAST, MOST, SLACK = 0.5, 2.0, 50
"""A report is believed if it is between `LEAST` and `MOST` times the estimate, with a tolerance of `SLACK` tokens."""


@dataclass(frozen=True, slots=True)
class _Span:
    """The messages from one reply up to the next. `usage` comes from the reply they begin with, None before the first."""

    usage: Usage | None = None
    scale: float = 1.0
    guess: int = 0
    edited: bool = False

    def tokens(self, following: Usage | None) -> int:
        """Return the reported difference of two prompts if it is believable, else the estimate."""
        if self.usage is None or following is None or self.edited:
            return self.guess
        reported = round((following.prompt - self.usage.prompt) * self.scale)
        return reported if LEAST * self.guess - SLACK <= reported <= MOST * self.guess + SLACK else self.guess


def measured(view: View, guesses: Sequence[int], scale: Callable[[str], float]) -> int:
    """Return the tokens of a view's messages right after a compaction, before any reply to it.

    Kept messages were sent before: the prompts of two replies differ by the messages between them. Only the snapshot, newer
    messages and edited ones must be estimated, with `guesses` for each. `scale` returns the factor from tokens of the model with
    that id to tokens of the one in use.
    """
    total, span, dropped = 0, _Span(), _thinking_dropped_before(view)
    for message, guess in zip(view.messages, guesses, strict=True):
        usage = _report(view, message)
        if usage is not None:
            total += span.tokens(usage)
            span = _Span(usage, scale(message.model), edited=message.seq < dropped)
        span = replace(span, guess=span.guess + guess, edited=span.edited or _is_edited(message))
    return total + span.guess


def _report(view: View, message: ViewMessage) -> Usage | None:
    """Return the usage reported with a reply to this very view, if any."""
    elsewhere = any(start < message.seq < end for start, end in view.undone)
    usage = message.usage if message.role == "assistant" and not elsewhere else None
    return usage if usage and usage.prompt else None


def _is_edited(message: ViewMessage) -> bool:
    return any(block.cleared or block.source == "compactor" for block in message.blocks)


def _thinking_dropped_before(view: View) -> int:
    edits = [record.body for record in (view.compaction, *view.prunes) if record]
    return max((edit.drop_thinking_before for edit in edits if isinstance(edit, Compaction | Prune)), default=0)
