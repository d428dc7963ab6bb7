"""Rollout files of Codex (JSON lines under `~/.codex/sessions`), with the current envelope or, in early versions,
without it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from agentcli.core.aliases import CODEX
from agentcli.core.message import Image, Message, Part, Status, Stop, Text, Thinking, ToolCall, ToolResult, Usage
from agentcli.core.record import Failure, Settings
from agentcli.extras.importers.sessions.jsonl import Json, blocks, objects, seconds, skipping, utc
from agentcli.extras.importers.sessions.normalise import settle
from agentcli.extras.importers.sessions.tools import as_edit, ours
from agentcli.sessions.imported import Foreign, Imported, Item, Summary, images_of, sound, text_of

_ENVELOPES = (
    "session_meta",
    "turn_context",
    "response_item",
    "event_msg",
    "compacted",
    "token_usage_record",
    "world_state",
)
_WRAPPED = re.compile(r"\s*<([a-z][\w-]*)>.*</\1>\s*", re.DOTALL)
_LABEL = re.compile(r"\s*</?image\b[^>]*>\s*")
"""Tags around a picture, such as `<image name=[Image #1]>`."""
_UNSUPPORTED = "unsupported call: "
_INSTRUCTIONS = "# AGENTS.md instructions"
_EXIT = re.compile(r"^(?:Exit code: |Process exited with code )(-?\d+)", re.MULTILINE)
_HEAD = re.compile(
    r"\A(?:Command: (?s:.*?)\n(?=Chunk ID: ))?(?:(?:Exit code|Wall time|Total output lines|Chunk ID|Process exited|Process running|Original token count)[^\n]*\n)+Output:\n"
)
_RUNNING = re.compile(r"^Process running with session ID (\d+)$", re.MULTILINE)
_PICTURE = re.compile(r"data:(image/[\w.+-]+);base64,(.*)", re.DOTALL)


def read(lines: Iterable[str]) -> Imported:
    """Read the session in the lines of a rollout. Raises InputError that names the line and its error."""
    notes: list[str] = []
    reader = _Reader()
    for number, entry in objects(lines, notes):
        with skipping(f"line {number}", notes):
            reader.add(entry)
    with skipping("the last reply", notes):
        reader.close()
    if reader.sealed:
        many = f"the summary of a compaction ({reader.sealed} in all)"
        notes.append(f"{many} is encrypted: what came before stays in view")
    items = tuple(reader.items)
    return settle(Foreign("codex", items, reader.cwd, reader.began, notes=tuple(notes)))


class _Reader:
    """Collector of items. It joins a reply's reasoning, text and calls until another speaker follows."""

    def __init__(self) -> None:
        self.items: list[Item] = []
        self.parts: list[Part] = []
        self.time = ""
        self.cwd = ""
        self.began = ""
        self.provider = "openai"
        self.model = ""
        self.reply: int | None = None
        self.changes: dict[str, Json] = {}
        self.polls: dict[str, str] = {}
        """The background jobs whose output calls ask for, by these calls' ids."""
        self.exact = False
        self.sealed = 0

    def add(self, entry: Json) -> None:
        if entry.get("type") not in _ENVELOPES:
            self._bare(entry)
            return
        time, payload = utc(entry.get("timestamp")), entry["payload"]
        match entry["type"]:
            case "session_meta" if not self.began:
                self.cwd, self.began = payload.get("cwd") or "", utc(payload.get("timestamp")) or time
                self.provider = payload.get("model_provider") or "openai"
            case "turn_context":
                self._context(payload, time)
            case "response_item":
                self._item(payload, time)
            case "compacted":
                self._compacted(payload, time)
            case "event_msg":
                self._event(payload, time)
            case "token_usage_record":
                self.exact = True
                self._usage(payload["usage"])
            case _:
                pass

    def close(self) -> None:
        """End the reply that is being collected."""
        if self.parts:
            stop: Stop = "tool_use" if isinstance(self.parts[-1], ToolCall) else "end_turn"
            message = Message("assistant", tuple(self.parts), 0, self.provider, self.model, stop=stop)
            self.reply = len(self.items)
            self.items.append(sound(Item(self.time, message)))
            self.parts = []

    def _bare(self, entry: Json) -> None:
        """Add a line of an early version: the items themselves, after a head without a type."""
        if "instructions" in entry and "type" not in entry:
            self.began = utc(entry.get("timestamp"))
        elif isinstance(entry.get("type"), str):
            self._item(entry, self.began)

    def _context(self, payload: Json, time: str) -> None:
        self.cwd = self.cwd or payload.get("cwd") or ""
        model = payload.get("model") or self.model
        if model != self.model:
            self.model = model
            self._say(Item(time, Settings(model=f"{self.provider}/{model}")))

    def _item(self, payload: Json, time: str) -> None:
        match payload["type"]:
            case "message" if payload["role"] == "user":
                parts = tuple(map(_injected, _without_labels([*_parts(payload["content"])])))
                if parts:
                    self._say(Item(time, Message("user", parts)))
            case "message" if payload["role"] == "assistant":
                self._part(time, *_parts(payload["content"]))
            case "reasoning":
                self._part(time, *_reasoning(payload))
            case "function_call" | "custom_tool_call" | "local_shell_call":
                call = _call(payload)
                if call.name == "bash_output":
                    self.polls[call.call_id] = str(call.input.get("id") or "")
                self._part(time, call)
            case "function_call_output" | "custom_tool_call_output":
                key = payload["call_id"]
                job = {"job": self.polls.pop(key)} if key in self.polls else {}
                self._say(Item(time, _result(payload, time, {**job, **self.changes.pop(key, {})})))
            case _:
                pass  # the system's own messages, the provider's searches, snapshots of the repository

    def _event(self, payload: Json, time: str) -> None:
        match payload.get("type"):
            case "token_count" if payload.get("info") and not self.exact:
                self._usage(payload["info"].get("last_token_usage") or {})
            case "error" | "stream_error":
                self._failed(payload, time)
            case "task_complete" if payload.get("error"):
                self._failed(payload["error"], time)
            case "item_completed" if payload["item"].get("type") == "FileChange":
                self.changes[payload["item"]["id"]] = _changed(payload["item"]["changes"])
            case "patch_apply_end":
                self.changes[payload["call_id"]] = _changed(payload.get("changes") or {})
            case _:
                pass  # the same texts once more, for the screen

    def _failed(self, error: Json, time: str) -> None:
        """Add a failure, once even if the file reports it twice."""
        text = str(error.get("message") or "The request failed.")
        inner = _json(text).get("error")
        content = Failure(str(inner.get("message") or text) if isinstance(inner, dict) else text, "model")
        self.close()
        if not (self.items and self.items[-1].content == content):
            self._say(Item(time, content))

    def _compacted(self, payload: Json, time: str) -> None:
        """Add a compaction.

        The reply with its summary leaves the conversation; its usage becomes the compaction's.
        """
        self.close()
        text = _summary(payload)
        if not text:
            self.sealed += 1
            return
        spent = self._summariser(text)
        usage = spent.usage if spent and spent.usage else Usage()
        model = f"{spent.provider}/{spent.model}" if spent else ""
        self._say(Item(time, Summary(text, prompts=tuple(_kept_prompts(payload, text)), model=model, usage=usage)))

    def _summariser(self, text: str) -> Message | None:
        content = self.items[-1].content if self.items else None
        if isinstance(content, Message) and content.role == "assistant" and content.text and content.text in text:
            del self.items[-1]
            self.reply = None
            return content
        return None

    def _usage(self, raw: Json) -> None:
        """Set the last reply's usage. Codex includes cached tokens in the input, and reasoning in the output."""
        self.close()
        if self.reply is None:
            return
        item = self.items[self.reply]
        if isinstance(item.content, Message) and item.content.usage is None and raw:
            cached = int(raw.get("cached_input_tokens") or 0)
            fresh = max(int(raw.get("input_tokens") or 0) - cached, 0)
            reasoning = int(raw.get("reasoning_output_tokens") or 0)
            usage = Usage(fresh, int(raw.get("output_tokens") or 0), reasoning, cached)
            self.items[self.reply] = replace(item, content=replace(item.content, usage=usage))

    def _part(self, time: str, *parts: Part) -> None:
        self.time = self.time if self.parts else time
        self.parts.extend(parts)

    def _say(self, item: Item) -> None:
        self.close()
        self.items.append(sound(item))


