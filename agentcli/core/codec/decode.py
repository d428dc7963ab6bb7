"""Records from JSON. Every schema ever written can be read; unknown fields and kinds are skipped, never refused.

For many records, pydantic parses the JSON in half the time. What it accepts has the same values. The standard library
parses what it refuses, such as lone surrogates and deep nesting.

The standard library parses the JSON because stored records may contain lone surrogates, NaN and Infinity. msgspec
decodes 20,000 records in 0.3 to 0.4 of the processor time but refuses these. Converting parsed JSON with msgspec takes
1.5 times as long. Both ways refuse null for a field with a default and a part of an unknown type. They also refuse a
status, stop reason or source that only a newer version writes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Literal, cast, get_args

from agentcli.core.codec.fields import amount, items, number, table, text, whole
from agentcli.core.message import (
    File,
    Image,
    Message,
    Part,
    Source,
    Status,
    Stop,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
)
from agentcli.core.record import (
    KINDS,
    SCHEMA,
    Body,
    Carry,
    Checkpoint,
    Compaction,
    CompactionStatus,
    Editor,
    Failure,
    FeatureState,
    InnerCall,
    Kept,
    Pin,
    ProviderSummary,
    Prune,
    Record,
    Retry,
    Settings,
    Title,
    Todo,
    TodoItem,
    Trigger,
    Undo,
    Unknown,
    Unpin,
    VerbatimText,
)

_DECODER = json.JSONDecoder()
_STATUSES = frozenset(get_args(Status))
_PARTS = ("text", "tool_call", "thinking", "image", "file")
TodoStatus = Literal["pending", "in_progress", "completed"]
UndoTarget = Literal["compaction", "prune", "rewind", "undo"]


class Damaged(ValueError):
    """The bytes are not a record: truncated, zero-filled, or something else."""


def decode(data: bytes) -> Record:
    """Read a record from the bytes of its file. Raises Damaged if they are not a record."""
    try:
        raw = loads(data)
    except UNREADABLE as error:
        raise _damaged(error) from error
    return record_from_json(raw)


def record_from_json(raw: Any) -> Record:
    """Read a record from its JSON. Raises Damaged if it is not a record."""
    try:
        return Record(whole(raw, "seq", None), text(raw, "id", None), _time(raw), text(raw, "prev", None), _body(raw))
    except UNREADABLE as error:
        raise _damaged(error) from error


def _damaged(error: Exception) -> Damaged:
    return Damaged(f"not a record: {type(error).__name__}: {error}")


def expect(records: int) -> None:
    """Prepare for reading so many records: for many, load the faster parser."""
    global _parse
    if _parse is None and records >= MANY:
        try:
            from pydantic_core import from_json
        except ImportError:
            return
        _parse = partial(from_json, cache_strings="keys")


MANY = 5_000
"""Number of records from which on loading the faster parser takes less time than it saves."""
_parse: Callable[[bytes], Any] | None = None
"""The faster parser, once it is loaded."""


def loads(data: bytes) -> Any:
    """Parse the JSON of a record file like `json.loads`, but faster if this program wrote it. Raises ValueError."""
    if data.startswith(b"{") and data.endswith(b"}\n"):  # no other encoding and no blanks, so nothing to search for
        if _parse is not None:
            try:
                return _parse(data)
            except ValueError:
                pass  # the standard library reads more, and words the error
        text = data.decode("utf-8", "surrogatepass")
        value, end = _DECODER.raw_decode(text)
        if text[end:] == "\n":
            return value
    return json.loads(data)


def body_from_json(raw: Mapping[str, Any]) -> Body:
    """Read the body of a record from its JSON; a kind that this version does not know becomes Unknown."""
    kind = text(raw, "kind", None)
    read = _READERS.get(kind)
    return read(raw) if read else Unknown(kind, dict(raw))


def part_from_json(raw: Mapping[str, Any]) -> Part:
    """Read a part from its JSON. Raises KeyError if a required field is missing, ValueError for an unknown type."""
    meta = table(raw, "meta") if raw.get("meta") is not None else None
    match raw["type"]:
        case "text":
            source = cast(Source, text(raw, "source"))
            return Text(text(raw, "text", None), bool(raw.get("synthetic")), source, meta)
        case "thinking":
            return Thinking(text(raw, "text", None), text(raw, "signature"), meta)
        case "image":
            return Image(text(raw, "mime", None), text(raw, "data", None), text(raw, "path"), meta)
        case "file":
            return File(text(raw, "mime", None), text(raw, "path"), text(raw, "text"), meta, text(raw, "sha256"))
        case "tool_call":
            return ToolCall(text(raw, "call_id", None), text(raw, "name", None), table(raw, "input"), meta)
        case other:
            raise ValueError(f"unknown part {other!r}")


def usage_from_json(raw: Mapping[str, Any] | None) -> Usage:
    """Usage from its JSON; missing counts are 0."""
    if not raw or raw == _NOTHING:
        return _NO_USAGE
    # Spelled out: many sessions are listed at once, and each has one.
    return Usage(
        whole(raw, "input"),
        whole(raw, "output"),
        whole(raw, "reasoning"),
        whole(raw, "cache_read"),
        whole(raw, "cache_write"),
        text(raw, "tier"),
    )


_NO_USAGE = Usage()
_NOTHING = dict.fromkeys(("input", "output", "reasoning", "cache_read", "cache_write"), 0)
"""JSON of a usage without tokens."""
UNREADABLE = (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError)


def _body(raw: Mapping[str, Any]) -> Body:
    try:
        return body_from_json(raw)
    except UNREADABLE:
        if whole(raw, "schema") > SCHEMA:
            return Unknown(text(raw, "kind", None), dict(raw))  # a newer program may write the same kind differently
        raise


def _time(raw: Mapping[str, Any]) -> str:
    """Return the time at which a record was written; a tool result has it in its span."""
    span = raw["time"]
    return text(span, "recorded") if isinstance(span, dict) else text(raw, "time", None)


def _message(raw: Mapping[str, Any]) -> Message:
    if raw["role"] not in ("user", "assistant"):
        raise ValueError(f"unknown role {raw['role']!r}")
    return Message(
        role=raw["role"],
        parts=tuple([part_from_json(part) for part in items(raw, "parts", dict, None) if part.get("type") in _PARTS]),
        turn=whole(raw, "turn"),
        provider=text(raw, "provider"),
        model=text(raw, "model"),
        usage=usage_from_json(table(raw, "usage")) if raw.get("usage") else None,
        cost=amount(raw, "cost"),
        stop=cast("Stop | None", text(raw, "stop") or None),
        error=text(raw, "error"),
    )


def _result(raw: Mapping[str, Any]) -> ToolResult:
    span = raw["time"] if isinstance(raw.get("time"), dict) else {}
    return ToolResult(
        call_id=text(raw, "call_id", None),
        name=text(raw, "name", None),
        status=_status(text(raw, "status", None)),
        output=text(raw, "output", None),
        truncated=bool(raw.get("truncated")),
        output_file=text(raw, "output_file"),
        title=text(raw, "title"),
        started=float(number(span, "start") or 0.0),
        ended=float(number(span, "end") or 0.0),
        metadata=table(raw, "metadata"),
        images=_images(raw) if raw.get("images") is not None else (),
    )


def _images(raw: Mapping[str, Any]) -> tuple[Image, ...]:
    return tuple([part for part in map(part_from_json, items(raw, "images", dict)) if isinstance(part, Image)])


def _status(given: str) -> Status:
    """Status of a call; an unknown one is an error."""
    return cast(Status, given) if given in _STATUSES else "error"


def _compaction(raw: Mapping[str, Any]) -> Compaction:
    return Compaction(
        trigger=cast(Trigger, text(raw, "trigger", None)),
        status=cast(CompactionStatus, text(raw, "status", None)),
        policy=text(raw, "policy", None),
        covers=_pair(items(raw, "covers", int)),
        kept_from=whole(raw, "kept_from"),
        snapshot=text(raw, "snapshot"),
        ledger=table(raw, "ledger"),
        pins=tuple(map(_verbatim_text, items(raw, "pins", dict))),
        user_words=tuple(map(_verbatim_text, items(raw, "user_words", dict))),
        tokens_before=whole(raw, "tokens_before"),
        tokens_after=whole(raw, "tokens_after"),
        model=text(raw, "model"),
        usage=usage_from_json(table(raw, "usage")),
        cost=amount(raw, "cost"),
        kept=items(raw, "kept", int),
        replaced=_all(str, table(raw, "replaced")),
        drop_thinking_before=whole(raw, "drop_thinking_before"),
        continues=bool(raw.get("continues")),
        note=text(raw, "note"),
        carry=_carry(table(raw, "carry")),
        cleared=items(raw, "cleared", str),
        cleared_inputs=items(raw, "cleared_inputs", str),
        stands_for=_pair(items(raw, "stands_for", int)),
        skills=tuple(map(_verbatim_text, items(raw, "skills", dict))),
        answer=_verbatim_text(answer) if (answer := table(raw, "answer")) else None,
        by_provider=_by_provider(table(raw, "by_provider")),
    )


def _by_provider(raw: Mapping[str, Any]) -> ProviderSummary | None:
    if not raw:
        return None
    return ProviderSummary(text(raw, "provider"), text(raw, "model"), text(raw, "text"), table(raw, "meta"))


def _pair(seqs: tuple[int, ...]) -> tuple[int, int]:
    first, last = seqs or (0, 0)
    return first, last


def _carry(raw: Mapping[str, Any]) -> Carry:
    return replace(
        Carry(),
        usage=usage_from_json(table(raw, "usage")),
        cost=amount(raw, "cost"),
        turn=whole(raw, "turn"),
        todo=tuple(map(_todo, items(raw, "todo", dict))),
        system=items(raw, "system", str),
        tools=items(raw, "tools", dict),
        calibration=table(raw, "calibration"),
        pins=None if raw.get("pins") is None else items(raw, "pins", int),
        cleared=None if raw.get("cleared") is None else _all(int, table(raw, "cleared")),
        cleared_inputs=_all(int, table(raw, "cleared_inputs")),
        features={name: _kept(kept) for name, kept in _all(dict, table(raw, "features")).items()},
        **{name: text(raw, name) for name in ("model", "mode", "policy", "title", "name", "folder", "account")},
    )


def _kept(raw: Mapping[str, Any]) -> Kept:
    return Kept(whole(raw, "seq", None), table(raw, "data"))


def _verbatim_text(raw: Mapping[str, Any]) -> VerbatimText:
    return VerbatimText(whole(raw, "seq", None), whole(raw, "turn"), text(raw, "text", None))


def _todo(raw: Mapping[str, Any]) -> TodoItem:
    status = cast(TodoStatus, text(raw, "status", "pending"))
    return TodoItem(text(raw, "content", None), status, text(raw, "active_form"))


def _settings(raw: Mapping[str, Any]) -> Settings:
    names = (text(raw, "model"), text(raw, "mode"), text(raw, "policy"))
    more = (text(raw, "why"), text(raw, "folder"), text(raw, "account"))
    return Settings(*names, items(raw, "system", str), items(raw, "tools", dict), *more)


def _feature_state(raw: Mapping[str, Any]) -> FeatureState:
    usage = usage_from_json(table(raw, "usage"))
    return FeatureState(text(raw, "feature", None), table(raw, "data"), text(raw, "model"), usage, amount(raw, "cost"))


def _failure(raw: Mapping[str, Any]) -> Failure:
    usage = usage_from_json(table(raw, "usage"))
    return Failure(text(raw, "message", None), text(raw, "where"), usage, amount(raw, "cost"))


def _inner_call(raw: Mapping[str, Any]) -> InnerCall:
    call = part_from_json(table(raw, "call"))
    if not isinstance(call, ToolCall):
        raise TypeError(f"call is {type(call).__name__}")
    return InnerCall(text(raw, "within", None), call, _result(table(raw, "result")))


def _title(raw: Mapping[str, Any]) -> Title:
    usage = usage_from_json(table(raw, "usage"))
    return Title(text(raw, "title"), text(raw, "name"), text(raw, "model"), usage, amount(raw, "cost"))


def _undo(raw: Mapping[str, Any]) -> Undo:
    target = cast(UndoTarget, text(raw, "target", "compaction"))
    return Undo(whole(raw, "undoes", None), target, usage_from_json(table(raw, "usage")), amount(raw, "cost"))


def _prune(raw: Mapping[str, Any]) -> Prune:
    calls = items(raw, "call_ids", str, None)
    drop, inputs = whole(raw, "drop_thinking_before"), items(raw, "inputs", str)
    outcomes, restored = _all(str, table(raw, "outcomes")), items(raw, "restored", str)
    by: Editor = "provider" if text(raw, "by") == "provider" else ""
    return Prune(calls, whole(raw, "tokens"), text(raw, "reason"), drop, inputs, outcomes, by, restored)


def _all(kind: type, table: dict[str, Any]) -> dict[str, Any]:
    """Return the object if all its values are of one kind. Raises TypeError otherwise."""
    if not all(isinstance(value, kind) for value in table.values()):
        raise TypeError(f"{table!r:.60}")
    return table


_READERS: dict[str, Callable[[Mapping[str, Any]], Body]] = {
    "message": _message,
    "tool_result": _result,
    "compaction": _compaction,
    "prune": _prune,
    "undo": _undo,
    "pin": lambda raw: Pin(whole(raw, "pins", None)),
    "unpin": lambda raw: Unpin(whole(raw, "pins", None)),
    "retry": lambda raw: Retry(whole(raw, "attempt", None), number(raw, "delay") or 0.0, text(raw, "reason", None)),
    "title": _title,
    "todo": lambda raw: Todo(tuple(map(_todo, items(raw, "items", dict, None)))),
    "checkpoint": lambda raw: Checkpoint(table(raw, "data")),
    "settings": _settings,
    "feature": _feature_state,
    "error": _failure,
    "inner_call": _inner_call,
}
assert set(_READERS) == set(KINDS.values())
