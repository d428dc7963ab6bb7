"""The state of a session, a fold over its records: the same live and on resume."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from types import MappingProxyType
from typing import Any, assert_never

from agentcli.core import subagent_result
from agentcli.core.dataclass import dataclass, replace
from agentcli.core.message import Message, ToolCall, ToolResult, Usage
from agentcli.core.record import (
    Body,
    Carry,
    Checkpoint,
    Compaction,
    Failure,
    FeatureState,
    InnerCall,
    Kept,
    Pin,
    Prune,
    Record,
    Retry,
    Settings,
    Title,
    Todo,
    TodoItem,
    Undo,
    Unknown,
    Unpin,
)

_NOTHING: Mapping[str, int] = MappingProxyType({})


class NeedsReplay(Exception):
    """An undo reaches behind the beginning of this history: fold the records again."""


@dataclass(frozen=True, slots=True)
class History:
    """Current state: the records of the view, and everything folded from the others."""

    entries: tuple[Record, ...] = ()
    """Messages and tool results, oldest first, from the newest compaction's `kept_from` on.

    They include what it kept from before.
    """
    compaction: Record | None = None
    cleared: Mapping[str, int] = field(default_factory=lambda: _NOTHING)
    """Call id → seq of the prune that cleared its output."""
    cleared_inputs: Mapping[str, int] = field(default_factory=lambda: _NOTHING)
    """Call id → seq of the prune that cleared its input."""
    held: frozenset[str] = frozenset()
    """Calls that are sent whole, because the provider itself drops their output or input."""
    held_thinking: int = 0
    """Thoughts before this seq are sent whole as well."""
    prunes: tuple[Record, ...] = ()
    pins: frozenset[int] = frozenset()
    model: str = ""
    mode: str = ""
    policy: str = ""
    title: str = ""
    name: str = ""
    todo: tuple[TodoItem, ...] = ()
    system: tuple[str, ...] = ()
    tools: tuple[Mapping[str, Any], ...] = ()
    turn: int = 0
    """Number of the user's prompts."""
    usage: Usage = field(default_factory=Usage)
    """Includes records that were undone, like `cost`."""
    cost: float | None = None
    """USD; None if no price is known."""
    last_seq: int = 0
    undone: tuple[tuple[int, int], ...] = ()
    """Ranges in which the model saw a different view: the seqs of an edit and of its undo."""
    foreign: int = 0
    """Records up to this number came from an external file.

    Their account, model, mode, policy, system prompt, tools, folder and states of features are ignored.
    """
    folder: str = ""
    """Folder where commands start, if they have left the session's folder."""
    account: str = ""
    features: Mapping[str, Kept] = field(default_factory=dict)
    """Newest recorded states of features."""
    inner: tuple[Record, ...] = ()
    """Calls that calls of the view made, with their results, oldest first. No request contains them."""

    @property
    def deeds(self) -> Sequence[Record]:
        """The entries together with the inner calls, oldest first."""
        return sorted((*self.entries, *self.inner), key=lambda entry: entry.seq) if self.inner else self.entries

    @property
    def open_calls(self) -> tuple[ToolCall, ...]:
        """The calls of the newest message that have no result yet, in order."""
        answers: set[str] = set()  # only later answers: a server may reuse ids of earlier calls
        for entry in reversed(self.entries):
            if isinstance(entry.body, ToolResult):
                answers.add(entry.body.call_id)
            elif isinstance(entry.body, Message):
                return tuple(call for call in entry.body.calls if call.call_id not in answers)
        return ()

    @property
    def answered_by(self) -> str:
        """The model of the newest reply; empty without a reply."""
        bodies = (entry.body for entry in reversed(self.entries))
        newest = next((body for body in bodies if isinstance(body, Message) and body.model), None)
        return f"{newest.provider}/{newest.model}" if newest is not None else ""

    @property
    def carry(self) -> Carry:
        """The carry of the next compaction."""
        return Carry(
            usage=self.usage,
            cost=self.cost,
            turn=self.turn,
            model=self.model,
            mode=self.mode,
            policy=self.policy,
            title=self.title,
            name=self.name,
            todo=self.todo,
            system=self.system,
            tools=self.tools,
            pins=tuple(sorted(self.pins)),
            cleared=dict(self.cleared),
            cleared_inputs=dict(self.cleared_inputs),
            folder=self.folder,
            account=self.account,
            features=self.features,
        )


def added(history: History, former: History) -> tuple[Record, ...] | None:
    """Return the entries that follow an earlier history of the session.

    Return None if it does not begin with the same entries, for example after an undo.
    """
    known = len(former.entries)
    # Seqs only rise: if the same record is in the same place, everything before it is equal, too.
    if known and (len(history.entries) < known or history.entries[known - 1] is not former.entries[-1]):
        return None
    return history.entries[known:]


