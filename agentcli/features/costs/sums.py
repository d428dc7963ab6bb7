"""Totals of costs over sessions by day, project, model or tool, from each request's records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from typing import Literal, get_args

from agentcli.agent.costs.spending import (
    HEAD,
    REPLY,
    SUMMARY,
    Added,
    Shares,
    SpecOf,
    Spending,
    part_size,
    shares,
    spendings,
)
from agentcli.core.costs import plus
from agentcli.core.dataclass import dataclass
from agentcli.core.message import Message, Part, Thinking, ToolCall, ToolResult, Usage
from agentcli.core.record import Compaction, Prune, Record
from agentcli.sessions.info import SessionInfo, local_day

By = Literal["day", "project", "model", "tool", "account"]
BY: tuple[By, ...] = get_args(By)
THINKING, REPLIES = "(thinking)", "(replies)"
COLUMNS = ("requests", "input", "cache_write", "cache_read", "output", "cost")


@dataclass(slots=True)
class Sum:
    """Requests with their tokens and USD (None: no price is known). By tool, shares of requests are added, and `requests` counts calls."""

    requests: int = 0
    input: float = 0.0
    cache_write: float = 0.0
    cache_read: float = 0.0
    output: float = 0.0
    cost: float | None = None

    def add(self, usage: Usage, cost: float | None, requests: int = 1) -> None:
        """Add a request."""
        self.spend(usage.input, usage.cache_write, usage.cache_read, usage.output, cost)
        self.requests += requests

    def spend(self, fresh: float, written: float, read: float, output: float, cost: float | None) -> None:
        """Add tokens and USD."""
        self.input += fresh
        self.cache_write += written
        self.cache_read += read
        self.output += output
        if cost is not None:
            self.cost = (self.cost or 0.0) + cost

    @property
    def tokens(self) -> float:
        """All tokens."""
        return self.input + self.cache_write + self.cache_read + self.output

    def row(self) -> dict[str, float | int | None]:
        """Return the values under `COLUMNS`."""
        tokens = (round(count) for count in (self.input, self.cache_write, self.cache_read, self.output))
        values = (self.requests, *tokens, None if self.cost is None else round(self.cost, 6))
        return dict(zip(COLUMNS, values, strict=True))


@dataclass(frozen=True, slots=True)
class Counted:
    """A session whose records after number `after` count here; the earlier ones count in another session."""

    info: SessionInfo
    records: Iterable[Record]
    after: int = 0


def sums(sessions: Iterable[Counted], by: By, spec_of: SpecOf, since: str = "") -> dict[str, Sum]:
    """Return the totals by name: days in order, all others by cost, then by tokens.

    `since`: the first day, in ISO form.
    """
    found: dict[str, Sum] = {}
    for one in sessions:
        tools = _Tools(found, spec_of) if by == "tool" else None
        for spending in _watched(one.records, spec_of, tools):
            counts = spending.record.seq > one.after and local_day(spending.record.time) >= since
            if tools is not None:
                tools.charge(spending, counts=counts)
            elif counts:
                name = _name(by, one.info, spending)
                found.setdefault(name, Sum()).add(spending.usage, spending.cost)
    if by == "day":
        return dict(sorted(found.items()))
    return dict(sorted(found.items(), key=lambda each: (-(each[1].cost or 0.0), -each[1].tokens, each[0])))


def total(found: Iterable[Sum]) -> Sum:
    """Return the sum of sums."""
    whole = Sum()
    for one in found:
        whole.spend(one.input, one.cache_write, one.cache_read, one.output, one.cost)
        whole.requests += one.requests
    return whole


def _watched(records: Iterable[Record], spec_of: SpecOf, tools: _Tools | None) -> Iterator[Spending]:
    """Yield what was spent; `tools` sees each record once its spending was charged."""
    if tools is None:
        yield from spendings(records, spec_of)
        return
    seen: list[Record] = []

    def passing() -> Iterator[Record]:
        for record in records:
            for former in seen:
                tools.see(former)
            seen[:] = [record]
            yield record

    yield from spendings(passing(), spec_of)


def _name(by: By, info: SessionInfo, spending: Spending) -> str:
    match by:
        case "day":
            return local_day(spending.record.time)
        case "project":
            return info.directory
        case "account":
            return f"{spending.model.partition('/')[0] or '?'}/{spending.account or 'default'}"
        case _:
            return spending.model or "?"


@dataclass(slots=True)
class _Tools:
    """Divides requests among the tools whose calls and results they contain, by their sizes in characters."""

    found: dict[str, Sum]
    spec_of: SpecOf
    in_view: list[Added] = field(default_factory=list)
    """The parts of the newest request and its reply."""
    ignored: dict[str, Sum] = field(default_factory=dict)
    counts: bool = True

    def charge(self, one: Spending, *, counts: bool) -> None:
        """Divide one request; without `counts` only note what the following ones contain."""
        self.counts = counts
        spec = self.spec_of(one.model)
        share = shares(one, spec.prices if spec is not None else None)
        if one.kind != REPLY:
            result = one.record.body
            name = result.name if isinstance(result, ToolResult) else f"({one.kind})"
            self._sum(name).add(one.usage, one.cost, 0)
            return
        # The prompt's old part was read from the cache, or sent again; the new part was charged in full.
        old_fresh, old_written = float(one.lost - one.rewritten), float(one.rewritten)
        usage = one.usage
        old = (old_fresh, old_written, float(usage.cache_read))
        new = (usage.input - old_fresh, usage.cache_write - old_written, 0.0)
        self._divide(self.in_view or list(one.added), old, plus(share.lost, share.read))
        self._divide(one.added or self.in_view, new, share.new)
        self._divide_output(one, share)

    def see(self, record: Record) -> None:
        """Note what the following requests contain because of a record."""
        match record.body:
            case Compaction(status="compressed") as body:
                kept = set(body.kept)
                self.in_view = [
                    part
                    for part in self.in_view
                    if part.source == HEAD or part.seq >= body.kept_from or part.seq in kept
                ]
                self.in_view.append(Added(f"({SUMMARY})", len(body.snapshot), record.seq))
            case Prune(call_ids=calls):
                gone = set(calls)
                self.in_view = [part for part in self.in_view if part.call_id not in gone or not part.call_id]
            case _:
                pass

    def _divide(self, parts: Sequence[Added], tokens: tuple[float, float, float], cost: float | None) -> None:
        whole = sum(part.size for part in parts)
        if not whole:
            self._sum(HEAD).spend(*tokens, 0.0, cost)
            return
        sizes: dict[str, int] = {}
        for part in parts:
            sizes[part.source] = sizes.get(part.source, 0) + part.size
        for source, size in sizes.items():
            of = size / whole
            fresh, written, read = (count * of for count in tokens)
            self._sum(source).spend(fresh, written, read, 0.0, None if cost is None else cost * of)

    def _divide_output(self, one: Spending, share: Shares) -> None:
        reply = one.record.body
        assert isinstance(reply, Message)
        usage, seq = one.usage, one.record.seq
        parts = [_output(part, seq) for part in reply.parts if not isinstance(part, Thinking)]
        self.in_view += [*one.added, *parts]
        for call in reply.calls:
            self._sum(call.name).requests += 1
        thinking = usage.reasoning / usage.output if usage.output else 0.0
        portions = [(THINKING, thinking)] if thinking else []
        whole = sum(part.size for part in parts)
        portions += [(part.source, (1 - thinking) * part.size / whole) for part in parts if whole]
        if not whole:
            portions.append((REPLIES, 1 - thinking))
        for source, of in portions:
            self._sum(source).spend(0.0, 0.0, 0.0, usage.output * of, _times(share.output, of))

    def _sum(self, name: str) -> Sum:
        return (self.found if self.counts else self.ignored).setdefault(name, Sum())


def _output(part: Part, seq: int) -> Added:
    return Added(part.name if isinstance(part, ToolCall) else REPLIES, part_size(part), seq)


def _times(cost: float | None, of: float) -> float | None:
    return None if cost is None else cost * of