def _without_labels(parts: Sequence[Part]) -> Iterable[Part]:
    """Yield the parts of a prompt without the tags that Codex puts around each image."""
    pictures = [number for number, part in enumerate(parts) if isinstance(part, Image)]
    beside = {number + step for number in pictures for step in (-1, 1)}
    for number, part in enumerate(parts):
        if not (number in beside and isinstance(part, Text) and _LABEL.fullmatch(part.text)):
            yield part


def _injected(part: Part) -> Part:
    wrapped = isinstance(part, Text) and (_WRAPPED.fullmatch(part.text) or part.text.startswith(_INSTRUCTIONS))
    return replace(part, synthetic=True, source="reminder") if isinstance(part, Text) and wrapped else part


def _parts(content: Any) -> Iterable[Part]:
    for raw in blocks(content):
        match raw["type"]:
            case "input_text" | "output_text" | "text" if raw["text"]:
                yield Text(raw["text"])
            case "input_image" if found := _PICTURE.fullmatch(str(raw.get("image_url"))):
                yield Image(found[1], found[2])
            case _:
                pass


def _reasoning(payload: Json) -> Iterable[Thinking]:
    """Yield the readable part: encrypted reasoning is meaningless for another provider."""
    texts = [
        raw["text"] for raw in (*(payload.get("summary") or ()), *(payload.get("content") or ())) if raw.get("text")
    ]
    if texts:
        yield Thinking("\n\n".join(texts))


