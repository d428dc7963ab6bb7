"""Records as JSON and back: every schema ever written is read, unknown fields and kinds are skipped, never refused."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from agentcli.core.message import File, Image, Message, Part, Text, Thinking, ToolCall, ToolResult, Usage
from agentcli.core.record import (
    KINDS,
    SCHEMA,
    Body,
    Carry,
    Checkpoint,
    Compaction,
    Failure,
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
    Words,
)

Json = dict[str, Any]


class Damaged(ValueError):
    """The bytes are not a record: truncated, zero-filled, or something else altogether."""


def dumps(value: Any) -> str:
    """Compact JSON with a fixed order of keys as given; lone surrogates survive as escapes."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":"))
    return text


def encode(record: Record) -> bytes:
    """The bytes of a record file."""
    head: Json = {
        "schema": SCHEMA,
        "seq": record.seq,
        "id": record.id,
        "time": record.time,
        "kind": record.kind,
        "prev": record.prev,
    }
    body = body_to_json(record.body)
    if isinstance(record.body, ToolResult):
        # Both the record and the span of its call are called `time` in the file: there the span holds the record's.
        body["time"] = {**body["time"], "recorded": record.time}
    return (dumps({**head, **body}) + "\n").encode("utf-8")


def decode(data: bytes) -> Record:
    """A record from the bytes of its file. Raises Damaged when they are not one."""
    try:
        raw = json.loads(data)
        return Record(int(raw["seq"]), str(raw["id"]), _time(raw["time"]), str(raw["prev"]), _body(raw))
    except _UNREADABLE as error:
        raise Damaged(f"not a record: {type(error).__name__}: {error}") from error


def body_to_json(body: Body) -> Json:
    """The fields of a body as they stand in its file, without the head that all records share."""
    match body:
        case Message():
            return _message_to_json(body)
        case ToolResult():
            return _result_to_json(body)
        case Compaction():
            return _compaction_to_json(body)
        case Prune(call_ids, tokens, reason, drop):
            return {"call_ids": list(call_ids), "tokens": tokens, "reason": reason, "drop_thinking_before": drop}
        case Undo(seq, target):
            return {"undoes": seq, "target": target}
        case Pin(seq) | Unpin(seq):
            return {"pins": seq}
        case Retry(attempt, delay, reason):
            return {"attempt": attempt, "delay": delay, "reason": reason}
        case Title(title, name):
            return {"title": title, "name": name}
        case Todo(items):
            return {"items": [_todo_to_json(item) for item in items]}
        case Checkpoint(data):
            return {"data": dict(data)}
        case Settings(model, mode, policy, system, tools):
            plain: Json = {"model": model, "mode": mode, "policy": policy}
            return plain | (
                {"system": list(system), "tools": [dict(tool) for tool in tools]} if system or tools else {}
            )
        case Failure(message, where, usage, cost):
            said: Json = {"message": message, "where": where}
            return said | ({"usage": usage_to_json(usage), "cost": cost} if usage.total else {})
        case Unknown(_, raw):
            return {key: value for key, value in raw.items() if key not in _HEAD}


def body_from_json(raw: Mapping[str, Any]) -> Body:
    """The body of a record from its JSON; a kind that this version does not know becomes Unknown."""
    read = _READERS.get(raw["kind"])
    return read(raw) if read else Unknown(raw["kind"], dict(raw))


def part_to_json(part: Part) -> Json:
    """A part as it stands in a message record."""
    match part:
        case Text(text, synthetic, source, meta):
            return _lean({"type": "text", "text": text, "synthetic": synthetic, "source": source, "meta": meta})
        case Thinking(text, signature, meta):
            return _lean({"type": "thinking", "text": text, "signature": signature, "meta": meta})
        case Image(mime, data, path, meta):
            return _lean({"type": "image", "mime": mime, "data": data, "path": path, "meta": meta})
        case File(mime, path, text, meta):
            return _lean({"type": "file", "mime": mime, "path": path, "text": text, "meta": meta})
        case ToolCall(call_id, name, arguments, meta):
            raw = {"type": "tool_call", "call_id": call_id, "name": name, "input": dict(arguments), "meta": meta}
            return _lean(raw)


