"""A session as the turns of a conversation, in the form in which other agents store theirs."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agentcli.context.inject import injections_first, wrapped
from agentcli.context.view import view
from agentcli.core.aliases import Renaming
from agentcli.core.dataclass import dataclass, replace
from agentcli.core.history import History, fold, in_force
from agentcli.core.message import Message, Part, Text, ToolCall, ToolResult
from agentcli.core.record import Compaction, Record
from agentcli.sessions.exporting.transcript import Clean, cleaned
from agentcli.sessions.info import SessionInfo

UNANSWERED = "[The call was interrupted before it had a result.]"


@dataclass(frozen=True, slots=True)
class Summary:
    """Text that replaces everything before it, from a compaction."""

    text: str
    tokens_before: int
    manual: bool


@dataclass(frozen=True, slots=True)
class Turn:
    """One message, one result, or a summary, with its time in ISO 8601."""

    time: str
    body: Message | ToolResult | Summary


@dataclass(frozen=True, slots=True)
class Conversation:
    """A session for another program: a stable id in the form of a UUID, its title, folder, and start time."""

    id: str
    title: str
    folder: str
    began: str
    turns: tuple[Turn, ...]


def conversation(info: SessionInfo, records: Sequence[Record], clean: Clean = str) -> Conversation:
    """Return the conversation in a session's records, without rewound ones.

    Each call is followed by its result, in the order of calls. Compacted records stay before their summary; messages
    kept by the compaction follow it. All texts pass `clean`.
    """
    current = in_force(list(records))
    history = fold(records)
    match history.compaction:
        case Record(body=Compaction() as cut) as record:
            before = [one for one in current if one.seq < cut.kept_from]
            summary = Summary(clean(_summary(history, record.seq)), cut.tokens_before, cut.trigger == "manual")
            kept = [one for one in current if one.seq in cut.kept or one.seq >= cut.kept_from]
            turns = [*_turns(before, clean), Turn(record.time, summary), *_turns(kept, clean)]
        case _:
            turns = list(_turns(current, clean))
    id, title = str(uuid.uuid5(uuid.NAMESPACE_OID, info.id)), clean(info.name or info.title)
    return Conversation(id, title, info.directory, info.time.created, tuple(turns))


def _summary(history: History, seq: int) -> str:
    """Return a compaction's summary as the model sees it."""
    texts = [
        block.part.text
        for message in view(history).messages
        for block in message.blocks
        if message.role == "user" and block.seq == seq and isinstance(block.part, Text)
    ]
    return "\n\n".join(texts)


def _turns(records: Sequence[Record], clean: Clean) -> Iterator[Turn]:
    waiting: Sequence[ToolCall] = ()
    answers: dict[str, Turn] = {}
    last = ""
    for record in records:
        match record.body:
            case Message() as message:
                yield from _answered(waiting, answers, last)
                waiting, answers = message.calls, {}
                yield Turn(record.time, _cleaned(message, clean))
                last = record.time
            case ToolResult() as result:
                answers[result.call_id] = Turn(record.time, replace(result, output=clean(result.output)))
            case _:
                pass
    yield from _answered(waiting, answers, last)


def _answered(calls: Sequence[ToolCall], answers: Mapping[str, Turn], time: str) -> Iterator[Turn]:
    for call in calls:
        missing = Turn(time, ToolResult(call.call_id, call.name, "interrupted", UNANSWERED))
        yield answers.get(call.call_id, missing)


def _cleaned(message: Message, clean: Clean) -> Message:
    parts = injections_first(message.parts) if message.role == "user" else message.parts
    return message.with_parts(tuple(_part(wrapped(part), clean) for part in parts))


def _part(part: Part, clean: Clean) -> Part:
    match part:
        case Text(text):
            return replace(part, text=clean(text), meta=None)
        case ToolCall():
            return replace(part, input=cleaned(part.input, clean))
        case _:
            return part


def theirs(renaming: Renaming, call: ToolCall) -> tuple[str, dict[str, Any]]:
    """Return a call's name and input in another program's terms, by its first tool for ours. Without such a tool both
    stay.
    """
    name, parameters = next(
        ((foreign, names) for foreign, (own, names) in renaming.items() if own == call.name), (call.name, {})
    )
    back = {own: foreign for foreign, own in parameters.items() if own}
    return name, {back.get(key, key): value for key, value in call.input.items()}
