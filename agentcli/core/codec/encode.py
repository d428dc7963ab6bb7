"""Encode records to JSON bytes; `decode` reads them back."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from io import BytesIO
from itertools import chain
from typing import Any

from agentcli.core.codec.decode import (
    UNREADABLE,
    Damaged,
    body_from_json,
    decode,
    loads,
    part_from_json,
    record_from_json,
    usage_from_json,
)
from agentcli.core.codec.fields import as_declared, is_declared, is_deeper
from agentcli.core.message import (
    File,
    Image,
    Message,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UnfinishedText,
    Usage,
)
from agentcli.core.record import (
    KINDS,
    SCHEMA,
    Body,
    Carry,
    Checkpoint,
    Compaction,
    Failure,
    FeatureState,
    InnerCall,
    Pin,
    ProviderSummary,
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
    VerbatimText,
)

__all__ = [
    "Damaged",
    "LongLine",
    "body_from_json",
    "body_to_json",
    "decode",
    "dump_line",
    "dumps",
    "encode",
    "encoded",
    "is_long",
    "is_long_part",
    "json_texts",
    "line_pieces",
    "loads",
    "part_from_json",
    "part_to_json",
    "readable",
    "record_from_json",
    "usage_from_json",
    "usage_to_json",
]

Json = dict[str, Any]
DEEPEST = 400
"""Maximum nesting of a record.

