"""The events of a Messages stream, joined into parts that are complete or absent."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any

from agentcli.core.dataclass import dataclass, replace
from agentcli.core.errors import ModelError
from agentcli.core.event import CallDelta, TextDelta, ThinkingDelta
from agentcli.core.message import Part, Pieces, Stop, Text, Thinking, ToolCall, Usage
from agentcli.core.model import EditsApplied, PartDone, Searched, Source, Stopped, StreamEvent, UsageSeen
from agentcli.providers.anthropic.models import KIND
from agentcli.providers.wire import Ids, sendable, tier, tokens

Json = dict[str, Any]

STOPS: Mapping[str, Stop] = {
    "end_turn": "end_turn",
    "max_tokens": "max_tokens",
    "stop_sequence": "stop_sequence",
    "tool_use": "tool_use",
    "pause_turn": "pause",
    "refusal": "refusal",
    "model_context_window_exceeded": "context_exceeded",
    "compaction": "end_turn",
}
_CUT_SHORT: tuple[Stop, ...] = ("max_tokens", "context_exceeded")
_CALL_FIELDS = ("caller", "toolset_name")
_DIRECT = {"type": "direct"}
"""The caller of a call that the model itself makes.

A call without the field means the same, so it is not sent back each time.
"""


_SEARCH_BLOCKS = ("server_tool_use", "web_search_tool_result")
_TWICE = Text("")
"""Placeholder for a repeated call."""


@dataclass(slots=True)
class _Block:
    """A block that is streaming: its beginning, the pieces so far, and its index among the parts held back.

    `server_id` is the id that the server gave a call.
    """

    begun: Json
    pieces: Pieces = field(default_factory=Pieces)
    signature: str = ""
    index: int | None = None
    server_id: Any = None
    citations: list[Json] = field(default_factory=list)

    @property
    def kind(self) -> str:
        return str(self.begun["type"])


class Reply:
    """One streamed reply: `read` each event's JSON, then `end`.

    From the first tool call on, parts are held back until the stop reason arrives. Before that, a reply that reached
    its limit looks like a finished one, so the last call may be incomplete.
    """

    def __init__(self, ids: Ids | None = None) -> None:
        self._ids = ids or Ids()
        self._open: dict[int, _Block] = {}
        self._pending: list[Part | None] = []
        self._calls = False
        self._usage: Json = {}
        self._stop = ""
        self._detail = ""
        self._malformed = ""
        self._searched: list[Json] = []

    def read(self, event: Mapping[str, Any]) -> Iterator[StreamEvent]:
        """Yield the steps of an event.

        Raises KeyError, TypeError or ValueError for another wire format.
        """
        match event["type"]:
            case "message_start":
                yield from self._count(event["message"].get("usage"))
            case "content_block_start":
                yield from self._start(_index(event), event["content_block"])
            case "content_block_delta":
                yield from self._add(self._block(event), event["delta"])
            case "content_block_stop":
                yield from self._finish(self._block(event))
                del self._open[_index(event)]
            case "message_delta":
                delta = event["delta"]
                self._stop = _text(delta.get("stop_reason") or self._stop)
                details = delta.get("stop_details")
                self._detail = str(details.get("category") or "") if isinstance(details, dict) else self._detail
                yield from self._count(event.get("usage"))
                yield from _applied(event.get("context_management"))
            case _:
                pass

    @property
    def stopped(self) -> bool:
        """True once the stop reason has arrived: only the end of the stream is missing."""
        return bool(self._stop)

    def end(self) -> Iterator[StreamEvent]:
        """Yield the remaining steps at the end of the stream.

        Raises ModelError(cause="network") if it was truncated.
        """
        if not self._stop:
            raise ModelError("The reply was cut off.", "network", begun=True)
        for block in self._open.values():
            if block.kind == "tool_use":
                self._malformed = sendable(str(block.begun["name"]))
            else:
                yield from self._finish(block)
        stop = STOPS.get(self._stop, "error")
        if (
            stop in _CUT_SHORT
            and self._pending
            and (self._pending[-1] is None or isinstance(self._pending[-1], ToolCall))
        ):
            self._pending.pop()
        yield from (PartDone(part) for part in self._pending if part is not None and part is not _TWICE)
        if self._searched:
            yield _search_report(self._searched, self._usage)
        if None in self._pending or (stop == "tool_use" and not self._calls):
            yield Stopped("malformed_call", "the input of a tool call was not a JSON object", self._malformed)
        elif stop == "error":
            yield Stopped("error", self._stop[:40])
        else:
            yield Stopped(stop, self._detail)

    def _block(self, event: Mapping[str, Any]) -> _Block:
        block = self._open.get(_index(event))
        if block is None:
            raise ValueError("a block continues without a start")
        return block

    def _start(self, index: int, begun: Json) -> Iterator[StreamEvent]:
        if index in self._open:
            raise ValueError("a block starts twice")
        block = self._open[index] = _Block(begun, signature=_text(begun.get("signature") or ""))
        match block.kind:
            case "tool_use":
                block.server_id = begun.get("id")
                block.begun = begun | {"id": self._ids.fresh(begun.get("id"))}
                self._calls = True
                yield CallDelta(block.begun["id"], str(begun["name"]), "")
            case "text" | "thinking" if begun.get(block.kind):
                yield from _show(block, begun[block.kind])
            case _:
                pass
        if self._calls:
            # The block's place. It stays None if the block never ends, because half a call must not run.
            block.index = len(self._pending)
            self._pending.append(None)

    def _add(self, block: _Block, delta: Json) -> Iterator[StreamEvent]:
        match delta["type"]:
            case "text_delta":
                yield from _show(block, delta["text"])
            case "thinking_delta":
                yield from _show(block, delta["thinking"])
            case "signature_delta":
                block.signature = _text(delta["signature"])
            case "citations_delta" if isinstance(delta.get("citation"), dict):
                block.citations.append(delta["citation"])
            case "compaction_delta":
                block.pieces.append(_text(delta.get("content") or ""))
                if delta.get("encrypted_content"):
                    block.begun = {**block.begun, "encrypted_content": delta["encrypted_content"]}
            case "input_json_delta":
                block.pieces.append(_text(delta["partial_json"]))
                if block.kind == "tool_use":
                    yield CallDelta(block.begun["id"], str(block.begun["name"]), delta["partial_json"])
            case _:
                pass

    def _finish(self, block: _Block) -> Iterator[StreamEvent]:
        part = _part(block)
        if part is None:
            self._malformed = sendable(str(block.begun["name"]))
        if isinstance(part, ToolCall) and self._ids.again(block.server_id, part.name, part.input):
            part = _TWICE
        if block.kind in _SEARCH_BLOCKS:
            self._searched.append(_search_block(block))
        elif block.citations:
            self._searched += block.citations
        if block.index is not None:
            self._pending[block.index] = part
        elif part is not None:
            yield PartDone(part)

    def _count(self, usage: Any) -> Iterator[StreamEvent]:
        """Update the counts, which are cumulative: a later count replaces an earlier one, a missing one keeps it."""
        if isinstance(usage, dict):
            self._usage |= {name: value for name, value in usage.items() if value is not None}
        if self._usage:
            yield UsageSeen(to_usage(self._usage))


def _applied(managed: Any) -> Iterator[StreamEvent]:
    """Yield the edits that the server reports as applied to the request."""
    edits = managed.get("applied_edits") if isinstance(managed, dict) else None
    if not isinstance(edits, list):
        return
    sums = {"cleared_tool_uses": 0, "cleared_thinking_turns": 0, "tool_tokens": 0, "thinking_tokens": 0}
    for edit in (each for each in edits if isinstance(each, dict)):
        kind = "thinking" if "cleared_thinking_turns" in edit else "tool"
        sums[f"{kind}_tokens"] += tokens(edit.get("cleared_input_tokens"))
        for name in ("cleared_tool_uses", "cleared_thinking_turns"):
            sums[name] += tokens(edit.get(name))
    yield EditsApplied(
        sums["cleared_tool_uses"], sums["tool_tokens"], sums["cleared_thinking_turns"], sums["thinking_tokens"]
    )


def _index(event: Mapping[str, Any]) -> int:
    return int(event.get("index") or 0)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("a text field is not text")
    return value


def _show(block: _Block, text: Any) -> Iterator[StreamEvent]:
    block.pieces.append(_text(text))
    match block.kind:
        case "text":
            yield TextDelta(text, block.pieces)
        case "thinking":
            yield ThinkingDelta(text)
        case _:
            pass


def _part(block: _Block) -> Part | None:
    """Return the part of a finished block; None for a call without a name."""
    if block.kind == "tool_use":
        return _call(block.begun, block.pieces)
    text = block.pieces.text()
    match block.kind:
        case "text" if block.citations:
            return Text(text, meta={KIND: {"type": "text", "text": text, "citations": block.citations}})
        case "text":
            return Text(text)
        case "thinking":
            return Thinking(text, block.signature)
        case "redacted_thinking":
            return Thinking("", "", {KIND: block.begun})
        case "compaction":
            return _summary(block.begun, text)
        case kind if kind in _SEARCH_BLOCKS:
            return Text("", meta={KIND: _search_block(block)})
        case _:
            return Text("", meta={KIND: block.begun})


def _search_block(block: _Block) -> Json:
    """Return a block of the vendor's search in the form in which it must be sent back."""
    text = block.pieces.text()
    given = json.loads(text) if text else block.begun.get("input")
    return {**block.begun, "input": given} if block.kind == "server_tool_use" else block.begun


