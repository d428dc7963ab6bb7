"""Sessions of opencode: the output of `opencode export`."""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

from agentcli.core.aliases import OPENCODE
from agentcli.core.errors import InputError
from agentcli.core.message import File, Image, Message, Part, Status, Stop, Text, Thinking, ToolCall, ToolResult, Usage
from agentcli.core.record import Failure, Trigger
from agentcli.extras.importers.sessions.jsonl import Json, reading, skipping, utc
from agentcli.extras.importers.sessions.normalise import settle
from agentcli.extras.importers.sessions.tools import as_edit, changes_file, ours
from agentcli.sessions.imported import Foreign, Imported, Item, Summary, sound

_STOPS: dict[str, Stop] = {
    "stop": "end_turn",
    "tool-calls": "tool_use",
    "length": "max_tokens",
    "content-filter": "refusal",
}
_ABORTED = "MessageAbortedError"
_REJECTED = "The user rejected permission"
_DATA = re.compile(r"data:([\w.+/-]+)(;base64)?,(.*)", re.DOTALL)
_UNTITLED = re.compile(r"(?:New|Child) session - \d{4}-")


_KEPT = re.compile(r"tool_\w+")
"""The name of a file with a whole output."""
_NOTICE = 1_000
"""Characters at each end of an output that opencode's notice may take."""
_CUT = re.compile(
    r"^\.\.\.\d+ \w+ truncated\.\.\.$"  # the rest was written to a file
    r"|^\([^()\n]*\btruncated\b[^()\n]*\)\s*\Z"  # a search that found too much
    r"|^<\w+_metadata>[^<]*\btruncated\b",  # a command, before there were files
    re.MULTILINE,
)
_SAVED = re.compile(
    r"^The tool call succeeded but the output was truncated\. Full output saved to: (\S+)$", re.MULTILINE
)
LARGEST = 50_000_000
"""Bytes of a whole output that is taken over."""


def whole_outputs() -> Path:
    """Return the folder in which opencode stores truncated outputs."""
    data = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local/share"
    return Path(data) / "opencode" / "tool-output"


def read(lines: Iterable[str]) -> Imported:
    """Read the session in an export. Raises InputError with the export's error."""
    try:
        whole = json.loads("\n".join(lines))
    except (ValueError, RecursionError) as error:
        raise InputError(f"line {getattr(error, 'lineno', 1)}: not JSON ({error})") from error
    with reading("the export"):
        return session_of(whole["info"], [(message["info"], message["parts"]) for message in whole["messages"]])


def session_of(info: Json, messages: Sequence[tuple[Any, Any]]) -> Imported:
    """Return the session of this `info` and these messages, each with its parts, in the form of an export."""
    notes: list[str] = []
    messages = _in_force(info.get("revert"), messages, notes)
    reader = _Reader()
    for number, (message, parts) in enumerate(messages, 1):
        with skipping(f"message {number}", notes):
            reader.add(message, parts)
    title = "" if _UNTITLED.match(str(info["title"])) else str(info["title"])
    began, items = utc(info["time"]["created"]), tuple(reader.items)
    directory = str(info["directory"])
    return settle(Foreign("opencode", items, directory, began, title=title, notes=tuple(notes), outputs=reader.outputs))


def _in_force(revert: Any, messages: Sequence[tuple[Any, Any]], notes: list[str]) -> Sequence[tuple[Any, Any]]:
    """Return the messages before the one to which the session was reverted."""
    to = revert.get("messageID") if isinstance(revert, dict) else None
    for index, (message, _) in enumerate(messages):
        if to and isinstance(message, dict) and message.get("id") == to:
            notes.append(f"{len(messages) - index} messages that were taken back were left out")
            return messages[:index]
    return messages


