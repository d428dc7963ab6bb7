"""Requests of a session with their costs. Tokens are new, from the cache, or sent again in full, with the cause."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field
from datetime import datetime

from agentcli.core.codec.encode import dumps
from agentcli.core.dataclass import dataclass, replace
from agentcli.core.message import File, Image, Message, Part, Text, Thinking, ToolCall, ToolResult, Usage
from agentcli.core.model import ModelSpec, Prices
from agentcli.core.record import Compaction, Failure, FeatureState, Prune, Record, Settings, Title, Undo
from agentcli.core.subagent_result import purpose, spent
from agentcli.sessions.info import full_name

SpecOf = Callable[[str], ModelSpec | None]
"""Returns the spec of a model by its name; None for an unknown one."""
REPLY, SUMMARY, TITLE, RETRY = "replies", "summaries", "titles", "retries"
"""Kinds of requests; the others are purposes of features."""
HEAD, PROMPTS = "(system and tools)", "(prompts)"
"""Sources of a prompt's parts that are no tool."""
USUAL = Prices(input=1.0, output=5.0, cache_read=0.1, cache_write=1.25)
"""Price ratios for dividing a recorded cost if its model's prices are unknown."""


@dataclass(frozen=True, slots=True)
class Added:
    """A part of a prompt. `source` is its tool or a name in parentheses, `title` describes it, `size` is in characters."""

    source: str
    size: int
    seq: int = 0
    title: str = ""
    call_id: str = ""


@dataclass(frozen=True, slots=True)
class Spending:
    """A request and its spending, or several that one record sums up. `cost` is in USD, None if no price is known.

    `lost` are tokens of the prompt that the cache had and did not supply. `why` is the reason, empty if the records do
    not show it. `added` is new in the prompt since the previous request. `first` is the seq of the prompt that began
    the turn.
    """

    record: Record
    kind: str
    model: str
    usage: Usage
    cost: float | None
    turn: int = 0
    first: int = 0
    prompt: str = ""
    """The prompt that began the turn, as the user entered it."""
    account: str = ""
    """The account that paid; empty for the usual key."""
    lost: int = 0
    why: str = ""
    added: Sequence[Added] = ()

    @property
    def rewritten(self) -> int:
        """Tokens of `lost` that were written to the cache again; the others were fresh input."""
        return min(self.lost, self.usage.cache_write)

    @property
    def new(self) -> int:
        """Tokens of the prompt that no request had before."""
        return self.usage.input + self.usage.cache_write - self.lost


@dataclass(frozen=True, slots=True)
class Shares:
    """A request's cost in USD by kind of token, adding up exactly. All None if no price is known."""

    lost: float | None = None
    new: float | None = None
    read: float | None = None
    output: float | None = None


def shares(one: Spending, prices: Prices | None) -> Shares:
    """Divide a request's cost among its kinds of tokens, by its model's prices."""
    if one.cost is None:
        return Shares()
    usage, divided = one.usage, _divided(one.usage, prices) or _divided(one.usage, USUAL)
    if divided is None:
        return Shares(0.0, one.cost, 0.0, 0.0)
    fresh, written, read, output = (part * one.cost for part in divided)
    again = one.lost - one.rewritten
    lost = _part(written, one.rewritten, usage.cache_write) + _part(fresh, again, usage.input)
    return Shares(lost, fresh + written - lost, read, output)


def _divided(usage: Usage, prices: Prices | None) -> tuple[float, float, float, float] | None:
    """Return the shares of fresh, written, read and output tokens in the cost; None if these prices give nothing."""
    if prices is None or not (whole := prices.cost(usage)):
        return None
    long = bool(prices.over) and usage.prompt > prices.over
    rates = (
        (prices.over_input, prices.over_cache_write, prices.over_cache_read, prices.over_output)
        if long
        else (prices.input, prices.cache_write, prices.cache_read, prices.output)
    )
    counts = (usage.input, usage.cache_write, usage.cache_read, usage.output)
    fresh, written, read, output = (rate * count / 1e6 / whole for rate, count in zip(rates, counts, strict=True))
    return fresh, written, read, output


def _part(cost: float, tokens: int, of: int) -> float:
    return cost * tokens / of if of else 0.0


@dataclass(slots=True)
class _Walk:
    """State between two records."""

    spec_of: SpecOf
    turn: int = 0
    first: int = 0
    prompt: str = ""
    account: str = ""
    model: str = ""
    cached: int = 0
    """Tokens that the newest request left in the cache."""
    sent: str = ""
    """The time at which the newest request was sent."""
    last: str = ""
    edits: list[str] = field(default_factory=list)
    added: list[Added] = field(default_factory=list)
    head: int = -1


def spendings(records: Iterable[Record], spec_of: SpecOf) -> Iterator[Spending]:
    """Yield what each record of a session spent, oldest first, including undone records: they stay spent."""
    walk = _Walk(spec_of)
    for record in records:
        _follow(walk, record)
        if (one := _of_record(walk, record)) is not None:
            yield replace(one, turn=walk.turn, first=walk.first, prompt=walk.prompt, account=walk.account)
        walk.last = record.time