Deeper values are written as text, because reading them could exceed Python's recursion limit.
"""


_to_text = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_to_ascii = json.JSONEncoder(separators=(",", ":")).encode


def dumps(value: Any) -> str:
    """Return compact JSON with keys in the given order; lone surrogates survive as escapes."""
    text = _to_text(value)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return _to_ascii(value)
    return text


def dump_line(value: Any) -> bytes:
    """Return a value as one line of JSON in UTF-8, or in ASCII if it contains lone surrogates."""
    try:
        return (_to_text(value) + "\n").encode("utf-8")
    except UnicodeEncodeError:
        return (_to_ascii(value) + "\n").encode("ascii")


LONG = 100_000
"""Characters of a text from which it is encoded in pieces. Encoded whole, it is in memory four times."""
_PIECE = 1 << 16


def line_pieces(value: Any) -> Iterator[bytes]:
    """Yield a value as one line of JSON in short pieces of UTF-8; lone surrogates survive as escapes."""
    held: list[str] = []
    size = 0
    for text in json_texts(value):
        held.append(text)
        size += len(text)
        if size >= _PIECE:
            yield _in_utf8(held)
            held, size = [], 0
    yield _in_utf8([*held, "\n"])


def _in_utf8(texts: list[str]) -> bytes:
    return "".join(texts).encode("utf-8", "backslashreplace")  # which writes a lone surrogate as JSON does


def json_texts(value: Any, encoded: Callable[[Any], str] = _to_text) -> Iterator[str]:
    """Yield a value as compact JSON, with long texts in short pieces. `encoded` returns the JSON of a value."""
    match value:
        case UnfinishedText() | str():
            yield '"'
            for text in (value,) if isinstance(value, str) else chain.from_iterable(value):
                for start in range(0, len(text), _PIECE):
                    yield encoded(text[start : start + _PIECE])[1:-1]
            yield '"'
        case dict() if all(isinstance(name, str) for name in value):
            yield "{"
            for number, (name, each) in enumerate(value.items()):
                yield f"{',' if number else ''}{encoded(name)}:"
                yield from json_texts(each, encoded)
            yield "}"
        case list() | tuple():
            yield "["
            for number, each in enumerate(value):
                yield "," if number else ""
                yield from json_texts(each, encoded)
            yield "]"
        case _:
            yield encoded(value)


class LongLine:
    """A line of JSON with a long text. Each iteration encodes it again, in pieces: whole, it would be a copy of the text."""

    def __init__(self, value: Json) -> None:
        """Encode the value once. Raises TypeError, ValueError or RecursionError for what JSON cannot express."""
        self._value = value
        whole, self.brackets = sha256(), 0
        for piece in self:
            whole.update(piece)
            self.brackets += _brackets(piece)
        self.digest = whole.hexdigest()

    def __iter__(self) -> Iterator[bytes]:
        return line_pieces(self._value)

    def __bytes__(self) -> bytes:
        buffer = BytesIO()  # whose content no second copy precedes
        buffer.writelines(self)
        return buffer.getvalue()


def encode(record: Record) -> bytes:
    """Return the bytes of a record file."""
    return bytes(encoded(record))


def encoded(record: Record) -> bytes | LongLine:
    """Return the bytes of a record file, in pieces if they are many."""
    head: Json = {
        "schema": SCHEMA,
        "seq": record.seq,
        "id": record.id,
        "time": record.time,
        "kind": record.kind,
        "prev": record.prev,
    }
    given = readable(record.body)
    body = body_to_json(given)
    if isinstance(record.body, ToolResult):
        # In the file, the record's time and the call's span are both called `time`. The span contains the record's time
        # there.
        body["time"] = {**body["time"], "recorded": record.time}
    return _written({**head, **body}, isinstance(given, Message) and any(map(is_long_part, given.parts)))


def readable(body: Body) -> Body:
    """Return the body as a reader would see it.

    A field that a reader would refuse is unknown, empty or its default.
    """
    if isinstance(body, Unknown) or is_declared(body):
        return body
    try:
        return body_from_json({"kind": KINDS[type(body)], **body_to_json(body)})
    except UNREADABLE:
        return as_declared(body)


def body_to_json(body: Body) -> Json:
    """Return the fields of a body as in its file, without the head that all records share."""
    match body:
        case Message():
            return _message_to_json(body)
        case ToolResult():
            return _result_to_json(body)
        case Compaction():
            return _compaction_to_json(body)
        case Prune(call_ids, tokens, reason, drop, inputs, outcomes, by, restored):
            also: dict[str, Any] = {"inputs": list(inputs)} if inputs else {}
            also |= {"outcomes": dict(outcomes)} if outcomes else {}
            also |= {"by": by} if by else {}
            also |= {"restored": list(restored)} if restored else {}
            return {
                "call_ids": list(call_ids),
                "tokens": tokens,
                "reason": reason,
                "drop_thinking_before": drop,
                **also,
            }
        case Undo(seq, target, usage, cost):
            return {"undoes": seq, "target": target, **_spent(usage, cost)}
        case Pin(seq) | Unpin(seq):
            return {"pins": seq}
        case Retry(attempt, delay, reason):
            return {"attempt": attempt, "delay": delay, "reason": reason}
        case Title(title, name, model, usage, cost):
            writer = {"model": model} if usage.total else {}
            return {"title": title, "name": name, **writer, **_spent(usage, cost)}
        case Todo(items):
            return {"items": [_todo_to_json(item) for item in items]}
        case Checkpoint(data):
            return {"data": dict(data)}
        case Settings(model, mode, policy, system, tools, why, folder, account):
            cause = {name: value for name, value in (("why", why), ("folder", folder), ("account", account)) if value}
            fixed = {"system": list(system), "tools": [dict(tool) for tool in tools]} if system or tools else {}
            return {"model": model, "mode": mode, "policy": policy, **cause, **fixed}
        case FeatureState(feature, data, model, usage, cost):
            payer = {"model": model} if usage.total else {}
            return {"feature": feature, "data": dict(data), **payer, **_spent(usage, cost)}
        case Failure(message, where, usage, cost):
            return {"message": message, "where": where, **_spent(usage, cost)}
        case InnerCall(within, call, result):
            return {"within": within, "call": part_to_json(call), "result": _result_to_json(result)}
        case Unknown(_, raw):
            return {key: value for key, value in raw.items() if key not in _HEAD}


def part_to_json(part: Part) -> Json:
    """Return a part as a message record contains it."""
    match part:
        case Text(text, synthetic, source, meta):
            return _lean({"type": "text", "text": text, "synthetic": synthetic, "source": source, "meta": meta})
        case Thinking(text, signature, meta):
            return _lean({"type": "thinking", "text": text, "signature": signature, "meta": meta})
        case Image(mime, data, path, meta):
            return _lean({"type": "image", "mime": mime, "data": data, "path": path, "meta": meta})
        case File(mime, path, text, meta, sha256):
            raw = {"type": "file", "mime": mime, "path": path, "text": text, "meta": meta, "sha256": sha256}
            return _lean(raw)
        case ToolCall(call_id, name, arguments, meta):
            raw = {"type": "tool_call", "call_id": call_id, "name": name, "input": dict(arguments), "meta": meta}
            return _lean(raw)


def usage_to_json(usage: Usage) -> Json:
    """Usage as the contract names its fields."""
    counts: Json = {
        "input": usage.input,
        "output": usage.output,
        "reasoning": usage.reasoning,
        "cache_read": usage.cache_read,
        "cache_write": usage.cache_write,
    }
    return {**counts, "tier": usage.tier} if usage.tier else counts


def is_long(given: Mapping[str, Any], longest: int = LONG) -> bool:
    """Return True if a call's input has a text to be encoded in pieces: one of more than `longest` characters."""
    return True in [isinstance(value, str) and len(value) > longest for value in given.values()]


