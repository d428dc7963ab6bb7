"""Health of the provider's cache: its hit rate, and the segment of the request that changed at a miss."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from agentcli.context.assemble import assemble
from agentcli.context.view import view
from agentcli.core.codec.encode import dumps, part_to_json
from agentcli.core.dataclass import dataclass, replace
from agentcli.core.history import fold
from agentcli.core.message import Message, Part, ToolResult, Usage
from agentcli.core.model import ModelSpec, Prices, Request, ToolSchema
from agentcli.core.record import Compaction, Prune, Record, Settings, Undo
from agentcli.core.tool import Traits


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of a request that a cache compares as a whole.

    It is the model, the tools, the system prompt, or a part of a message.
    """

    name: str
    digest: str


@dataclass(frozen=True, slots=True)
class CacheHealth:
    """Cache statistics of a session, folded request by request with `after`.

    Tokens by kind over all requests. `misses` counts requests that could have read from the cache and did not,
    `in_a_row` the newest of them. `changed` is the first segment that differed at the newest miss, empty if none did,
    None if unknown. `recalls` are the outputs that the model requested again; `thrash` misses in a row are too many.
    """

    requests: int = 0
    fresh: int = 0
    written: int = 0
    read: int = 0
    output: int = 0
    misses: int = 0
    in_a_row: int = 0
    changed: str | None = ""
    compactions: int = 0
    prunes: int = 0
    recalls: int = 0
    thrash: int = 3
    last: Request | None = None
    expected: int = 0
    missed: tuple[int, int] = (0, 0)
    """For statistics from records: the seqs of the reply before the newest miss, and of the reply that missed."""

    @property
    def hit_rate(self) -> float:
        """Share of all input that came from the cache, 0 to 1."""
        total = self.fresh + self.written + self.read
        return self.read / total if total else 0.0

    def after(self, request: Request, usage: Usage, *, edited: bool = False, idle: float = 0.0) -> CacheHealth:
        """Return the statistics after one more answered request, `idle` seconds after the previous one.

        A miss is a request that read less than half of the previous one's cached tokens. No miss counts if nothing
        could be read: at first, below the model's minimum, or after the cache's lifetime. Nor does one count if an edit
        by agentcli explains it.
        """
        counted = self.counting(request.model, usage, edited=edited, idle=idle)
        missed = counted.misses > self.misses
        changed = changed_between(self.last, request) if missed and self.last else counted.changed
        return replace(counted, changed=changed, last=request)

    def counting(self, model: ModelSpec, usage: Usage, *, edited: bool = False, idle: float = 0.0) -> CacheHealth:
        """Count a request whose usage alone is known: the changed segment stays unknown."""
        missed = _is_miss(model, usage, self.expected, reads=bool(self.read), edited=edited, idle=idle)
        return replace(
            self,
            requests=self.requests + 1,
            fresh=self.fresh + usage.input,
            written=self.written + usage.cache_write,
            read=self.read + usage.cache_read,
            output=self.output + usage.output,
            misses=self.misses + missed,
            in_a_row=self.in_a_row + 1 if missed else 0,
            changed=None if missed else self.changed,
            expected=_cached(model, usage),
        )

    def costs(self, prices: Prices) -> Mapping[str, float]:
        """Return USD by kind of token, at the prices for prompts of ordinary length."""
        kinds = {
            "fresh": Usage(input=self.fresh),
            "cache write": Usage(cache_write=self.written),
            "cache read": Usage(cache_read=self.read),
            "output": Usage(output=self.output),
        }
        ordinary = replace(prices, over=0)
        return {kind: ordinary.cost(usage) for kind, usage in kinds.items()}

    def warning(self) -> str:
        """Return a warning for people about the newest misses; empty if there is none."""
        if not self.in_a_row:
            return ""
        times = "once" if self.in_a_row == 1 else f"{self.in_a_row} times in a row"
        if self.changed is None:
            return f"The provider's cache was missed {times}."
        if not self.changed:
            return f"The provider's cache was missed {times}, although nothing in the request had changed."
        return f"The provider's cache was missed {times}: {self.changed} changed since the request before."