def evolve(history: History, record: Record) -> History:
    """Return the history after one more record. Raises NeedsReplay for an undo, which reaches further back than a
    history can.
    """
    last_seq = max(history.last_seq, record.seq)
    body: Body = record.body
    if isinstance(body, Message | ToolResult):
        return _counted(history, (body,), entries=(*history.entries, record), last_seq=last_seq)
    history = replace(history, last_seq=last_seq)
    match body:
        case Compaction():
            if body.status != "compressed":
                return _spent(history, body.usage, body.cost)
            return _compacted(_spent(_carried(history, record.seq, body), body.usage, body.cost), record, body)
        case Prune():
            return _pruned(history, record, body)
        case Undo():
            raise NeedsReplay
        case Pin(seq):
            return replace(history, pins=history.pins | {seq})
        case Unpin(seq):
            return replace(history, pins=history.pins - {seq})
        case Title(title, name, _, usage, cost):
            return _spent(history, usage, cost, title=title or history.title, name=name or history.name)
        case Todo(items):
            return replace(history, todo=items)
        case Settings() if record.seq <= history.foreign:
            return history
        case Settings():
            return replace(
                history,
                model=body.model or history.model,
                mode=body.mode or history.mode,
                policy=body.policy or history.policy,
                system=body.system or history.system,
                tools=body.tools or history.tools,
                folder=body.folder or history.folder,
                account=body.account or history.account,
            )
        case FeatureState(feature, data, _, usage, cost):
            own = {} if record.seq <= history.foreign else {feature: Kept(record.seq, data)}
            return _spent(history, usage, cost, features={**history.features, **own})
        case Failure():
            return _spent(history, body.usage, body.cost)
        case InnerCall(result=result):
            return _counted(history, (result,), inner=(*history.inner, record))
        case Retry() | Checkpoint() | Unknown():
            return history
        case _:
            assert_never(body)


def fold(records: Iterable[Record], foreign: int = 0) -> History:
    """Return the history of a whole session, or of a tail chosen by `tail`; `foreign` is the last external record."""
    kept, undone = _in_force(list(records))
    history = evolve_all(History(foreign=foreign), kept)
    return replace(history, undone=_around(history, undone))


def in_force(records: list[Record]) -> list[Record]:
    """Return the records that no undo removed, oldest first, without the undos."""
    return [record for record in _in_force(records)[0] if not isinstance(record.body, Undo)]


def _in_force(records: list[Record]) -> tuple[list[Record], list[tuple[int, int]]]:
    """Return the same records with the undos in force, and the ranges between undone records and their undo."""
    gone: set[int] = set()
    undone: list[tuple[int, int]] = []
    floor: int | None = None  # skip everything above this seq, which was rewound
    kept: list[Record] = []
    for record in reversed(records):
        if floor is not None:
            if record.seq > floor:
                continue
            floor = None
        if record.seq in gone:
            continue
        kept.append(record)
        body = record.body
        if not isinstance(body, Undo):
            continue
        if body.target == "rewind":
            floor = body.seq
        else:
            gone.add(body.seq)
            undone.append((body.seq, record.seq))
    kept.reverse()
    undone.reverse()
    return kept, undone