def is_long_part(part: Part | ToolResult, longest: int = LONG) -> bool:
    """Return True if a part has a text of more than `longest` characters."""
    if isinstance(part, ToolCall):
        return is_long(part.input, longest)
    text = part.data if isinstance(part, Image) else part.output if isinstance(part, ToolResult) else part.text
    return len(text) > longest


def _written(raw: Json, in_pieces: bool = False) -> bytes | LongLine:
    """Return a record as a line. Values of extensions that JSON cannot express are written as text."""
    try:
        line = LongLine(raw) if in_pieces else dump_line(raw)
    except (TypeError, ValueError, RecursionError):
        return dump_line(_plain(raw, DEEPEST))
    may_be_deep = (line.brackets if isinstance(line, LongLine) else _brackets(line)) > DEEPEST
    return dump_line(_plain(raw, DEEPEST)) if may_be_deep and is_deeper(raw, DEEPEST) else line


def _brackets(line: bytes) -> int:
    return line.count(b"{") + line.count(b"[")


def _plain(value: Any, levels: int) -> Any:
    """Return a value in the types of JSON."""
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if levels and isinstance(value, Mapping):
        return {str(_plain(name, 0)): _plain(each, levels - 1) for name, each in value.items()}
    if levels and isinstance(value, list | tuple | set | frozenset):
        return [_plain(each, levels - 1) for each in value]
    return f"({type(value).__name__})"


def _spent(usage: Usage, cost: float | None) -> Json:
    """Return tokens and their price, if there were any."""
    return {"usage": usage_to_json(usage), "cost": cost} if usage.total else {}


_NEEDED = frozenset({"text", "input", "call_id", "name", "mime", "data"})
_HEAD = ("schema", "seq", "id", "time", "kind", "prev")


def _lean(raw: Json) -> Json:
    """Return the object without its empty optional fields."""
    return {key: value for key, value in raw.items() if value not in (None, False, "") or key in _NEEDED}


_ALWAYS: dict[str, Json] = {"text": {"synthetic": False}, "thinking": {"signature": ""}, "file": {"path": ""}}
"""Fields of a part that are written even if empty, so that readers of the files need no defaults."""


def _with_all_fields(part: Json) -> Json:
    return part | {name: value for name, value in _ALWAYS.get(part["type"], {}).items() if name not in part}


