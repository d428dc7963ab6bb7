"""Session files of Claude Code (JSON lines under `~/.claude/projects`)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from agentcli.core.aliases import CLAUDE_CODE
from agentcli.core.dataclass import replace
from agentcli.core.errors import InputError
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
from agentcli.core.record import Failure, Todo, TodoItem
from agentcli.extras.importers.sessions.jsonl import Json, blocks, objects, seconds, skipping, utc
from agentcli.extras.importers.sessions.normalise import settle
from agentcli.extras.importers.sessions.tools import ours, todo_list
from agentcli.sessions.imported import Content, Foreign, Imported, Item, Summary, images_of, sound, text_of

_STOPS: dict[str, Stop] = {
    "end_turn": "end_turn",
    "tool_use": "tool_use",
    "max_tokens": "max_tokens",
    "stop_sequence": "stop_sequence",
    "refusal": "refusal",
    "pause_turn": "pause",
}
_WRAPPED = re.compile(r"\s*(?:<([a-z][\w-]*)(?:\s[^>]*)?>.*?</\1>\s*)+", re.DOTALL)
_SHELL = re.compile(r"\s*<(?:bash-input|bash-stdout|local-command-stdout|command-name|command-message)>")
_COMMAND = re.compile(
    r"\s*<command-message>[^<]*</command-message>\s*<command-name>/?([^<\s]+)</command-name>\s*"
    r"(?:<command-args>(.*)</command-args>\s*)?",
    re.DOTALL,
)
"""A slash command that is a prompt; commands that the program runs itself begin with `<command-name>`."""
_EXIT = re.compile(r"^(?:Error: )?Exit code (\d+)")
_JOB = re.compile(r"Command running in background with ID: (\w+)|<task_id>(\w+)</task_id>\s*<task_type>local_bash<")
"""The start of a background command, or what it printed since."""
_ENDED = re.compile(r"<status>(?!running)\w+</status>(?:\s*<exit_code>(\d+)<)?")
_DENIED = "The user doesn't want to"
_INTERRUPTED = "[Request interrupted by user"


def read(lines: Iterable[str]) -> Imported:
    """Read the session in the lines of a Claude Code file. Raises InputError that names the line and its error."""
    notes: list[str] = []
    entries = list(objects(lines, notes))
    whole = [(number, entry) for number, entry in entries if entry.get("uuid")]
    main = [(number, entry) for number, entry in whole if not entry.get("isSidechain")]
    if whole and not main:
        raise InputError("it contains only a subagent's work: import the file of the session that started it")
    current = _current(main)
    if len(current) < len(main):
        notes.append(f"{len(main) - len(current)} entries of abandoned branches were left out")
    reader = _Reader()
    for number, entry in current:
        with skipping(f"line {number}", notes):
            reader.add(entry)
    named = {
        entry["type"]: entry for _, entry in entries if entry.get("type") in ("custom-title", "ai-title", "summary")
    }
    name = str(named.get("custom-title", {}).get("customTitle") or "")
    title = str(named.get("ai-title", {}).get("aiTitle") or named.get("summary", {}).get("summary") or "")
    cwd = next((str(entry["cwd"]) for _, entry in entries if entry.get("cwd")), "")
    items = tuple(reader.items)
    return settle(Foreign("claude-code", items, cwd, items[0].time if items else "", name, title, tuple(notes)))


def _current(main: Sequence[tuple[int, Json]]) -> list[tuple[int, Json]]:
    """Return the entries of the newest entry's ancestors; answers to parallel calls branch off that line."""
    up = _parents([entry for _, entry in main])
    line: set[str] = set()
    at = str(main[-1][1]["uuid"]) if main else ""
    while at in up and at not in line:
        line.add(at)
        at = up[at]
    prompt: dict[str, str] = {}
    for _, entry in main:
        own = str(entry["uuid"])
        prompt[own] = own if _is_prompt(entry) else prompt.get(up[own], "")
    return [pair for pair in main if (asked := prompt[str(pair[1]["uuid"])]) in line or not asked]


def _parents(main: Sequence[Json]) -> dict[str, str]:
    """Return each entry's parent, or, if the file lacks it, as after a compaction, the previous entry.

    The first entry of a file, and of another session within it, have none.
    """
    known = {str(entry["uuid"]) for entry in main}
    up: dict[str, str] = {}
    before = ""
    for entry in main:
        named, compacted = _parent(entry), entry.get("subtype") == "compact_boundary" or entry.get("isCompactSummary")
        up[str(entry["uuid"])] = named if named in known else before if named or compacted else ""
        before = str(entry["uuid"])
    return up


def _parent(entry: Json) -> str:
    return str(entry.get("parentUuid") or entry.get("logicalParentUuid") or "")


def _is_prompt(entry: Json) -> bool:
    if entry.get("type") != "user" or entry.get("isMeta"):
        return False
    content = (entry.get("message") or {}).get("content")
    return not (isinstance(content, list) and any(block.get("type") == "tool_result" for block in content))


