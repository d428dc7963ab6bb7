"""The events of a Messages stream, put together into parts that are complete or not there at all."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from agentcli.core.errors import ModelError
from agentcli.core.event import CallDelta, TextDelta, ThinkingDelta
from agentcli.core.message import Part, Stop, Text, Thinking, ToolCall, Usage
from agentcli.core.model import PartDone, Step, Stopped, UsageSeen
from agentcli.providers.anthropic_request import KIND
from agentcli.providers.ids import Ids

Json = dict[str, Any]

STOPS: Mapping[str, Stop] = {
    "end_turn": "end_turn",
    "max_tokens": "max_tokens",
    "stop_sequence": "stop_sequence",
    "tool_use": "tool_use",
    "pause_turn": "pause",
    "refusal": "refusal",
    "model_context_window_exceeded": "context_exceeded",
}
_CUT_SHORT: tuple[Stop, ...] = ("max_tokens", "context_exceeded")
_KEPT_WITH_CALL = ("caller", "toolset_name")


class Reply:
    """One streamed reply: `read` each event's JSON, then `end`.

    From the first tool call on parts are held back until the stop reason is known, because only then is it known whether the last call
    is whole: a reply that ran into its limit looks the same as a finished one up to there.
    """

    def __init__(self, ids: Ids | None = None) -> None:
        self._ids = ids or Ids()
        self._block: Json = {}
        self._pieces: list[str] = []
        self._signature = ""
        self._held: list[Part | None] = []
        self._calls = False
        self._usage: Json = {}
        self._stop = ""
        self._detail = ""

    def read(self, event: Mapping[str, Any]) -> Iterator[Step]:
        """What an event brings. Raises KeyError, TypeError or ValueError where it is not of this wire format."""
        match event["type"]:
            case "message_start":
                yield from self._count(event["message"].get("usage"))
            case "content_block_start":
                yield from self._start(event["content_block"])
            case "content_block_delta":
                yield from self._add(event["delta"])
            case "content_block_stop":
                yield from self._finish()
            case "message_delta":
                delta = event["delta"]
                self._stop = delta.get("stop_reason") or self._stop
                self._detail = (delta.get("stop_details") or {}).get("category") or self._detail
                yield from self._count(event.get("usage"))
            case _:
                pass

    @property
    def stopped(self) -> bool:
        """Whether the provider has said why the reply ended: what is missing after that is only the farewell."""
        return bool(self._stop)

    def end(self) -> Iterator[Step]:
        """What is left when the stream is over. Raises ModelError(cause="network") when it was cut."""
        if not self._stop:
            raise ModelError("The reply broke off before its end.", "network")
        stop = STOPS.get(self._stop, "error")
        if stop in _CUT_SHORT and self._held and (self._held[-1] is None or isinstance(self._held[-1], ToolCall)):
            self._held.pop()
        yield from (PartDone(part) for part in self._held if part is not None)
        if None in self._held or (stop == "tool_use" and not self._calls):
            yield Stopped("malformed_call", "the input of a tool call was not a JSON object")
        elif stop == "error":
            yield Stopped("error", f"unknown stop reason {self._stop[:40]!r}")
        else:
            yield Stopped(stop, self._detail)

    def _start(self, block: Json) -> Iterator[Step]:
        self._block, self._pieces, self._signature = block, [], block.get("signature") or ""
        match block["type"]:
            case "tool_use":
                self._block = block | {"id": self._ids.fresh(block.get("id"))}
                yield CallDelta(self._block["id"], block["name"], "")
            case "text" | "thinking" if block.get(block["type"]):
                yield from self._show(block[block["type"]])
            case _:
                pass

    def _add(self, delta: Json) -> Iterator[Step]:
        match delta["type"]:
            case "text_delta":
                yield from self._show(delta["text"])
            case "thinking_delta":
                yield from self._show(delta["thinking"])
            case "signature_delta":
                self._signature = delta["signature"]
            case "input_json_delta":
                self._pieces.append(delta["partial_json"])
                if self._block.get("type") == "tool_use":
                    yield CallDelta(self._block["id"], self._block["name"], delta["partial_json"])
            case _:
                pass

    def _show(self, text: str) -> Iterator[Step]:
        self._pieces.append(text)
        match self._block.get("type"):
            case "text":
                yield TextDelta(text)
            case "thinking":
                yield ThinkingDelta(text)
            case _:
                pass

    def _finish(self) -> Iterator[Step]:
        if not self._block:
            raise ValueError("a block ended that had not begun")
        part = self._part()
        is_call = self._block["type"] == "tool_use"
        self._block = {}
        self._calls = self._calls or is_call
        if self._calls:
            self._held.append(part)
        elif part is not None:
            yield PartDone(part)

    def _part(self) -> Part | None:
        """The part that the finished block makes; None for a call whose input cannot be read."""
        block, text = self._block, "".join(self._pieces)
        match block["type"]:
            case "text":
                return Text(text)
            case "thinking":
                return Thinking(text, self._signature)
            case "redacted_thinking":
                return Thinking("", "", {KIND: block})
            case "tool_use":
                return _call(block, text)
            case _:
                return Text("", meta={KIND: block})

    def _count(self, usage: Json | None) -> Iterator[Step]:
        """Counts are cumulative: a later one replaces an earlier one, a missing one leaves it."""
        self._usage |= {name: value for name, value in (usage or {}).items() if value is not None}
        if self._usage:
            yield UsageSeen(to_usage(self._usage))


def to_usage(raw: Mapping[str, Any]) -> Usage:
    """Usage as reported; this API counts what the cache read or wrote apart from the input."""
    details = raw.get("output_tokens_details") or {}
    return Usage(
        input=int(raw.get("input_tokens") or 0),
        output=int(raw.get("output_tokens") or 0),
        reasoning=int(details.get("thinking_tokens") or 0),
        cache_read=int(raw.get("cache_read_input_tokens") or 0),
        cache_write=int(raw.get("cache_creation_input_tokens") or 0),
    )


def _call(block: Json, text: str) -> ToolCall | None:
    """A call whose whole input was read strictly, else None: half an input must never look like a whole one."""
    try:
        value = json.loads(text, parse_constant=_refuse) if text else block.get("input") or {}
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or not isinstance(block["name"], str):
        return None
    extra = {name: block[name] for name in _KEPT_WITH_CALL if block.get(name)}
    return ToolCall(block["id"], block["name"], value, {KIND: extra} if extra else None)


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")
