"""Session files of Gemini CLI: one JSON object, or since 2026 JSON lines with amendments and rewinds."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from agentcli.core.message import Image, Message, Part, Status, Text, Thinking, ToolCall, ToolResult, Usage
from agentcli.core.record import Failure
from agentcli.sessions.importing.imported import Foreign, Imported, Item, Said, sound
from agentcli.sessions.importing.jsonl import Json, objects, reading, seconds, utc
from agentcli.sessions.importing.settle import settle
from agentcli.sessions.importing.tools import GEMINI_CLI, ours

_STATUS: dict[str, Status] = {"success": "success", "error": "error", "cancelled": "interrupted"}


def read(lines: Iterable[str]) -> Imported:
    """The session in a Gemini CLI file. Raises InputError naming the line or message and what is wrong with it."""
    notes: list[str] = []
    head, messages = _whole("\n".join(lines), notes)
    items: list[Item] = []
    for number, message in enumerate(messages, 1):
        with reading(f"message {number}"):
            time, key = utc(message.get("timestamp")), str(message.get("id") or number)
            items.extend(sound(Item(time, said, key)) for said in _said(message, time))
    with reading("the head"):
        began = utc(head.get("startTime"))
        folders = head.get("directories") or [""]
    title = str(head.get("summary") or "")
    return settle(Foreign("gemini-cli", tuple(items), str(folders[0]), began, title=title, notes=tuple(notes)))


def _whole(text: str, notes: list[str]) -> tuple[Json, list[Json]]:
    try:
        value = json.loads(text)
    except ValueError:
        return _lines(text, notes)
    with reading("the file"):
        return value, list(value["messages"])


def _lines(text: str, notes: list[str]) -> tuple[Json, list[Json]]:
    """What the lines leave standing: a message written again replaces itself, a rewind takes back all from its message on."""
    head: Json = {}
    messages: dict[str, Json] = {}
    for number, entry in objects(text.split("\n"), notes):
        with reading(f"line {number}"):
            if "$rewindTo" in entry:
                _rewind(messages, str(entry["$rewindTo"]))
            elif "id" in entry and "type" in entry:
                messages[str(entry["id"])] = entry
            else:
                changed = entry.get("$set", entry)
                head |= {key: value for key, value in changed.items() if key != "messages"}
                if "messages" in changed:
                    messages = {str(message["id"]): message for message in changed["messages"]}
    return head, list(messages.values())


def _rewind(messages: dict[str, Json], to: str) -> None:
    names = list(messages)
    for name in names[names.index(to) if to in names else 0 :]:
        del messages[name]


def _said(message: Json, time: str) -> Iterable[Said]:
    match message["type"]:
        case "user":
            parts = tuple(_parts(message["content"]))
            if parts:
                yield Message("user", parts)
        case "gemini":
            yield _reply(message)
            for call in message.get("toolCalls") or ():
                if call.get("status") in _STATUS:
                    yield _result(call, time)
        case "error":
            yield Failure(_text(message["content"]), "model")
        case _:
            pass  # what the program told the user


def _reply(message: Json) -> Message:
    thoughts = [Thinking(_thought(raw)) for raw in message.get("thoughts") or ()]
    calls = [_call(raw) for raw in message.get("toolCalls") or ()]
    parts = (*thoughts, *_parts(message.get("content") or ""), *calls)
    model, usage = message.get("model") or "", _usage(message.get("tokens"))
    return Message("assistant", parts, 0, "google", model, usage, None, "tool_use" if calls else "end_turn")


def _thought(raw: Json) -> str:
    return "\n".join(text for text in (raw.get("subject"), raw.get("description")) if text)


def _usage(raw: Json | None) -> Usage | None:
    """Their `input` is the whole prompt, their `output` the reply without its thoughts."""
    if not raw:
        return None
    cached, thoughts = int(raw.get("cached") or 0), int(raw.get("thoughts") or 0)
    prompt = int(raw.get("input") or 0) + int(raw.get("tool") or 0)
    return Usage(max(prompt - cached, 0), int(raw.get("output") or 0) + thoughts, thoughts, cached)


def _call(raw: Json) -> ToolCall:
    name, arguments = ours(GEMINI_CLI, raw["name"], raw.get("args") or {})
    return ToolCall(raw["id"], name, arguments)


def _result(call: Json, time: str) -> ToolResult:
    output = "\n".join(_outputs(call.get("result") or ()))
    shown = call.get("resultDisplay")
    images = tuple(part for part in _parts(call.get("result") or ()) if isinstance(part, Image))
    moment = seconds(call.get("timestamp") or time)
    name = ours(GEMINI_CLI, call["name"], {})[0]
    metadata = _metadata(shown if isinstance(shown, dict) else {})
    return ToolResult(call["id"], name, _STATUS[call["status"]], output, ended=moment, metadata=metadata, images=images)


def _outputs(result: Any) -> Iterable[str]:
    """What the model was told: the text inside each function response."""
    for part in result if isinstance(result, list) else [result]:
        if isinstance(part, str):
            yield part
        elif "functionResponse" in part:
            response = part["functionResponse"].get("response") or {}
            told = response.get("output", response.get("error", response))
            yield told if isinstance(told, str) else json.dumps(told, ensure_ascii=False)
        elif part.get("text"):
            yield part["text"]


def _metadata(shown: Json) -> Json:
    """The diff of an edit, as Gemini CLI kept it to show it."""
    if not isinstance(shown.get("fileDiff"), str):
        return {}
    known: Json = {"diff": shown["fileDiff"]}
    if shown.get("filePath") or shown.get("fileName"):
        known["path"] = shown.get("filePath") or shown["fileName"]
    counted = shown.get("diffStat") or {}
    if "model_added_lines" in counted:
        known |= {"additions": counted["model_added_lines"], "deletions": counted.get("model_removed_lines", 0)}
    if shown.get("isNewFile"):
        known["created"] = True
    return known


def _parts(content: Any) -> Iterable[Part]:
    for raw in content if isinstance(content, list) else [content]:
        if isinstance(raw, str):
            if raw:
                yield Text(raw)
        elif raw.get("text"):
            yield Thinking(raw["text"]) if raw.get("thought") else Text(raw["text"])
        elif "inlineData" in raw and str(raw["inlineData"].get("mimeType")).startswith("image/"):
            yield Image(raw["inlineData"]["mimeType"], raw["inlineData"]["data"])


def _text(content: Any) -> str:
    return "".join(part.text for part in _parts(content) if isinstance(part, Text))
