"""Causes of a turn's cost: parts that add up to it, the largest first. A turn that cost much more than usual gets a
line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, takewhile

from agentcli.agent.costs.spending import REPLY, Added, Shares, SpecOf, Spending, shares, spendings
from agentcli.core.costs import money
from agentcli.core.dataclass import dataclass
from agentcli.core.journal import Journal
from agentcli.core.message import Message, Usage
from agentcli.core.model import Prices
from agentcli.core.record import Record
from agentcli.core.sanitise import safe_line
from agentcli.core.text.words import plural

LARGE = 5_000
"""Tokens from which a tool's output is a separate cause."""
NAMED = 3
"""Maximum large outputs to list separately."""
SHOWN = 60
"""Characters of a title that are shown."""
LOST, OUTPUT, LARGE_OUTPUT, NEW, READ = "lost", "output", "large output", "new", "read"


@dataclass(frozen=True, slots=True)
class Cause:
    """A part of a turn's cost, in USD (None: no price is known), and its tokens."""

    kind: str
    text: str
    tokens: int
    cost: float | None


@dataclass(frozen=True, slots=True)
class TurnCost:
    """A turn that spent something. `cost` in USD is the sum of the causes; None if no price is known."""

    number: int
    prompt: str
    requests: int
    tokens: int
    cost: float | None
    causes: Sequence[Cause]

    @property
    def line(self) -> str:
        """The turn in a line, with its largest cause."""
        return f"  turn {self.number}  {money(self.cost)}, {self.prompt}: {self.causes[0].text}"

    def lines(self) -> list[str]:
        """Return the turn and its causes as lines for people."""
        head = f"Turn {self.number}, {money(self.cost)} in {plural(self.requests, 'request')}:"
        return [head, *(self._line(cause) for cause in self.causes)]

    def _line(self, cause: Cause) -> str:
        if not self.cost or cause.cost is None:
            return f"  {cause.text}"
        return f"  {money(cause.cost):>9}  {cause.cost / self.cost:>4.0%}  {cause.text}"


def turn_costs(records: Iterable[Record], spec_of: SpecOf) -> list[TurnCost]:
    """Return the turns of a session that spent something, oldest first; after a rewind a number may occur twice."""
    grouped: dict[int, list[Spending]] = {}
    for one in spendings(records, spec_of):
        grouped.setdefault(one.first, []).append(one)
    return [_turn(each, spec_of) for each in grouped.values()]


def _turn(found: Sequence[Spending], spec_of: SpecOf) -> TurnCost:
    causes = _causes(found, spec_of)
    costs = [cause.cost for cause in causes if cause.cost is not None]
    return TurnCost(
        found[0].turn,
        f"“{_short(found[0].prompt)}”" if found[0].prompt else "without a prompt",
        len(found),
        sum((one.usage for one in found), Usage()).total,
        sum(costs) if costs else None,
        causes,
    )


def _causes(found: Sequence[Spending], spec_of: SpecOf) -> list[Cause]:
    """Return the causes, the costliest first; without prices by tokens."""
    priced = [(one, shares(one, _prices(spec_of, one.model))) for one in found]
    replies = [(one, share) for one, share in priced if one.kind == REPLY]
    large, rest = _outputs(replies)
    causes = [*_lost(replies), *_named(large), *_plain(replies, rest)]
    others: dict[str, list[Spending]] = {}
    for one in found:
        if one.kind != REPLY:
            others.setdefault(one.kind, []).append(one)
    causes += [_other(kind, each) for kind, each in others.items()]
    return sorted(causes, key=lambda cause: (cause.cost or 0.0, cause.tokens), reverse=True)


Priced = tuple[Spending, Shares]


def _lost(replies: Sequence[Priced]) -> Iterator[Cause]:
    by_reason: dict[str, list[Priced]] = {}
    for one, share in replies:
        if one.lost:
            by_reason.setdefault(one.why, []).append((one, share))
    for why, each in by_reason.items():
        tokens = sum(one.lost for one, _ in each)
        reason = why or "the provider did not find it in its cache"
        text = f"sent again in full, {tokens:,} tokens: {reason}"
        yield Cause(LOST, text, tokens, _sum(share.lost for _, share in each))


