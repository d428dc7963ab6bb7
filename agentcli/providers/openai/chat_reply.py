"""Chunks of a chat completion, joined into parts that are complete or absent, with thoughts from `<think>` tags."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any

from agentcli.core.dataclass import dataclass, replace
from agentcli.core.errors import ModelError
from agentcli.core.event import CallDelta, TextDelta, ThinkingDelta
from agentcli.core.message import Meta, Pieces, Stop, Text, Thinking, ToolCall, Usage
from agentcli.core.model import PartDone, Stopped, StreamEvent, UsageSeen
from agentcli.providers.arguments import call_of
from agentcli.providers.openai.models import KIND
from agentcli.providers.wire import Ids, sendable, sendable_json, tier, tokens

OPENED, CLOSED = "<think>", "</think>"


class ThinkTags:
    """Reader of text in pieces that separates thoughts at its beginning from the rest.

    Later tags are normal text.
    """

    def __init__(self) -> None:
        self._held = ""
        self._state = "start"

    def read(self, piece: str) -> list[tuple[bool, str]]:
        """Return the runs that are certain so far, each with True if it is a thought.

        A possible half tag is held back.
        """
        self._held += piece
        runs: list[tuple[bool, str]] = []
        if self._state == "start":
            begun = self._held.lstrip()
            if begun.startswith(OPENED):
                self._state, self._held = "opened", begun.removeprefix(OPENED)
            elif not OPENED.startswith(begun):
                self._state = "text"
        if self._state == "opened" and (thought := self._held.lstrip("\n")):
            self._state, self._held = "thought", thought
        if self._state == "thought":
            thought, closed, rest = self._held.partition(CLOSED)
            if closed:
                self._state, self._held = "after", rest
                runs.append((True, thought.rstrip("\n")))
            else:
                kept = _half_tag(self._held)
                runs.append((True, self._held[: len(self._held) - kept]))
                self._held = self._held[len(self._held) - kept :]
        if self._state == "after" and (text := self._held.lstrip()):
            self._state, self._held = "text", text
        if self._state == "text":
            runs.append((False, self._held))
            self._held = ""
        return [run for run in runs if run[1]]

    def end(self) -> list[tuple[bool, str]]:
        """Return the rest at the end of the text."""
        held, self._held = self._held, ""
        return [(self._state == "thought", held)] if held and self._state not in ("opened", "after") else []


def _half_tag(text: str) -> int:
    """Return the length of the text's end that may begin a closing tag, including line ends before it."""
    trimmed = text.rstrip("\n")
    for size in range(min(len(CLOSED) - 1, len(text)), 0, -1):
        if text.endswith(CLOSED[:size]):
            before = text[: len(text) - size].rstrip("\n")
            return len(text) - len(before)
    return len(text) - len(trimmed)


Json = dict[str, Any]

STOPS: Mapping[str, Stop] = {
    "stop": "end_turn",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "length": "max_tokens",
    "content_filter": "refusal",
    "refusal": "refusal",
    "eos": "end_turn",
    "end_turn": "end_turn",
    "model_length": "context_exceeded",
}
_THOUGHT_FIELDS = ("reasoning_content", "reasoning")
"""Fields in which servers stream thoughts; if both are present, they are equal."""
_DETAIL_TEXTS = ("text", "summary", "data")
_CALL_FIELDS = ("id", "index", "type", "function")
_LONGEST_REASON = 40
"""Maximum characters of a finish reason that are shown."""


@dataclass(slots=True)
class _Call:
    """A call that is streaming: its id from the server, and the id used here."""

    server_id: Any
    call_id: str
    name: str = ""
    pieces: Pieces = field(default_factory=Pieces)
    extra: Json = field(default_factory=dict)