def health_of(records: Iterable[Record], model: ModelSpec, tools: Mapping[str, Traits], thrash: int = 3) -> CacheHealth:
    """Return the cache statistics from the records of a session, for a resumed session to continue."""
    requests = fresh = written = read = output = misses = in_a_row = compactions = prunes = recalls = expected = 0
    missed, edited, last, former = (0, 0), True, None, 0
    recalling = {name for name, traits in tools.items() if traits.behaviour.recalls}
    for record in records:
        match record.body:
            case Message(role="assistant", usage=usage) as reply if usage and usage.prompt:
                edited = edited or reply.model != model.id
                now = _moment(record.time)
                idle = _seconds_between(last, now)
                if _is_miss(model, usage, expected, reads=read > 0, edited=edited, idle=idle):
                    misses, in_a_row, missed = misses + 1, in_a_row + 1, (former, record.seq)
                else:
                    in_a_row = 0
                requests, fresh, written = requests + 1, fresh + usage.input, written + usage.cache_write
                read, output, expected = read + usage.cache_read, output + usage.output, _cached(model, usage)
                recalls += sum([call.name in recalling for call in reply.calls])
                former, edited, last = record.seq, False, now
            case Compaction(status="compressed"):
                compactions, edited = compactions + 1, True
            case Prune():
                prunes, edited = prunes + 1, True
            case Undo() | Settings():
                edited = True
            case _:
                pass
    return CacheHealth(
        requests,
        fresh,
        written,
        read,
        output,
        misses,
        in_a_row,
        changed=None if misses else "",
        compactions=compactions,
        prunes=prunes,
        recalls=recalls,
        thrash=thrash,
        expected=expected,
        missed=missed,
    )


def _is_miss(model: ModelSpec, usage: Usage, expected: int, *, reads: bool, edited: bool, idle: float) -> bool:
    """Return True if a request read less than half of `expected` tokens, although it could have read them.

    `reads`: an earlier request read some from the cache.
    """
    if usage.cache_read * 2 >= expected or edited or idle > model.cache_lifetime:
        return False
    # A server without prices that has never reported a cache has none, or does not report it: it cannot miss.
    silent = not model.cache_explicit and model.prices is None and not reads
    return not silent and expected >= max(1, model.cache_minimum)


def _cached(model: ModelSpec, usage: Usage) -> int:
    """Return the tokens that the next request could read from the cache."""
    return usage.cache_read + usage.cache_write if model.cache_explicit else usage.prompt


def changed_between(former: Request, now: Request) -> str:
    """Return the first segment of the previous request that the new one does not repeat, or an empty text."""
    later = segments_of(now)
    for index, segment in enumerate(segments_of(former)):
        if index >= len(later):
            return f"{segment.name} (gone)"
        if segment != later[index]:
            return segment.name
    return ""


def segments_of(request: Request) -> tuple[Segment, ...]:
    """Return the pieces of a request that a cache compares, each with its hash, in the order of the prefix."""
    return tuple(_segments(request))


def _segments(request: Request) -> Iterator[Segment]:
    yield Segment("the model", _digest(request.model.name))
    yield Segment(
        "the tools", _digest([[tool.name, tool.description, dict(tool.parameters)] for tool in request.tools])
    )
    yield Segment("the system prompt", _digest(list(request.system)))
    for number, message in enumerate(request.messages, 1):
        # Part by part, because the newest message may grow: results first, the user's words later.
        for part in message.parts:
            yield Segment(f"message {number} ({message.role})", _digest([message.role, _part(part)]))


def _part(part: Part | ToolResult) -> object:
    if isinstance(part, ToolResult):
        return [part.call_id, part.output, part.failed, [image.data for image in part.images]]
    return part_to_json(part)


def _digest(value: object) -> str:
    return hashlib.sha256(dumps(value).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _moment(time: str) -> datetime | None:
    try:
        return datetime.fromisoformat(time)
    except ValueError:
        return None


def _seconds_between(earlier: datetime | None, later: datetime | None) -> float:
    try:
        return (later - earlier).total_seconds() if earlier and later else 0.0
    except TypeError:  # only one of them names its zone
        return 0.0


def explain_miss(health: CacheHealth, records: Sequence[Record], model: ModelSpec) -> CacheHealth:
    """Add the segment that changed at the newest miss, if it is unknown and can be found.

    Both requests are rebuilt from the records, byte for byte. This is impossible for a session of another program,
    which has neither system nor tools.
    """
    if not health.in_a_row or health.changed is not None:
        return health
    before, missed = (_request(records, seq, model) for seq in health.missed)
    return replace(health, changed=changed_between(before, missed)) if before and missed else health


def _request(records: Sequence[Record], seq: int, model: ModelSpec) -> Request | None:
    """Return the request that the reply with this seq answered."""
    past = fold(record for record in records if record.seq < seq)
    reply = next((record.body for record in records if record.seq == seq), None)
    if not past.system or not isinstance(reply, Message):
        return None
    tools = [*map(ToolSchema.recorded, past.tools)]
    return assemble(view(past), past.system, tools, replace(model, provider=reply.provider, id=reply.model))
