"""Growth of a view: made from the former one if only records were added to the session, to avoid most of the work."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Sequence

from agentcli.context.view import Block, Lens, View, ViewMessage, joined, view, view_of
from agentcli.core.dataclass import replace
from agentcli.core.history import History, added
from agentcli.core.message import ToolCall, ToolResult
from agentcli.core.record import Prune, Record


def grown(history: History, former: History, seen: View) -> View:
    """Return the current view, made with less work from the former one if only records were added to the history since."""
    new = added(history, former)
    lens = Lens(history)
    edits = _edits_since(lens, former) if new is not None and former.entries else None
    if new is None or edits is None:
        return view(history)
    if edits:
        seen = view_of(history, tuple(_edited(seen.messages, edits, lens)))
    if not new:
        return seen
    more = [message for message in map(lens.message, new) if message.blocks]
    settled, last = seen.messages, seen.messages[-1:]
    if last and more and last[0].role == more[0].role == "user":  # one message, joined again after the same reply
        settled, more = settled[:-1], [*last, *more]
    return view_of(history, (*settled, *joined(more, settled[-1] if settled else None)))


def _edits_since(lens: Lens, former: History) -> Sequence[Prune] | None:
    """Return the prunes since a former history if nothing else changed the beginning of its view; None otherwise."""
    history = lens.history
    known, prunes = len(former.prunes), history.prunes
    unchanged = (
        history.compaction is former.compaction
        and _is_settled(lens, former.entries[-1])
        and history.pins is former.pins
        and history.undone is former.undone
        and history.held_thinking == former.held_thinking
        and len(prunes) >= known
        and all(map(operator.is_, prunes, former.prunes))
    )
    new = [prune.body for prune in prunes[known:] if isinstance(prune.body, Prune)]
    return new if unchanged and not any(prune.drop_thinking_before for prune in new) else None


def _is_settled(lens: Lens, newest: Record) -> bool:
    """Return True if no later record changes the view up to the newest one: the reply to a snapshot depends on the next message."""
    if lens.record is None or lens.compaction is None or newest.seq > lens.record.seq:
        return True
    return newest.seq >= lens.compaction.kept_from and bool(lens.message(newest).blocks)


def _edited(messages: Iterable[ViewMessage], prunes: Sequence[Prune], lens: Lens) -> Iterator[ViewMessage]:
    """Return the messages after these prunes; messages without a cleared or restored part are the same objects."""
    calls = {call for prune in prunes for call in (*prune.cleared, *prune.restored)}
    records, inputs = {record.seq: record for record in lens.history.entries}, lens.history.cleared_inputs

    def shown(block: Block) -> Block:
        whole = block.original or block.part
        if isinstance(whole, ToolCall):
            if whole.call_id not in calls or not (block.cleared or whole.call_id in inputs):
                return block
            return lens.spoken(replace(block, part=whole, cleared=False, held=False, original=None))
        body = records[block.seq].body if block.tool_use_id in calls else None
        return lens.result(records[block.seq], body) if isinstance(body, ToolResult) else block

    for message in messages:
        blocks = tuple(map(shown, message.blocks))
        yield message if all(map(operator.is_, blocks, message.blocks)) else replace(message, blocks=blocks)