class Reply:
    """One streamed reply: `read` each chunk's JSON, then `end`.

    A run of text or thoughts becomes a part once another begins. Calls become parts at the end, when the finish reason
    has arrived.
    """

    def __init__(self, ids: Ids | None = None) -> None:
        self._ids = ids or Ids()
        self._tags = ThinkTags()
        self._run = Pieces()
        self._source = ""
        self._details: list[Json] = []
        self._calls: list[_Call] = []
        self._by_index: dict[Any, _Call] = {}
        self._finish = ""
        self._refused = False
        self._usage: Json | None = None
        self._over = False

    def parsed(self, data: bytearray) -> Any:
        """Return a chunk's JSON. Raises ValueError if malformed."""
        return json.loads(data.decode())

    def read(self, chunk: Any) -> Iterator[StreamEvent]:
        """Yield the steps of a chunk.

        Raises KeyError, TypeError, ValueError or AttributeError if malformed.
        """
        for choice in (chunk.get("choices") or [])[:1]:
            yield from self._delta(choice.get("delta") or choice.get("message") or {})
            if choice.get("finish_reason"):
                self._finish = str(choice["finish_reason"])
        usage = chunk.get("usage")
        if isinstance(usage, dict) and usage != self._usage and _counted(usage):
            self._usage = usage
            yield UsageSeen(replace(to_usage(usage), tier=tier(chunk.get("service_tier"), usage.get("service_tier"))))

    def close(self) -> None:
        """Note that the server has sent its last line."""
        self._over = True

    @property
    def stopped(self) -> bool:
        """True once the finish reason and either the usage or the last line have arrived."""
        return bool(self._finish) and (self._over or self._usage is not None)

    def end(self) -> Iterator[StreamEvent]:
        """Yield the remaining steps at the end of the stream.

        Raises ModelError(cause="network") if it was truncated.
        """
        if not self._finish:
            raise ModelError("The reply was cut off.", "network", begun=True)
        for thought, text in self._tags.end():
            yield from self._add("tags" if thought else "text", text)
        yield from self._flush()
        stop = STOPS.get(self._finish, "tool_use" if self._calls else "error")
        made = [(each, self._made(each)) for each in self._calls]
        if stop in ("max_tokens", "context_exceeded", "error") and made:
            made.pop()  # it may look whole although it was cut off
        broken = [each.name for each, part in made if part is None]
        yield from (PartDone(part) for _, part in made if part is not None and not self._again(part))
        detail = "" if stop != "error" else sendable(self._finish)[:_LONGEST_REASON]
        if broken or (stop == "tool_use" and not self._calls):
            tool = sendable(broken[0]) if broken else ""
            yield Stopped("malformed_call", "the input of a tool call was not a JSON object", tool)
        elif self._refused or stop == "refusal":
            yield Stopped("refusal", "the model refused" if self._refused else "content_filter")
        elif stop == "end_turn" and self._calls:
            yield Stopped("tool_use")
        else:
            yield Stopped(stop, detail)

    def _delta(self, delta: Mapping[str, Any]) -> Iterator[StreamEvent]:
        details = delta.get("reasoning_details")
        for detail in details if isinstance(details, list) else ():
            _merge(self._details, dict(detail))
        for name in _THOUGHT_FIELDS:
            if isinstance(delta.get(name), str) and delta[name]:
                yield from self._add(name, delta[name])
                break
        content = delta.get("content")
        for piece in content if isinstance(content, list) else [content]:
            yield from self._content(piece)
        if isinstance(delta.get("refusal"), str) and delta["refusal"]:
            self._refused = True
            yield from self._add("text", delta["refusal"])
        for call in delta.get("tool_calls") or []:
            yield from self._call(call)

    def _content(self, piece: Any) -> Iterator[StreamEvent]:
        match piece:
            case str():
                for thought, text in self._tags.read(piece):
                    yield from self._add("tags" if thought else "text", text)
            case {"type": "thinking", "thinking": [*inner]}:
                yield from self._add("blocks", "".join(str(each.get("text") or "") for each in inner))
            case {"text": str(text)}:
                yield from self._add("text", text)
            case _:
                pass

    def _add(self, source: str, text: str) -> Iterator[StreamEvent]:
        """Add text to the current run; `source` is its origin, and so its kind."""
        if source != self._source and (self._source or source == "text"):
            yield from self._flush()
        if not text:
            return
        self._source = source
        self._run.append(text)
        yield TextDelta(text, self._run) if source == "text" else ThinkingDelta(text)

    def _flush(self) -> Iterator[StreamEvent]:
        """End the current run of text, if there is one. Reasoning details without a text are a thought, too."""
        text, source, self._run = self._run.text(), self._source, Pieces()
        if text and source == "text":
            yield PartDone(Text(text))
            text = ""
        if text or self._details:
            yield PartDone(Thinking(text, "", self._thought_meta(source)))

    def _thought_meta(self, source: str) -> Meta | None:
        details, self._details = self._details, []
        if details:
            return {KIND: {"details": sendable_json(details)}}
        return {KIND: {"field": source}} if source in _THOUGHT_FIELDS else None

    def _call(self, raw: Mapping[str, Any]) -> Iterator[StreamEvent]:
        function = raw.get("function") or {}
        server_id, index = raw.get("id") or None, raw.get("index")
        call = self._by_index.get(index)
        if call is None or (server_id and call.server_id and server_id != call.server_id):
            yield from self._flush()
            call = self._by_index[index] = _Call(server_id, self._ids.fresh(server_id))
            self._calls.append(call)
        # Servers repeat the name with each piece, or send it once; none sends it in parts.
        call.name = str(function.get("name") or call.name)
        arguments = function.get("arguments")
        text = arguments if isinstance(arguments, str) else json.dumps(arguments) if arguments is not None else ""
        call.pieces.append(text)
        call.extra |= {name: value for name, value in raw.items() if name not in _CALL_FIELDS and value}
        yield CallDelta(call.call_id, call.name, text)

    def _made(self, call: _Call) -> ToolCall | None:
        """Return the call; None without a name."""
        meta = {KIND: {"extra": sendable_json(call.extra)}} if call.extra else None
        ended = STOPS.get(self._finish) == "tool_use"
        return call_of(call.call_id, call.name, call.pieces.text(), meta, ended=ended)

    def _again(self, part: ToolCall) -> bool:
        made = next(each for each in self._calls if each.call_id == part.call_id)
        return self._ids.again(made.server_id, part.name, part.input)