def _outputs(replies: Sequence[Priced]) -> tuple[list[Cause], Cause]:
    """Return the large new outputs in these requests, the largest first, and the rest of what is new."""
    large: list[Cause] = []
    tokens, costs = 0, list[float | None]()
    for one, share in replies:
        whole, here = sum(part.size for part in one.added), 0.0
        for part in one.added:
            of = part.size / whole if whole else 0.0
            if part.call_id and one.new * of >= LARGE:
                text = f"large output, {one.new * of:,.0f} tokens: {_named_part(part)}"
                large.append(Cause(LARGE_OUTPUT, text, round(one.new * of), _times(share.new, of)))
                here += of
        tokens += round(one.new * (1 - here))
        costs.append(_times(share.new, 1 - here))
    large.sort(key=lambda cause: -cause.tokens)
    return large, Cause(NEW, f"new in the prompt, {tokens:,} tokens", tokens, _sum(costs))


def _named(large: Sequence[Cause]) -> list[Cause]:
    """Return the largest outputs separately, the others as one."""
    more = large[NAMED:]
    if not more:
        return list(large)
    tokens = sum(cause.tokens for cause in more)
    text = f"{len(more)} more large outputs, {tokens:,} tokens"
    return [*large[:NAMED], Cause(LARGE_OUTPUT, text, tokens, _sum(cause.cost for cause in more))]


def _plain(replies: Sequence[Priced], new: Cause) -> Iterator[Cause]:
    usage = sum((one.usage for one, _ in replies), Usage())
    thinking = f", {usage.reasoning:,} of them thinking" if usage.reasoning else ""
    output = f"replies, {usage.output:,} tokens{thinking}"
    read = f"read from the cache, {usage.cache_read:,} tokens"
    for cause in (
        Cause(OUTPUT, output, usage.output, _sum(share.output for _, share in replies)),
        Cause(READ, read, usage.cache_read, _sum(share.read for _, share in replies)),
        new,
    ):
        if cause.tokens or cause.cost:
            yield cause


def _other(kind: str, each: Sequence[Spending]) -> Cause:
    tokens = sum(one.usage.total for one in each)
    text = (
        f"{kind}, {plural(len(each), 'request')}, {tokens:,} tokens" if len(each) > 1 else f"{kind}, {tokens:,} tokens"
    )
    return Cause(kind, text, tokens, _sum(one.cost for one in each))


def _named_part(part: Added) -> str:
    return _short(f"{part.source} {part.title}".strip())


def _short(text: str) -> str:
    line = safe_line(" ".join(text[: 4 * SHOWN].split()))
    return line if len(line) <= SHOWN else f"{line[: SHOWN - 1]}…"


def _prices(spec_of: SpecOf, model: str) -> Prices | None:
    spec = spec_of(model)
    return spec.prices if spec is not None else None


def _sum(costs: Iterable[float | None]) -> float | None:
    known = [cost for cost in costs if cost is not None]
    return sum(known) if known else None


def _times(cost: float | None, share: float) -> float | None:
    return None if cost is None else cost * share


def costs_until(seq: int, records: Iterable[Record]) -> list[float]:
    """Return the USD of each turn up to a record that spent something, oldest first."""
    costs: dict[int, float] = {}
    for one in spendings(takewhile(lambda record: record.seq <= seq, records), lambda _: None):
        costs[one.first] = costs.get(one.first, 0.0) + (one.cost or 0.0)
    return [*costs.values()]


def newest_turn_cost(journal: Journal, spec_of: SpecOf) -> TurnCost | None:
    """Return the cost of a session's newest turn; None if it spent nothing."""
    return next(iter(turn_costs(_newest_turn(journal), spec_of)[-1:]), None)


def _newest_turn(journal: Journal) -> Sequence[Record]:
    """Return the records of the newest turn, and of the previous request, which left the cache as it was."""
    number, found = journal.history.turn, list[Record]()
    records = journal.records(newest_first=True)
    for record in records:
        found.append(record)
        if isinstance(record.body, Message) and record.body.turn < number and record.body.usage:
            found += islice(records, 1)  # its time is when that request was sent
            break
    return found[::-1]