class _Reader:
    """Collector of items. A user's message requests a compaction, and the reply to it is the summary."""

    def __init__(self) -> None:
        self.items: list[Item] = []
        self.compactions: dict[str, Json] = {}
        self.calls: set[str] = set()
        self.outputs: dict[str, str] = {}

    def add(self, message: Json, parts: Sequence[Json]) -> None:
        time, key = utc(message["time"]["created"]), str(message["id"])
        if message["role"] == "user":
            if compaction := next((part for part in parts if part["type"] == "compaction"), None):
                self.compactions[key] = compaction
            content = tuple(_spoken(parts))
            found = [Item(time, Message("user", content), key)] if content else []
        elif message.get("summary"):
            found = [self._summary(message, parts, time, key)]
        else:
            found = list(self._reply(message, parts, time, key))
        self.items.extend(map(sound, found))

    def _summary(self, message: Json, parts: Sequence[Json], time: str, key: str) -> Item:
        asked = self.compactions.get(str(message.get("parentID")), {})
        text = "\n\n".join(part["text"] for part in parts if part["type"] == "text" and part["text"])
        usage, cost = _usage(message)
        if message.get("error") or not text:
            why = _error(message) or "The summary was empty."
            return Item(time, Failure(why, "model", usage or Usage(), cost), key)
        first = str(asked.get("tail_start_id") or "")
        trigger: Trigger = "auto" if asked.get("auto") else "manual"
        model = f"{message['providerID']}/{message['modelID']}"
        return Item(time, Summary(text, first, 0, trigger, (), model, usage or Usage(), cost), key)

    def _reply(self, message: Json, parts: Sequence[Json], time: str, key: str) -> Iterable[Item]:
        content: list[Part] = []
        results: list[Item] = []
        for part in parts:
            if part["type"] == "tool":
                # A call without its whole input never became one.
                if part["state"]["status"] != "pending":
                    call = self._call(part)
                    content.append(call)
                    results.extend(_result(call, part, self._whole_output(part)))
            else:
                content.extend(_reply_parts(part))
        usage, cost = _usage(message)
        error = _error(message)
        if content:
            stop: Stop = "error" if error else _STOPS.get(message.get("finish") or "", "interrupted")
            if (message.get("error") or {}).get("name") == _ABORTED:
                stop, error = "interrupted", ""
            model = (message["providerID"], message["modelID"])
            yield Item(time, Message("assistant", tuple(content), 0, *model, usage, cost, stop, error), key)
            yield from results
        elif error:
            yield Item(time, Failure(error, "model", usage or Usage(), cost), key)

    def _whole_output(self, part: Json) -> str:
        """Take over the whole of a truncated output; return its new place. opencode stores it in a file for a week."""
        saved = _SAVED.search(_ends(part["state"].get("output")))
        named = (part["state"].get("metadata") or {}).get("outputPath") or (saved and saved[1])
        path = Path(str(named or ""))
        # The imported file may contain any path: read only opencode's own files.
        if path.parent != whole_outputs() or not _KEPT.fullmatch(path.name):
            return ""
        try:
            if path.is_symlink() or path.stat().st_size > LARGEST:
                return ""
            self.outputs[f"{path.name}.txt"] = path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""
        return f"outputs/{path.name}.txt"

    def _call(self, part: Json) -> ToolCall:
        """Return the call; if its id is taken, under the id of its part."""
        call_id = part["callID"] if part["callID"] not in self.calls else part["id"]
        self.calls.add(call_id)
        given = part["state"].get("input") or {}
        if part["tool"] in ("apply_patch", "patch") and (edit := as_edit(str(given.get("patchText")))):
            return ToolCall(call_id, *edit)
        return ToolCall(call_id, *ours(OPENCODE, part["tool"], given))


def _spoken(parts: Sequence[Json]) -> Iterable[Part]:
    """Yield a user message's text and attachments. The program adds an attached file's text as a separate part."""
    for part in parts:
        match part["type"]:
            case "text" if part["text"] and not part.get("ignored"):
                synthetic = bool(part.get("synthetic"))
                yield Text(part["text"], synthetic, "reminder" if synthetic else "")
            case "file":
                yield from _attached(part)
            case "subtask":
                yield Text(part["prompt"])
            case _:
                pass