class _Reader:
    """Collector of items; it joins a reply that is spread over several lines."""

    def __init__(self) -> None:
        self.items: list[Item] = []
        self.replies: dict[str, int] = {}
        self.boundary: Json = {}
        self.keys: dict[str, str] = {}
        self.tasks: dict[str, TodoItem] = {}
        self.asked: dict[str, ToolCall] = {}
        self.prompts: dict[str, int] = {}
        """Index in `items` of the user's message to which an entry, or the attachments before it, belong."""

    def add(self, entry: Json) -> None:
        time, key = utc(entry.get("timestamp")), str(entry["uuid"])
        match entry.get("type"):
            case "assistant" if not _filler(entry):
                self._reply(entry, time, key)
            case "user" if entry.get("isCompactSummary"):
                self.items.append(sound(Item(time, self._summary(entry["message"]), key)))
            case "user":
                self.items.extend(sound(Item(time, content, key)) for content in _spoken(entry, time))
                if self.items and isinstance(self.items[-1].content, Message) and self.items[-1].key == key:
                    self.prompts[key] = len(self.items) - 1
                if self._planned(entry):
                    self.items.append(Item(time, Todo(tuple(self.tasks.values()))))
            case "system" if entry.get("subtype") == "compact_boundary":
                self.boundary = entry.get("compactMetadata") or {}
            case "attachment":
                self._attach(entry, key)
            case _:
                pass  # hooks, progress, snapshots of files

    def _reply(self, entry: Json, time: str, key: str) -> None:
        message = entry["message"]
        content = _reply(message, bool(entry.get("isApiErrorMessage")))
        index = self.replies.get(message.get("id") or "")
        former = None if index is None else self.items[index].content
        if isinstance(content, Message):
            self.asked |= {call.call_id: call for call in content.calls}
        if isinstance(content, Message) and isinstance(former, Message) and index is not None:
            self.keys[key] = self.items[index].key
            joined = replace(content, parts=(*former.parts, *content.parts), stop=content.stop or former.stop)
            self.items[index] = sound(replace(self.items[index], content=joined))
            return
        self.replies[message.get("id") or key] = len(self.items)
        self.items.append(sound(Item(time, content, key)))

    def _attach(self, entry: Json, key: str) -> None:
        """Put an attached file before the text of its prompt; skip files that the program rereads by itself."""
        index = self.prompts.get(_parent(entry))
        if index is None:
            return
        self.prompts[key] = index
        item = self.items[index]
        part = _attached(entry.get("attachment") or {})
        if part is not None and isinstance(item.content, Message) and item.content.is_prompt:
            at = next((n for n, one in enumerate(item.content.parts) if isinstance(one, Text)), len(item.content.parts))
            parts = (*item.content.parts[:at], part, *item.content.parts[at:])
            self.items[index] = sound(replace(item, content=item.content.with_parts(parts)))

    def _summary(self, message: Json) -> Summary:
        trigger, tokens = self.boundary.get("trigger"), int(self.boundary.get("preTokens") or 0)
        first = str((self.boundary.get("preservedSegment") or {}).get("headUuid") or "")
        self.boundary = {}
        text = text_of(_parts(message["content"]))
        return Summary(text, self.keys.get(first, first), tokens, "manual" if trigger == "manual" else "auto")

    def _planned(self, entry: Json) -> bool:
        """Follow the tasks of the model's plan, created and changed one by one; return True if this answer changed them."""
        result = entry.get("toolUseResult")
        if not isinstance(result, dict):
            return False
        answered = [block for block in entry["message"]["content"] if isinstance(block, dict)]
        call = self.asked.get(str(answered[0].get("tool_use_id"))) if answered else None
        if call is None or call.name not in ("TaskCreate", "TaskUpdate"):
            return False
        task = result.get("task")
        key = str(task["id"] if isinstance(task, dict) else call.input.get("taskId"))
        if call.input.get("status") == "deleted":
            return self.tasks.pop(key, None) is not None
        former = self.tasks.get(key, TodoItem(""))
        row = {
            "content": call.input.get("subject") or former.content,
            "status": call.input.get("status") or former.status,
            "activeForm": call.input.get("activeForm") or former.active_form,
        }
        if row["content"]:
            (self.tasks[key],) = todo_list({"todos": [row]})
        return key in self.tasks


def _filler(entry: Json) -> bool:
    """Return True if the program wrote this itself in place of a missing reply."""
    return entry["message"].get("model") == "<synthetic>" and entry.get("isApiErrorMessage") is False