def _follow(walk: _Walk, record: Record) -> None:
    """Note what a record adds to the next prompt, and what it changes before that."""
    match record.body:
        case Message(role="user") as message:
            if message.is_prompt and message.turn != walk.turn:
                walk.turn, walk.first, walk.prompt = message.turn, record.seq, message.typed
            size = sum(part_size(part) for part in message.parts)
            walk.added.append(Added(PROMPTS, size, record.seq))
        case ToolResult() as result:
            size = len(result.output) + _IMAGE * len(result.images)
            walk.added.append(Added(result.name, size, record.seq, result.title, result.call_id))
        case Settings() as settings:
            _follow_settings(walk, settings, record.seq)
        case Compaction(status="compressed"):
            walk.edits.append("a compaction replaced the older part")
        case Prune():
            walk.edits.append("old outputs were cleared")
        case Undo(target="rewind"):
            walk.turn = -1  # a prompt may have the number of one that was undone
            walk.edits.append("the session was rewound")
        case Undo():
            walk.edits.append("an edit was undone")
        case _:
            pass


def _follow_settings(walk: _Walk, settings: Settings, seq: int) -> None:
    account, system, tools = settings.account, settings.system, settings.tools
    if account and account != (walk.account or "default") and walk.cached:
        walk.edits.append(f"the account changed to {account}")
    walk.account = (account or walk.account) if account != "default" else ""
    if not (system or tools):
        return
    if walk.head >= 0:
        walk.edits.append("the system prompt or the tools changed")
    walk.head = sum(map(len, system)) + sum(len(dumps(tool)) for tool in tools)
    walk.added.append(Added(HEAD, walk.head, seq))


def _of_record(walk: _Walk, record: Record) -> Spending | None:
    match record.body:
        case Message(role="assistant") as message:
            return _reply(walk, record, message, message.usage) if message.usage is not None else None
        case ToolResult() as result:
            kind, (model, usage, cost) = purpose(result), spent(result)
        case Compaction(model=model, usage=usage, cost=cost):
            kind = SUMMARY
        case Title(model=model, usage=usage, cost=cost):
            kind = TITLE
        case FeatureState(kind, model=model, usage=usage, cost=cost):
            pass
        case Failure(where=model, usage=usage, cost=cost):
            kind = RETRY
        case _:
            return None
    return Spending(record, kind, model, usage, cost) if usage.total else None


def _reply(walk: _Walk, record: Record, message: Message, usage: Usage) -> Spending:
    model = full_name(message)
    spec = walk.spec_of(model)
    sent = walk.last or record.time
    lost, why = _lost(walk, usage, model, spec, sent)
    one = Spending(record, REPLY, model, usage, message.cost, lost=lost, why=why, added=tuple(walk.added))
    walk.added.clear()
    walk.edits.clear()
    if usage.prompt:
        explicit = spec.cache_explicit if spec is not None else bool(usage.cache_write)
        walk.cached = usage.cache_read + usage.cache_write if explicit else usage.prompt
        walk.model, walk.sent = model, sent
    return one


def _lost(walk: _Walk, usage: Usage, model: str, spec: ModelSpec | None, sent: str) -> tuple[int, str]:
    """Return the tokens that the cache had and did not supply, and why.

    Without a known cause half of them must be missing: a cache without marks does not keep all.
    """
    charged = usage.input + usage.cache_write
    lost = min(walk.cached - usage.cache_read, charged)
    least = max(1, spec.cache_minimum if spec is not None else 1)
    silent = spec is not None and not spec.cache_explicit and spec.prices is None and not usage.cache_read
    if lost < least or walk.cached < least or silent:
        return 0, ""
    if walk.model != model:
        return lost, f"the model changed to {model}"
    if walk.edits:
        return lost, walk.edits[-1]
    idle = seconds_between(walk.sent, sent)
    if spec is not None and idle > spec.cache_lifetime:
        return (
            lost,
            f"the cache had expired, {span(idle)} after the request before (it lasts {span(spec.cache_lifetime)})",
        )
    return (lost, "") if usage.cache_read * 2 < walk.cached else (0, "")


def part_size(part: Part) -> int:
    """Return the characters of a message part; an image counts as some text."""
    match part:
        case Text(text) | Thinking(text) | File(text=text):
            return len(text)
        case ToolCall(input=given):
            return len(dumps(dict(given)))
        case Image():
            return _IMAGE


_IMAGE = 4_000
"""Characters that an image counts as."""


def seconds_between(earlier: str, later: str) -> float:
    """Return the seconds between two record times; 0 if one of them is unreadable."""
    try:
        return max(0.0, (datetime.fromisoformat(later) - datetime.fromisoformat(earlier)).total_seconds())
    except (ValueError, TypeError):
        return 0.0


def span(seconds: float) -> str:
    """Return a time in its largest unit: `40 s`, `5 min`, `3 h`."""
    for size, unit in ((3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"