def _search_report(found: list[Json], usage: Json) -> Searched:
    """Report searches by their blocks and citations. Only cited pages have passages: the rest is encrypted."""
    queries: list[str] = []
    pages: dict[str, str] = {}
    passages: dict[str, str] = {}
    trouble = ""
    for each in found:
        match each:
            case {"type": "server_tool_use", "input": {"query": str(query)}}:
                queries.append(sendable(query))
            case {"type": "web_search_tool_result", "content": list(results)}:
                pages |= {str(one.get("url")): str(one.get("title") or "") for one in results if isinstance(one, dict)}
            case {"type": "web_search_tool_result", "content": {"error_code": str(code)}}:
                trouble = sendable(code)
            case {"type": "web_search_result_location", "url": str(url), "cited_text": str(cited)}:
                passages[url] = cited
            case _:
                pass
    counted = usage.get("server_tool_use")
    count = tokens(counted.get("web_search_requests")) if isinstance(counted, dict) else 0
    sources = tuple(
        Source(sendable(url), sendable(title), sendable(passages.get(url, ""))) for url, title in pages.items()
    )
    return Searched(tuple(queries), sources, count or len(queries), trouble)


def _summary(begun: Json, text: str) -> Text:
    """Return the provider's summary of the conversation, or an empty text if the provider failed to write one."""
    content = text or str(begun.get("content") or "")
    known = {name: value for name, value in begun.items() if value is not None}
    meta = {KIND: {**known, "content": content}} if content else None
    return Text(sendable(content), synthetic=True, source="compactor", meta=meta)