def part_from_json(raw: Mapping[str, Any]) -> Part:
    """A part from its JSON. Raises KeyError where a needed field is missing, ValueError for an unknown type."""
    meta = raw.get("meta")
    match raw["type"]:
        case "text":
            return Text(raw["text"], bool(raw.get("synthetic")), raw.get("source") or "", meta)
        case "thinking":
            return Thinking(raw["text"], raw.get("signature") or "", meta)
        case "image":
            return Image(raw["mime"], raw["data"], raw.get("path") or "", meta)
        case "file":
            return File(raw["mime"], raw["path"], raw.get("text") or "", meta)
        case "tool_call":
            return ToolCall(raw["call_id"], raw["name"], dict(raw["input"]), meta)
        case other:
            raise ValueError(f"unknown part {other!r}")


def usage_to_json(usage: Usage) -> Json:
    """Usage as the contract names its fields."""
    return {
        "input": usage.input,
        "output": usage.output,
        "reasoning": usage.reasoning,
        "cache_read": usage.cache_read,
        "cache_write": usage.cache_write,
    }


def usage_from_json(raw: Mapping[str, Any] | None) -> Usage:
    """Usage from its JSON; what is missing is 0."""
    raw = raw or {}
    names = ("input", "output", "reasoning", "cache_read", "cache_write")
    return Usage(*(int(raw.get(name) or 0) for name in names))


_UNREADABLE = (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError)


def _body(raw: Mapping[str, Any]) -> Body:
    try:
        return body_from_json(raw)
    except _UNREADABLE:
        if int(raw.get("schema") or 0) > SCHEMA:
            return Unknown(str(raw["kind"]), dict(raw))  # a newer program may say the same kind in other words
        raise


def _time(value: Any) -> str:
    """When a record was written; a tool result keeps it in its span."""
    return str(value.get("recorded") or "") if isinstance(value, Mapping) else str(value)


_HEAD = ("schema", "seq", "id", "time", "kind", "prev")


def _lean(raw: Json) -> Json:
    """Without the optional fields that say nothing; `text` and `input` always stand."""
    return {key: value for key, value in raw.items() if value not in (None, False, "") or key in ("text", "input")}


def _message_to_json(message: Message) -> Json:
    raw: Json = {"role": message.role, "turn": message.turn, "parts": [part_to_json(part) for part in message.parts]}
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


def _message(raw: Mapping[str, Any]) -> Message:
    if raw["role"] not in ("user", "assistant"):
        raise ValueError(f"unknown role {raw['role']!r}")
    usage = raw.get("usage")
    return Message(
        role=raw["role"],
        parts=tuple(part for part in map(_known_part, raw["parts"]) if part is not None),
        turn=int(raw.get("turn") or 0),
        provider=raw.get("provider") or "",
        model=raw.get("model") or "",
        usage=usage_from_json(usage) if usage else None,
        cost=raw.get("cost"),
        stop=raw.get("stop"),
        error=raw.get("error") or "",
    )


def _known_part(raw: Mapping[str, Any]) -> Part | None:
    known = raw.get("type") in ("text", "thinking", "image", "file", "tool_call")
    return part_from_json(raw) if known else None


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


def _result(raw: Mapping[str, Any]) -> ToolResult:
    time = raw.get("time")
    span = time if isinstance(time, Mapping) else {}
    images = tuple(part for part in map(part_from_json, raw.get("images") or ()) if isinstance(part, Image))
    return ToolResult(
        call_id=raw["call_id"],
        name=raw["name"],
        status=raw["status"],
        output=raw["output"],
        truncated=bool(raw.get("truncated")),
        output_file=raw.get("output_file") or "",
        title=raw.get("title") or "",
        started=float(span.get("start") or 0.0),
        ended=float(span.get("end") or 0.0),
        metadata=raw.get("metadata") or {},
        images=images,
    )


def _compaction_to_json(body: Compaction) -> Json:
    return {
        "trigger": body.trigger,
        "status": body.status,
        "policy": body.policy,
        "covers": list(body.covers),
        "kept_from": body.kept_from,
        "snapshot": body.snapshot,
        "ledger": dict(body.ledger),
        "pins": [_words_to_json(words) for words in body.pins],
        "user_words": [_words_to_json(words) for words in body.user_words],
        "tokens_before": body.tokens_before,
        "tokens_after": body.tokens_after,
        "model": body.model,
        "usage": usage_to_json(body.usage),
        "cost": body.cost,
        "kept": list(body.kept),
        "replaced": dict(body.replaced),
        "drop_thinking_before": body.drop_thinking_before,
        "continues": body.continues,
        "note": body.note,
        "carry": _carry_to_json(body.carry),
    }