def _attached(part: Json) -> Iterable[Image | File]:
    found = _DATA.fullmatch(str(part.get("url")))
    name = str(part.get("filename") or "")
    if found and found[1].startswith("image/") and found[2]:
        yield Image(found[1], found[3], name)
    elif found and found[1].startswith("text/"):
        data = base64.b64decode(found[3]) if found[2] else unquote_to_bytes(found[3])
        yield File(found[1], name, data.decode("utf-8", "replace"))


def _reply_parts(part: Json) -> Iterable[Part]:
    match part["type"]:
        case "text" if part["text"]:
            yield Text(part["text"])
        case "reasoning" if part["text"]:
            yield Thinking(part["text"])
        case _:
            pass  # beginnings and ends of steps, snapshots of the files, patches, retries


def _result(call: ToolCall, part: Json, whole: str) -> Iterable[Item]:
    """Yield the answer to a call, whose whole output is in the file `whole`. Yield none if it was running at the
    program's end.
    """
    state = part["state"]
    if state["status"] not in ("completed", "error"):
        return
    time = state.get("time") or {}
    metadata = state.get("metadata") or {}
    images = [image for file in state.get("attachments") or () for image in _attached(file) if isinstance(image, Image)]
    result = ToolResult(
        call.call_id,
        call.name,
        _status(state, metadata),
        state["output"] if state["status"] == "completed" else state["error"],
        truncated=bool(metadata.get("truncated") or _CUT.search(_ends(state.get("output")))),
        output_file=whole,
        title=state.get("title") or "",
        started=(time.get("start") or 0) / 1000,
        ended=(time.get("end") or 0) / 1000,
        metadata=_metadata(call, metadata),
        images=tuple(images),
    )
    yield Item(utc(time.get("end")), result)


def _ends(output: Any) -> str:
    """Return the first and the last characters of an output that opencode reports as truncated."""
    text = str(output or "")
    return text if len(text) <= 2 * _NOTICE else f"{text[:_NOTICE]}\n{text[-_NOTICE:]}"


def _status(state: Json, metadata: Json) -> Status:
    if state["status"] == "completed":
        return "error" if metadata.get("exit") else "success"
    if metadata.get("interrupted"):
        return "interrupted"
    return "denied" if str(state["error"]).startswith(_REJECTED) else "error"


def _metadata(call: ToolCall, details: Json) -> Json:
    known: Json = {}
    if call.name == "bash" and isinstance(details.get("exit"), int):
        known["exit_code"] = details["exit"]
    if changes_file(call) and call.input.get("file_path"):
        known["path"] = call.input["file_path"]
    if isinstance(details.get("diff"), str):
        known["diff"] = details["diff"]
    counted = details.get("filediff")
    if isinstance(counted, dict):
        known |= {"additions": int(counted.get("additions") or 0), "deletions": int(counted.get("deletions") or 0)}
    if details.get("exists") is False:
        known["created"] = True
    return known


def _usage(message: Json) -> tuple[Usage | None, float | None]:
    """Return a reply's usage and cost, None if it was cut off before its end."""
    raw = message.get("tokens") or {}
    cache = raw.get("cache") or {}
    fresh, output, reasoning = (int(raw.get(name) or 0) for name in ("input", "output", "reasoning"))
    cached, written = int(cache.get("read") or 0), int(cache.get("write") or 0)
    if raw.get("total") == fresh + cached + written + output + reasoning:
        output += reasoning  # counted apart from the reply; our `output` includes it
    usage = Usage(fresh, output, reasoning, cached, written)
    return (usage, message.get("cost")) if usage.total else (None, None)


def _error(message: Json) -> str:
    error = message.get("error")
    if not error:
        return ""
    return str((error.get("data") or {}).get("message") or error["name"])
