"""Transcripts of sessions for readers: messages and calls in order, each call with its result."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from agentcli.core.codec.encode import dumps
from agentcli.core.dataclass import dataclass, replace
from agentcli.core.history import in_force
from agentcli.core.message import ADDED, File, Image, Message, Part, Text, Thinking, ToolCall, ToolResult
from agentcli.core.record import Compaction, Failure, InnerCall, Prune, Record, Settings
from agentcli.sessions.storage.records import Through

Clean = Callable[[str], str]
"""A filter that every exported text passes, such as one that removes secrets."""

_SUBJECTS = ("command", "file_path", "pattern", "path", "url", "query", "description", "id", "prompt")


@dataclass(frozen=True, slots=True)
class MessageText:
    """A text of the user or of the model."""

    seq: int
    time: str
    speaker: str
    text: str


@dataclass(frozen=True, slots=True)
class Aside:
    """Text beside the messages: a thought, an injection, an attached file, a summary; `label` names it."""

    seq: int
    label: str
    text: str


@dataclass(frozen=True, slots=True)
class Picture:
    """An image, base64 encoded."""

    seq: int
    mime: str
    data: str


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call and its result, or None if it was never answered."""

    seq: int
    call: ToolCall
    result: ToolResult | None = None

    @property
    def subject(self) -> str:
        """The call's subject on one line."""
        found = next((str(self.call.input[name]) for name in _SUBJECTS if self.call.input.get(name)), "")
        line = found.strip().split("\n", 1)[0]
        return line if len(line) <= 100 else line[:99] + "…"

    @property
    def status(self) -> str:
        """The status of the result."""
        return self.result.status if self.result else "unanswered"


@dataclass(frozen=True, slots=True)
class Note:
    """A fact about the session itself, on one line."""

    seq: int
    text: str


Entry = MessageText | Aside | Picture | Call | Note


def entries(records: Sequence[Record], clean: Clean = str, through: Through = iter) -> Iterator[Entry]:
    """Yield the entries of a session's transcript, without rewound records. The records pass `through`."""
    current = in_force(list(records))
    results = {record.body.call_id: record.body for record in current if isinstance(record.body, ToolResult)}
    for record in through(current):
        match record.body:
            case Message() as message:
                yield from _message(record, message, results, clean)
            case InnerCall(_, call, result):
                yield _call(record.seq, call, result, clean)
            case Compaction(status="compressed") as cut:
                yield Note(
                    record.seq, f"Compacted by {cut.policy}: {cut.tokens_before:,} → {cut.tokens_after:,} tokens"
                )
                yield Aside(record.seq, "summary", clean(cut.snapshot))
            case Prune(cleared=calls, tokens=tokens, reason=reason):
                yield Note(record.seq, clean(f"Cleared {len(calls)} old calls ({tokens:,} tokens): {reason}"))
            case Settings(model, mode) if model or mode:
                yield Note(record.seq, " · ".join(part for part in (model, mode) if part))
            case Failure(message):
                yield Note(record.seq, clean(message))
            case _:
                pass


def _message(record: Record, message: Message, results: dict[str, ToolResult], clean: Clean) -> Iterable[Entry]:
    for part in message.parts:
        entry = _part(record, message, part, results, clean)
        if isinstance(entry, Call) and entry.result:
            yield entry
            yield from (Picture(record.seq, image.mime, image.data) for image in entry.result.images)
        elif entry is not None:
            yield entry
    if message.error:
        yield Note(record.seq, clean(message.error))


def _part(record: Record, message: Message, part: Part, results: dict[str, ToolResult], clean: Clean) -> Entry | None:
    match part:
        case Text(text, True, source):
            return Aside(record.seq, ADDED if source == "reminder" else source or "note", clean(text))
        case Text(text):
            return MessageText(record.seq, record.time, message.role, clean(text)) if text.strip() else None
        case Thinking(text):
            return Aside(record.seq, "thinking", clean(text)) if text.strip() else None
        case Image(mime, data):
            return Picture(record.seq, mime, data)
        case File(_, path, text):
            return Aside(record.seq, f"file {clean(path)}", clean(text))
        case ToolCall():
            return _call(record.seq, part, results.get(part.call_id), clean)


def _call(seq: int, call: ToolCall, result: ToolResult | None, clean: Clean) -> Call:
    call = replace(call, input=cleaned(call.input, clean))
    if result is not None:
        metadata = cleaned(result.metadata, clean)
        result = replace(result, output=clean(result.for_people), title=clean(result.title), metadata=metadata)
    return Call(seq, call, result)


def cleaned(value: Any, clean: Clean) -> Any:
    """Clean every text in JSON data; field names stay."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict) or hasattr(value, "items"):
        return {name: cleaned(inner, clean) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [cleaned(inner, clean) for inner in value]
    return value


def pretty(value: Any) -> str:
    """Write a value of a call's input for a reader."""
    return value if isinstance(value, str) else dumps(value)