def _compaction(raw: Mapping[str, Any]) -> Compaction:
    first, last = raw.get("covers") or (0, 0)
    return Compaction(
        trigger=raw["trigger"],
        status=raw["status"],
        policy=raw["policy"],
        covers=(int(first), int(last)),
        kept_from=int(raw.get("kept_from") or 0),
        snapshot=raw.get("snapshot") or "",
        ledger=raw.get("ledger") or {},
        pins=tuple(map(_words, raw.get("pins") or ())),
        user_words=tuple(map(_words, raw.get("user_words") or ())),
        tokens_before=int(raw.get("tokens_before") or 0),
        tokens_after=int(raw.get("tokens_after") or 0),
        model=raw.get("model") or "",
        usage=usage_from_json(raw.get("usage")),
        cost=raw.get("cost"),
        kept=tuple(raw.get("kept") or ()),
        replaced=raw.get("replaced") or {},
        drop_thinking_before=int(raw.get("drop_thinking_before") or 0),
        continues=bool(raw.get("continues")),
        note=raw.get("note") or "",
        carry=_carry(raw.get("carry") or {}),
    )


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
    }


def _carry(raw: Mapping[str, Any]) -> Carry:
    return replace(
        Carry(),
        usage=usage_from_json(raw.get("usage")),
        cost=raw.get("cost"),
        turn=int(raw.get("turn") or 0),
        todo=tuple(map(_todo, raw.get("todo") or ())),
        system=tuple(raw.get("system") or ()),
        tools=tuple(raw.get("tools") or ()),
        calibration=raw.get("calibration") or {},
        pins=None if raw.get("pins") is None else tuple(raw["pins"]),
        cleared=raw.get("cleared"),
        **{name: raw.get(name) or "" for name in ("model", "mode", "policy", "title", "name")},
    )


def _words_to_json(words: Words) -> Json:
    return {"seq": words.seq, "turn": words.turn, "text": words.text}


def _words(raw: Mapping[str, Any]) -> Words:
    return Words(int(raw["seq"]), int(raw.get("turn") or 0), raw["text"])


def _todo_to_json(item: TodoItem) -> Json:
    return {"content": item.content, "status": item.status, "active_form": item.active_form}


def _todo(raw: Mapping[str, Any]) -> TodoItem:
    return TodoItem(raw["content"], raw.get("status") or "pending", raw.get("active_form") or "")


_READERS: dict[str, Callable[[Mapping[str, Any]], Body]] = {
    "message": _message,
    "tool_result": _result,
    "compaction": _compaction,
    "prune": lambda raw: Prune(
        tuple(raw["call_ids"]),
        int(raw.get("tokens") or 0),
        raw.get("reason") or "",
        int(raw.get("drop_thinking_before") or 0),
    ),
    "undo": lambda raw: Undo(int(raw["undoes"]), raw.get("target") or "compaction"),
    "pin": lambda raw: Pin(int(raw["pins"])),
    "unpin": lambda raw: Unpin(int(raw["pins"])),
    "retry": lambda raw: Retry(int(raw["attempt"]), float(raw["delay"]), raw["reason"]),
    "title": lambda raw: Title(raw.get("title") or "", raw.get("name") or ""),
    "todo": lambda raw: Todo(tuple(map(_todo, raw["items"]))),
    "checkpoint": lambda raw: Checkpoint(raw.get("data") or {}),
    "settings": lambda raw: Settings(
        raw.get("model") or "",
        raw.get("mode") or "",
        raw.get("policy") or "",
        tuple(raw.get("system") or ()),
        tuple(raw.get("tools") or ()),
    ),
    "error": lambda raw: Failure(
        raw["message"], raw.get("where") or "", usage_from_json(raw.get("usage")), raw.get("cost")
    ),
}
assert set(_READERS) == set(KINDS.values())