def _message_to_json(message: Message) -> Json:
    parts = [_with_all_fields(part_to_json(part)) for part in message.parts]
    raw: Json = {"role": message.role, "turn": message.turn, "parts": parts}
    if message.role == "assistant":
        raw |= {
            "provider": message.provider,
            "model": message.model,
            "usage": None if message.usage is None else usage_to_json(message.usage),
            "cost": message.cost,
            "stop": message.stop,
            "error": message.error or None,
        }
    return raw


def _result_to_json(result: ToolResult) -> Json:
    raw: Json = {
        "call_id": result.call_id,
        "name": result.name,
        "status": result.status,
        "output": result.output,
        "truncated": result.truncated,
        "output_file": result.output_file or None,
        "title": result.title,
        "time": {"start": result.started, "end": result.ended},
        "metadata": dict(result.metadata),
    }
    if result.images:
        raw["images"] = [part_to_json(image) for image in result.images]
    return raw


def _compaction_to_json(body: Compaction) -> Json:
    return {
        "trigger": body.trigger,
        "status": body.status,
        "policy": body.policy,
        "covers": list(body.covers),
        "kept_from": body.kept_from,
        "snapshot": body.snapshot,
        "ledger": dict(body.ledger),
        "pins": [_verbatim_to_json(piece) for piece in body.pins],
        "user_words": [_verbatim_to_json(piece) for piece in body.user_words],
        "tokens_before": body.tokens_before,
        "tokens_after": body.tokens_after,
        "model": body.model,
        "usage": usage_to_json(body.usage),
        "cost": body.cost,
        "kept": list(body.kept),
        "replaced": dict(body.replaced),
        "cleared": list(body.cleared),
        "drop_thinking_before": body.drop_thinking_before,
        "continues": body.continues,
        "note": body.note,
        "carry": _carry_to_json(body.carry),
        **({"answer": _verbatim_to_json(body.answer)} if body.answer else {}),
        **({"stands_for": list(body.stands_for)} if any(body.stands_for) else {}),
        **({"cleared_inputs": list(body.cleared_inputs)} if body.cleared_inputs else {}),
        **({"skills": [_verbatim_to_json(piece) for piece in body.skills]} if body.skills else {}),
        **({"by_provider": _by_provider_to_json(body.by_provider)} if body.by_provider else {}),
    }


def _by_provider_to_json(summary: ProviderSummary) -> Json:
    return {
        "provider": summary.provider,
        "model": summary.model,
        "text": summary.text,
        "meta": dict(summary.meta),
    }


def _carry_to_json(carry: Carry) -> Json:
    return {
        "usage": usage_to_json(carry.usage),
        "cost": carry.cost,
        "turn": carry.turn,
        "model": carry.model,
        "mode": carry.mode,
        "policy": carry.policy,
        "title": carry.title,
        "name": carry.name,
        "todo": [_todo_to_json(item) for item in carry.todo],
        "system": list(carry.system),
        "tools": [dict(tool) for tool in carry.tools],
        "calibration": dict(carry.calibration),
        "pins": None if carry.pins is None else list(carry.pins),
        "cleared": None if carry.cleared is None else dict(carry.cleared),
        **({"cleared_inputs": dict(carry.cleared_inputs)} if carry.cleared_inputs else {}),
        **({"folder": carry.folder} if carry.folder else {}),
        **({"account": carry.account} if carry.account else {}),
        **({"features": _features_to_json(carry)} if carry.features else {}),
    }


def _features_to_json(carry: Carry) -> Json:
    return {name: {"seq": kept.seq, "data": dict(kept.data)} for name, kept in carry.features.items()}


def _verbatim_to_json(piece: VerbatimText) -> Json:
    return {"seq": piece.seq, "turn": piece.turn, "text": piece.text}


def _todo_to_json(item: TodoItem) -> Json:
    return {"content": item.content, "status": item.status, "active_form": item.active_form}
