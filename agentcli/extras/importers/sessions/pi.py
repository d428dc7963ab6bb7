"""Session files of the pi coding agent (JSON lines, versions 1 to 3)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from agentcli.core.aliases import PI
from agentcli.core.errors import InputError
from agentcli.core.message import Image, Message, Part, Source, Stop, Text, Thinking, ToolCall, ToolResult, Usage
from agentcli.core.record import Failure, Settings, Title
from agentcli.extras.importers.sessions.jsonl import Json, blocks, objects, seconds, skipping, utc
from agentcli.extras.importers.sessions.normalise import settle
from agentcli.extras.importers.sessions.tools import ours
from agentcli.sessions.imported import Foreign, Imported, Item, Summary, images_of, sound, text_of

_STOPS: dict[str, Stop] = {
    "stop": "end_turn",
    "toolUse": "tool_use",
    "length": "max_tokens",
    "aborted": "interrupted",
    "error": "error",
}
_EXIT = re.compile(r"Command exited with code (\d+)\s*$")


def read(lines: Iterable[str]) -> Imported:
    """Read the session in the lines of a pi file. Raises InputError that names the line and its error."""
    notes: list[str] = []
    entries = list(objects(lines, notes))
    if not entries or entries[0][1].get("type") != "session":
        raise InputError("line 1: a pi session begins with its header")
    header = entries[0][1]
    chosen = _branch(entries)
    if len(chosen) < len(entries) - 1:
        notes.append(f"{len(entries) - 1 - len(chosen)} entries of abandoned branches were left out")
    model = _model(header.get("provider"), header.get("modelId"))
    items = [Item("", Settings(model=model))] if model else []
    for number, entry in chosen:
        with skipping(f"line {number}", notes):
            items.extend(map(sound, _items(entry, number, entries)))
    began = min((item.time for item in items if item.time), default="")
    return settle(Foreign("pi", tuple(items), header.get("cwd") or "", began, notes=tuple(notes)))


def _branch(entries: Sequence[tuple[int, Json]]) -> list[tuple[int, Json]]:
    """Return the entries from the root to the newest leaf; in older files, a sequence of entries without ids."""
    by_id = {entry["id"]: (number, entry) for number, entry in entries[1:] if entry.get("id")}
    if len(by_id) < len(entries) - 1:
        return list(entries[1:])
    path: dict[int, Json] = {}
    current: tuple[int, Json] | None = entries[-1] if len(entries) > 1 else None
    while current is not None and current[0] not in path:
        path[current[0]] = current[1]
        current = by_id.get(current[1].get("parentId") or "")
    return sorted(path.items())


def _items(entry: Json, number: int, entries: Sequence[tuple[int, Json]]) -> Iterable[Item]:
    time, key = utc(entry.get("timestamp")), str(entry.get("id") or number)
    match entry["type"]:
        case "message":
            yield from _message(entry["message"], time, key)
        case "model_change":
            yield Item(time, Settings(model=_model(entry["provider"], entry["modelId"])), key)
        case "compaction":
            tokens = int(entry.get("tokensBefore") or 0)
            yield Item(time, Summary(entry["summary"], _first_kept(entry, entries), tokens), key)
        case "branch_summary":
            yield Item(time, _aside(f"Summary of a branch that was left: {entry['summary']}"), key)
        case "custom_message":
            yield Item(time, _aside(text_of(_parts(entry["content"]))), key)
        case "session_info" if entry.get("name"):
            yield Item(time, Title(name=entry["name"]), key)
        case _:
            pass  # thinking levels, labels and the state of extensions have no meaning here


def _first_kept(entry: Json, entries: Sequence[tuple[int, Json]]) -> str:
    """Return the key of the first entry that the compaction kept. It is an id, or in old files an index from the
    header, 0.
    """
    index = entry.get("firstKeptEntryIndex")
    if not isinstance(index, int):
        return str(entry.get("firstKeptEntryId") or "")
    if not 0 <= index < len(entries):
        raise ValueError(f"firstKeptEntryIndex {index} is outside the file")
    number, first = entries[index]
    return str(first.get("id") or number)


def _message(message: Json, time: str, key: str) -> Iterable[Item]:
    match message["role"]:
        case "user":
            yield Item(time, Message("user", tuple(_parts(message["content"]))), key)
        case "assistant":
            yield Item(time, _reply(message), key)
        case "toolResult":
            yield Item(time, _result(message, time), key)
        case "bashExecution" if not message.get("excludeFromContext"):
            yield Item(time, _aside(_shell(message), "shell"), key)
        case "custom" | "hookMessage":
            yield Item(time, _aside(text_of(_parts(message["content"]))), key)
        case _:
            pass


def _reply(message: Json) -> Message | Failure:
    parts = tuple(_parts(message["content"]))
    usage = _usage(message.get("usage") or {})
    error = message.get("errorMessage") or ""
    cost = ((message.get("usage") or {}).get("cost") or {}).get("total")
    if not parts:
        why = error or "The reply was empty."
        return Failure(why, "model", usage, cost) if usage.total else Failure(why, "model")
    provider, model = message.get("provider") or "", message.get("model") or ""
    stop = _STOPS.get(message.get("stopReason") or "")
    return Message("assistant", parts, 0, provider, model, usage, cost, stop, error)


def _usage(raw: Json) -> Usage:
    return Usage(
        input=int(raw.get("input") or 0),
        output=int(raw.get("output") or 0),
        cache_read=int(raw.get("cacheRead") or 0),
        cache_write=int(raw.get("cacheWrite") or 0),
    )


def _parts(content: Any) -> Iterable[Part]:
    for raw in blocks(content):
        match raw["type"]:
            case "text" if raw["text"]:
                yield Text(raw["text"])
            case "thinking":
                yield Thinking(raw["thinking"], raw.get("thinkingSignature") or "")
            case "image":
                yield Image(raw["mimeType"], raw["data"])
            case "toolCall" if "partialJson" not in raw:  # a truncated call never became one
                name, arguments = ours(PI, raw["name"], raw["arguments"])
                yield ToolCall(raw["id"], name, arguments)
            case _:
                pass


def _result(message: Json, time: str) -> ToolResult:
    text = text_of(_parts(message["content"]))
    moment = seconds(message.get("timestamp") or time)
    return ToolResult(
        message["toolCallId"],
        ours(PI, message["toolName"], {})[0],
        "error" if message.get("isError") else "success",
        text,
        truncated=bool(((message.get("details") or {}).get("truncation") or {}).get("truncated")),
        ended=moment,
        metadata=_metadata(message, text),
        images=images_of(_parts(message["content"])),
    )


def _metadata(message: Json, text: str) -> Json:
    name, details = message["toolName"], message.get("details") or {}
    if name == "bash":
        code = _EXIT.search(text)
        return {"exit_code": int(code[1])} if code else {} if message.get("isError") else {"exit_code": 0}
    if name == "edit" and isinstance(details.get("diff"), str):
        lines = details["diff"].splitlines()
        return {
            "additions": sum(line.startswith("+") for line in lines),
            "deletions": sum(line.startswith("-") for line in lines),
        }
    return {}


def _aside(text: str, source: Source = "reminder") -> Message:
    return Message("user", (Text(text, synthetic=True, source=source),))


def _shell(message: Json) -> str:
    """Write a command that the user ran with `!` in the form of our own context."""
    text = f"$ {message['command']}\n{message.get('output') or ''}".rstrip()
    if message.get("cancelled"):
        return text + "\n[interrupted]"
    return text + (f"\n[exit code {message['exitCode']}]" if message.get("exitCode") else "")


def _model(provider: Any, model: Any) -> str:
    return f"{provider}/{model}" if provider and model else ""