def _reply(message: Json, failed: bool) -> Message | Failure:
    parts = tuple(_parts(message["content"]))
    if failed or message.get("model") == "<synthetic>":
        return Failure("".join(part.text for part in parts if isinstance(part, Text)) or "The request failed.", "model")
    raw = message.get("usage") or {}
    usage = Usage(
        input=int(raw.get("input_tokens") or 0),
        output=int(raw.get("output_tokens") or 0),
        cache_read=int(raw.get("cache_read_input_tokens") or 0),
        cache_write=int(raw.get("cache_creation_input_tokens") or 0),
    )
    stop = _STOPS.get(message.get("stop_reason") or "")
    return Message("assistant", parts, 0, "anthropic", message.get("model") or "", usage if raw else None, None, stop)


def _spoken(entry: Json, time: str) -> Iterable[Content]:
    """Yield the answers to calls in a user entry, then its text."""
    content = list(blocks(entry["message"]["content"]))
    for block in content:
        if block["type"] == "tool_result":
            yield _result(block, entry.get("toolUseResult"), time)
    parts = tuple(_parts([block for block in content if block["type"] != "tool_result"]))
    if parts:
        yield Message("user", tuple(_injected(part, bool(entry.get("isMeta"))) for part in parts))


def _attached(raw: Json) -> File | Image | None:
    """Return the file or folder attached with `@`; for anything except text and images, only the name."""
    if raw.get("type") == "directory":
        return File("inode/directory", raw["path"], raw["content"])
    if raw.get("type") != "file":
        return None
    path, content = raw["filename"], raw["content"]
    match content["type"]:
        case "text":
            return File("text/plain", path, content["file"]["content"])
        case "image":
            return Image(content["file"]["type"], content["file"]["base64"], path)
        case _:
            return File("application/octet-stream", path)


def _injected(part: Part, meta: bool) -> Part:
    """Return a text as the user's own, or marked as an addition by the program."""
    if not isinstance(part, Text):
        return part
    if not meta and (command := _COMMAND.fullmatch(part.text)):
        return replace(part, text=f"/{command[1]} {command[2] or ''}".strip())
    if not (meta or part.text.startswith(_INTERRUPTED) or _WRAPPED.fullmatch(part.text)):
        return part
    source: Source = "shell" if _SHELL.match(part.text) else "reminder"
    return replace(part, synthetic=True, source=source)


def _parts(content: Any) -> Iterable[Part]:
    for raw in blocks(content):
        match raw["type"]:
            case "text" if raw["text"]:
                yield Text(raw["text"])
            case "thinking":
                yield Thinking(raw["thinking"], raw.get("signature") or "")
            case "redacted_thinking":
                yield Thinking("", meta={"anthropic": dict(raw)})
            case "image" if raw["source"].get("type") == "base64":
                yield Image(raw["source"]["media_type"], raw["source"]["data"])
            case "tool_use":
                name, arguments = ours(CLAUDE_CODE, raw["name"], raw["input"])
                yield ToolCall(raw["id"], name, arguments)
            case _:
                pass


def _result(block: Json, details: Any, time: str) -> ToolResult:
    parts = tuple(_parts(block.get("content") or ""))
    text, images = text_of(parts), images_of(parts)
    details = details if isinstance(details, dict) else {}
    status = _status(bool(block.get("is_error")), text, details)
    metadata = _metadata(text, details, status)
    return ToolResult(block["tool_use_id"], "", status, text, ended=seconds(time), metadata=metadata, images=images)


def _status(failed: bool, text: str, details: Json) -> Status:
    if details.get("interrupted") or text.startswith(_INTERRUPTED):
        return "interrupted"
    if failed and text.startswith(_DENIED):
        return "denied"
    return "error" if failed else "success"


def _metadata(text: str, details: Json, status: Status) -> Json:
    known: Json = {}
    if job := _JOB.search(text[:200]):
        ended = _ENDED.search(text[:400]) if job[2] else None
        known = {"job": job[1] or job[2], "state": "ended" if ended else "running"}
        known |= {"exit_code": int(ended[1])} if ended and ended[1] else {}
    elif "stdout" in details and status == "success":
        known["exit_code"] = 0
    elif found := _EXIT.match(text):
        known["exit_code"] = int(found[1])
    if path := details.get("filePath") or (details.get("file") or {}).get("filePath"):
        known["path"] = path
    if details.get("type") == "create":
        known["created"] = True
    if hunks := details.get("structuredPatch"):
        known |= _diff(str(path or ""), hunks)
    return known


def _diff(path: str, hunks: Sequence[Json]) -> Json:
    """Make a unified diff from Claude Code's hunks."""
    lines = [f"--- {path}", f"+++ {path}"]
    for hunk in hunks:
        lines.append(f"@@ -{hunk['oldStart']},{hunk['oldLines']} +{hunk['newStart']},{hunk['newLines']} @@")
        lines.extend(hunk["lines"])
    body = [line for hunk in hunks for line in hunk["lines"]]
    added, removed = sum(line.startswith("+") for line in body), sum(line.startswith("-") for line in body)
    return {"diff": "\n".join(lines) + "\n", "additions": added, "deletions": removed}