def _merge(details: list[Json], piece: Json) -> None:
    """Add a piece of a reasoning detail: pieces with the same index and type form one detail with joined texts."""
    last = details[-1] if details else {}
    if not last or (last.get("type"), last.get("index")) != (piece.get("type"), piece.get("index")):
        details.append(piece)
        return
    for name, value in piece.items():
        going_on = name in _DETAIL_TEXTS and isinstance(last.get(name), str) and isinstance(value, str)
        last[name] = last[name] + value if going_on else value if value is not None else last.get(name)


def _counted(usage: Mapping[str, Any]) -> bool:
    return tokens(usage.get("prompt_tokens")) + tokens(usage.get("completion_tokens")) > 0


def to_usage(raw: Mapping[str, Any]) -> Usage:
    """Convert the reported usage; this API counts cached tokens inside the prompt, and thoughts inside the completion."""
    prompt, output = tokens(raw.get("prompt_tokens")), tokens(raw.get("completion_tokens"))
    details, parts = _table(raw.get("prompt_tokens_details")), _table(raw.get("completion_tokens_details"))
    read = _first(details.get("cached_tokens"), raw.get("prompt_cache_hit_tokens"), raw.get("cache_read_input_tokens"))
    written = _first(
        details.get("cache_write_tokens"), details.get("cache_creation_tokens"), raw.get("cache_creation_input_tokens")
    )
    read = min(read, prompt)
    written = min(written, prompt - read)
    return Usage(prompt - read - written, output, min(output, tokens(parts.get("reasoning_tokens"))), read, written)


def _first(*values: Any) -> int:
    """Return the first valid token count: vendors and gateways use different fields."""
    return next((count for value in values if (count := tokens(value))), 0)


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