def _call(payload: Json) -> ToolCall:
    key = payload.get("call_id") or payload.get("id") or ""
    if payload["type"] == "custom_tool_call":
        name, arguments = _freeform(payload["name"], payload["input"])
        return ToolCall(key, name, arguments)
    if payload["type"] == "local_shell_call":
        return ToolCall(key, "bash", {"command": _command(payload["action"]["command"])})
    arguments = json.loads(payload["arguments"] or "{}")
    name, arguments = ours(CODEX, payload["name"], arguments)
    if name == "bash" and "command" in arguments:
        arguments["command"] = _command(arguments["command"])
    if payload["name"] == "apply_patch":
        name, arguments = _freeform("apply_patch", str(arguments.get("input") or arguments.get("patch") or ""))
    return ToolCall(key, name, arguments)


def _freeform(name: str, text: str) -> tuple[str, Json]:
    return (name == "apply_patch" and as_edit(text)) or (name, {"input": text})


def _command(command: Any) -> str:
    """Return the command line itself, without the shell that ran it."""
    if isinstance(command, str):
        return command
    arguments = [str(word) for word in command]
    if (
        len(arguments) == 3
        and arguments[0].rsplit("/", 1)[-1] in ("bash", "sh", "zsh")
        and arguments[1] in ("-c", "-lc")
    ):
        return arguments[2]
    return " ".join(arguments)


def _result(payload: Json, time: str, known: Json) -> ToolResult:
    output = payload.get("output")
    text, code, failed = _output(output)
    images = images_of(_parts(output)) if isinstance(output, list) else ()
    head = _HEAD.match(output) if isinstance(output, str) else None
    if running := head and _RUNNING.search(head[0]):
        known = {"job": running[1], **known}
    metadata = known if code is None else {"exit_code": code, **known}
    if "job" in known:
        metadata["state"] = "running" if running else "ended"
    status: Status = "error" if failed or code or text.startswith(_UNSUPPORTED) else "success"
    return ToolResult(payload["call_id"], "", status, text, ended=seconds(time), metadata=metadata, images=images)


def _changed(changes: Json) -> Json:
    """Return a patch's changes to files: one unified diff, and the numbers of added and removed lines."""
    diffs: list[str] = []
    for path, change in changes.items():
        if diff := change.get("unified_diff"):
            diffs.append(f"--- {path}\n+++ {change.get('move_path') or path}\n{diff}")
    if not diffs:
        return {"path": next(iter(changes))} if len(changes) == 1 else {}
    lines = [line for change in changes.values() for line in str(change.get("unified_diff") or "").splitlines()]
    counted = {sign: sum(line.startswith(sign) for line in lines) for sign in "+-"}
    known = {"diff": "".join(diffs), "additions": counted["+"], "deletions": counted["-"]}
    return {"path": next(iter(changes)), **known} if len(changes) == 1 else known


def _output(output: Any) -> tuple[str, int | None, bool]:
    """Return the command's output, its exit code if known, and True if the call failed."""
    if isinstance(output, list):
        return text_of(_parts(output)), None, False
    if isinstance(output, dict):
        text, code, _ = _output(output.get("content") or output.get("content_items") or "")
        return text, code, output.get("success") is False
    text = str(output or "")
    if text.startswith("{"):
        result = _json(text)
        if isinstance(result.get("output"), str):
            return result["output"], (result.get("metadata") or {}).get("exit_code"), False
    if head := _HEAD.match(text):
        found = _EXIT.search(head[0])
        return text[head.end() :], int(found[1]) if found else None, False
    return text, None, False


def _json(text: str) -> Json:
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _summary(payload: Json) -> str:
    """Return the summary of a compaction; empty if only the provider can read it."""
    if payload.get("message"):
        return str(payload["message"])
    history = payload.get("replacement_history") or ()
    if any(item.get("encrypted_content") for item in history):
        return ""
    texts = (part.text for item in history for part in _parts(item.get("content") or ()) if isinstance(part, Text))
    return "\n\n".join(texts)


def _kept_prompts(payload: Json, summary: str) -> Iterable[str]:
    """Yield the prompts that a compaction left in the view, oldest first."""
    for item in payload.get("replacement_history") or ():
        if item.get("type") == "message" and item.get("role") == "user":
            message = Message("user", tuple(map(_injected, _parts(item.get("content") or ()))))
            if message.text and message.text != summary:
                yield message.text
