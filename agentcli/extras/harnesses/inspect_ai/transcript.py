"""The event lines of a run as messages and events of Inspect AI. They have the JSON of its logs (version 2). Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from datetime import datetime
from typing import Any

from agentcli.core.dataclass import dataclass

Json = dict[str, Any]
_ERRORS: Mapping[str, str] = {"error": "unknown", "denied": "approval", "interrupted": "cancelled"}
"""Kinds of errors of tools by the status of a result."""
_USAGE = {
    "input_tokens_cache_write": "cache_write",
    "input_tokens_cache_read": "cache_read",
    "reasoning_tokens": "reasoning",
}


@dataclass(frozen=True, slots=True)
class Transcript:
    """Messages and events of a run, with its final `result` event, which is empty if missing."""

    model: str = ""
    prompt: str = ""
    messages: Sequence[Json] = ()
    events: Sequence[Json] = ()
    result: Mapping[str, Any] = field(default_factory=dict)

    @property
    def output(self) -> Json:
        """The last reply, as the output of a model."""
        last = next((each for each in reversed(self.messages) if each["role"] == "assistant"), None)
        return output(self.model, last, self.result) if last else {"model": self.model, "choices": []}


def transcript(lines: Iterable[str]) -> Transcript:
    """Read the lines of a run, then those of a continued run. Lines that are not events are skipped."""
    reader = _Reader()
    for event in _parsed(lines):
        reader.add(event)
    reader.close_reply({})
    return Transcript(reader.model, reader.prompt, reader.messages, reader.events, reader.result)


def usage(counts: Mapping[str, Any], cost: float | None) -> Json:
    """Return tokens as Inspect counts them: `input_tokens` without the cached ones."""
    kinds = ("input", "output", "cache_read", "cache_write")
    total = sum(int(counts.get(kind) or 0) for kind in kinds)
    more = {name: int(counts.get(kind) or 0) for name, kind in _USAGE.items()}
    whole = {"input_tokens": int(counts.get("input") or 0), "output_tokens": int(counts.get("output") or 0)}
    return {**whole, "total_tokens": total, **more, **({} if cost is None else {"total_cost": cost})}


def output(model: str, message: Json, counted: Mapping[str, Any]) -> Json:
    """Return a reply as the output of a model, with the tokens and the cost of an event."""
    stop = "tool_calls" if message.get("tool_calls") else "stop"
    counts = counted.get("usage", counted)
    spent = usage(counts, counted.get("cost")) if counts else None
    return {"model": model, "choices": [{"message": message, "stop_reason": stop}], "usage": spent}


def _parsed(lines: Iterable[str]) -> Iterator[Mapping[str, Any]]:
    for line in lines:
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if isinstance(event, dict) and isinstance(event.get("type"), str):
            yield event


class _Reader:
    """Builder of a transcript. A reply is complete with its usage, or with anything that can only follow it."""

    def __init__(self) -> None:
        self.model = self.prompt = self._began = ""
        self.messages: list[Json] = []
        self.events: list[Json] = []
        self.result: Mapping[str, Any] = {}
        self._thoughts: list[str] = []
        self._texts: list[str] = []
        self._calls: list[Json] = []
        self._made: dict[str, tuple[str, Json]] = {}

    def add(self, event: Mapping[str, Any]) -> None:
        """Add an event."""
        self._began = self._began or str(event.get("timestamp") or "")
        match event:
            case {"type": "init", "model": str(model)}:
                self.model = model
            case {"type": "message", "role": "user", "text": str(text)}:
                self.close_reply(event)
                self.prompt = self.prompt or text
                self._message({"role": "user", "content": text, "source": "input"})
            case {"type": "message" | "thinking", "delta": True}:
                pass
            case {"type": "message", "text": str(text)}:
                self._texts.append(text)
            case {"type": "thinking", "text": str(text)}:
                self._thoughts.append(text)
            case {"type": "tool_call" | "tool_result", "within": str()}:
                pass
            case {"type": "tool_call", "id": str(id), "name": str(name), "input": dict(given)}:
                self._calls.append({"id": id, "function": name, "arguments": given, "type": "function"})
                self._made[id] = (str(event.get("timestamp")), given)
            case {"type": "usage", "kind": "reply"}:
                self.close_reply(event)
            case {"type": "tool_result", "id": str(id), "name": str(name)}:
                self.close_reply(event)
                self._result(id, name, event)
            case {"type": "compaction"}:
                self.close_reply(event)
                counts = {f"tokens_{when}": event.get(f"tokens_{when}") for when in ("before", "after")}
                self._event("compaction", event, {"source": "agentcli", **counts})
            case {"type": "warning" | "retry"}:
                self._event("info", event, {"source": "agentcli", "data": _without(event, "type", "timestamp")})
            case {"type": "result"}:
                self.close_reply(event)
                self.result = event
            case _:
                pass

    def close_reply(self, event: Mapping[str, Any]) -> None:
        """End the current reply, if there is one; a `usage` event has its tokens."""
        if not (self._texts or self._thoughts or self._calls):
            return
        text = "".join(self._texts)
        thoughts = [{"type": "reasoning", "reasoning": each} for each in self._thoughts]
        content: str | list[Json] = [*thoughts, {"type": "text", "text": text}] if thoughts else text
        message: Json = {"role": "assistant", "content": content, "source": "generate", "model": self.model}
        if self._calls:
            message["tool_calls"] = self._calls
        self._thoughts, self._texts, self._calls = [], [], []
        message = self._message(message)
        counted = event if event.get("type") == "usage" else {}
        asked: Json = {"model": self.model, "input": [], "tools": [], "tool_choice": "auto", "config": {}}
        self._event("model", event, {**asked, "output": output(self.model, message, counted)})

    def _result(self, id: str, name: str, event: Mapping[str, Any]) -> None:
        text = str(event.get("output") or "")
        kind = _ERRORS.get(str(event.get("status")))
        error = {"error": {"type": kind, "message": text}} if kind else {}
        self._message({"role": "tool", "content": text, "tool_call_id": id, "function": name, **error})
        called, given = self._made.get(id, ("", {}))
        ended = {"completed": event["timestamp"]} if event.get("timestamp") else {}
        began = {"timestamp": called} if called else {}
        self._event("tool", {**event, **began}, {"id": id, "function": name, "arguments": given, "result": text, **error, **ended})  # fmt: skip

    def _message(self, message: Json) -> Json:
        self.messages.append({"id": f"m{len(self.messages) + 1}", **message})
        return self.messages[-1]

    def _event(self, kind: str, event: Mapping[str, Any], more: Json) -> None:
        time = str(event.get("timestamp") or self._began)
        since = {"timestamp": time, "working_start": _seconds(self._began, time)} if time else {}
        self.events.append({"event": kind, "uuid": f"e{len(self.events) + 1}", **since, **more})


def _without(event: Mapping[str, Any], *names: str) -> Json:
    return {name: value for name, value in event.items() if name not in names}


def _seconds(began: str, time: str) -> float:
    try:
        return max(0.0, (datetime.fromisoformat(time) - datetime.fromisoformat(began)).total_seconds())
    except (ValueError, TypeError):
        return 0.0