def _around(history: History, stretches: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Return the ranges that contain entries; the history of a session's tail cannot know the others."""
    body = history.compaction.body if history.compaction else None
    first = body.kept_from if isinstance(body, Compaction) else 0
    seqs = [entry.seq for entry in history.entries if entry.seq >= first]
    return tuple((start, end) for start, end in stretches if bisect_right(seqs, start) < bisect_left(seqs, end))


def _spent(history: History, usage: Usage, cost: float | None, **changes: Any) -> History:
    """Return the history with more tokens and money spent, and with these changed fields."""
    return replace(history, usage=history.usage + _no_less(usage), cost=_add(history.cost, cost), **changes)


def _carried(history: History, seq: int, body: Compaction) -> History:
    """Return the history with the sums and settings that a compaction carries.

    A session or its tail can therefore begin with a compaction.
    """
    carry = body.carry
    if seq > history.foreign:
        history = replace(
            history,
            model=carry.model,
            mode=carry.mode,
            policy=carry.policy,
            system=carry.system,
            tools=carry.tools,
            folder=carry.folder,
            account=carry.account,
            features=carry.features,
        )
    return replace(
        history,
        pins=history.pins | {words.seq for words in body.pins} if carry.pins is None else frozenset(carry.pins),
        cleared=history.cleared if carry.cleared is None else carry.cleared,
        cleared_inputs=carry.cleared_inputs,
        usage=_no_less(carry.usage),
        cost=_add(None, carry.cost),
        turn=carry.turn,
        title=carry.title,
        name=carry.name,
        todo=carry.todo,
    )


def _pruned(history: History, record: Record, body: Prune) -> History:
    """Return the history after a prune. `held` are calls that the provider clears from now on, except calls that
    agentcli clears or takes over.
    """
    calls, back = frozenset(body.cleared), frozenset(body.restored)
    theirs = body.by == "provider"
    held = (history.held | calls) - back if theirs else history.held - calls
    return replace(
        history,
        cleared=_with(_without(history.cleared, back), body.call_ids, record.seq),
        cleared_inputs=_with(_without(history.cleared_inputs, back), body.inputs, record.seq),
        held=held,
        held_thinking=body.drop_thinking_before if theirs else history.held_thinking if held else 0,
        prunes=(*history.prunes, record),
    )


def _without(cleared: Mapping[str, int], calls: frozenset[str]) -> Mapping[str, int]:
    return {call: seq for call, seq in cleared.items() if call not in calls} if calls else cleared


def _answered(entries: Iterable[Record]) -> frozenset[str]:
    """Return the ids of the calls whose results are among the records."""
    return frozenset(entry.body.call_id for entry in entries if isinstance(entry.body, ToolResult))


def _compacted(history: History, record: Record, body: Compaction) -> History:
    stays = set(body.kept)
    entries = tuple(entry for entry in history.entries if entry.seq >= body.kept_from or entry.seq in stays)
    alive = _answered(entries)
    cleared = _with(history.cleared, body.cleared, record.seq)
    inputs = _with(history.cleared_inputs, body.cleared_inputs, record.seq)
    compacted = replace(
        history,
        entries=entries,
        inner=tuple(entry for entry in history.inner if entry.seq >= body.kept_from),
        compaction=record,
        cleared=MappingProxyType({call: seq for call, seq in cleared.items() if call in alive}),
        cleared_inputs=MappingProxyType({call: seq for call, seq in inputs.items() if call in alive}),
        held=frozenset(),
        held_thinking=0,
        prunes=(),
    )
    return replace(compacted, undone=_around(compacted, history.undone))


def _with(cleared: Mapping[str, int], calls: Iterable[str], seq: int) -> Mapping[str, int]:
    return MappingProxyType({**cleared, **dict.fromkeys(calls, seq)})


def evolve_all(history: History, records: Iterable[Record]) -> History:
    """Return the history after many more records, in linear time. Of an undo only the cost counts."""
    # Extending one list, and counting runs of messages and results at once, keeps folding 100,000 records linear and fast.
    entries = list(history.entries)
    history = replace(history, entries=())
    uncounted: list[Message | ToolResult] = []
    for record in records:
        if isinstance(record.body, Message | ToolResult):
            entries.append(record)
            uncounted.append(record.body)
            continue
        history = _counted(history, uncounted)
        uncounted.clear()
        if isinstance(record.body, Compaction):
            history = evolve(replace(history, entries=tuple(entries)), record)
            entries, history = list(history.entries), replace(history, entries=())
            continue
        if isinstance(record.body, Undo):
            history = _still_spent(history, record.seq, record.body)
            continue
        history = evolve(history, record)
    history = _counted(history, uncounted)
    last = max((record.seq for record in entries), default=0)
    return replace(history, entries=tuple(entries), last_seq=max(history.last_seq, last))


def _counted(history: History, bodies: Sequence[Message | ToolResult], **changes: Any) -> History:
    """Return the history with the turns, tokens and costs of these bodies added, and with these changed fields."""
    if not bodies:
        return history
    turn, counts, cost = history.turn, [history.usage.counts], history.cost
    for body in bodies:
        if isinstance(body, Message):
            turn = body.turn if body.turn > turn else turn
            counts += [_no_less(body.usage).counts] if body.usage else ()
            cost = cost if body.cost is None else _add(cost, body.cost)
        elif body.metadata:
            _, used, paid = subagent_result.spent(body)
            counts.append(_no_less(used).counts)
            cost = _add(cost, paid)
    fresh, output, reasoning, read, written = map(sum, zip(*counts, strict=True))
    usage = Usage(fresh, output, reasoning, read, written) if counts[1:] else history.usage
    return replace(history, turn=turn, usage=usage, cost=cost, **changes)


def _still_spent(history: History, seq: int, undo: Undo) -> History:
    """Add the cost of undone records: it stays spent."""
    return _spent(history, undo.usage, undo.cost, last_seq=max(history.last_seq, seq))


def _add(total: float | None, more: float | None) -> float | None:
    # An external session file must not refill a budget: negative costs and values that are not numbers count as 0.
    return total if more is None else (total or 0.0) + max(0.0, more)


def _no_less(usage: Usage) -> Usage:
    """Return the usage without negative counts, for the same reason."""
    if min(usage.counts) >= 0:
        return usage
    fresh, output, reasoning, read, written = (max(0, count) for count in usage.counts)
    return Usage(fresh, output, reasoning, read, written, usage.tier)


def common(first: Sequence[object], second: Sequence[object]) -> int:
    """Return the number of equal leading elements. Identical objects are not compared, so each takes a few nanoseconds."""
    count = min(len(first), len(second))
    if first[:count] == second[:count]:
        return count
    pairs = enumerate(zip(first, second, strict=False))
    return next((n for n, (one, other) in pairs if one is not other and one != other), count)