def to_usage(raw: Mapping[str, Any]) -> Usage:
    """Convert the reported usage; this API counts cache reads and writes separately from the input."""
    details = raw.get("output_tokens_details")
    reported = Usage(
        input=tokens(raw.get("input_tokens")),
        output=tokens(raw.get("output_tokens")),
        reasoning=tokens(details.get("thinking_tokens")) if isinstance(details, dict) else 0,
        cache_read=tokens(raw.get("cache_read_input_tokens")),
        cache_write=tokens(raw.get("cache_creation_input_tokens")),
    )
    iterations = raw.get("iterations")
    rounds = iterations if isinstance(iterations, list) else ()
    # The sums above do not include the provider's own summary.
    compacted = (each for each in rounds if isinstance(each, dict) and each.get("type") == "compaction")
    whole = sum((to_usage({**each, "iterations": None}) for each in compacted), start=reported)
    speed = raw.get("speed")  # the fast mode has its own price in any tier
    return replace(whole, tier=tier(None if speed == "standard" else speed, raw.get("service_tier")))


def _call(block: Json, pieces: Pieces) -> ToolCall | None:
    """Return a call whose input has arrived in these pieces; None without a name."""
    from agentcli.providers.arguments import call_of

    extra = {name: block[name] for name in _CALL_FIELDS if block.get(name) and block[name] != _DIRECT}
    whole = pieces.text() or json.dumps(block.get("input") or {})
    return call_of(block["id"], block["name"], whole, {KIND: extra} if extra else None)
