"""The events of a Responses stream, joined into parts that are complete or absent."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from agentcli.core.dataclass import dataclass, replace
from agentcli.core.errors import ModelError
from agentcli.core.event import CallDelta, TextDelta, ThinkingDelta
from agentcli.core.message import SIZE, TYPED, Part, Pieces, Stop, Text, Thinking, ToolCall, Usage
from agentcli.core.model import PartDone, Searched, Source, Stopped, StreamEvent, UsageSeen
from agentcli.providers.arguments import BARE, call_of
from agentcli.providers.http_body import LARGE_REPLY
from agentcli.providers.openai.models import KIND
from agentcli.providers.openai.responses_request import COMPACTED
from agentcli.providers.wire import Ids, sendable, sendable_json, tier, tokens

Json = dict[str, Any]

INCOMPLETE: Mapping[str, Stop] = {"max_output_tokens": "max_tokens", "content_filter": "refusal"}
UNREADABLE = "[Only {} can read this summary. Use recall to find the records behind it.]"
"""Text of a summary for all other models."""
_CHARACTERS = 4
"""Approximate characters of a token of the user's messages that a summary repeats."""
_LONGEST_REASON = 40
"""Maximum characters of a reason that are shown."""
_BEGUN = "in_progress"
_CALLS = ("function_call", "custom_tool_call")
_ENDS = ("response.completed", "response.incomplete", "response.done")
_LONG = 10_000
"""Bytes of a string from which a large event is read without it, if its text is known."""
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)


@dataclass(slots=True)
class _Pending:
    """A part that is held back, or None for an unreadable call, with the `name` of its tool."""

    part: Part | None
    name: str = ""


@dataclass(slots=True)
class _Begun:
    """A call that is streaming, with the id used here."""

    call_id: str
    name: str


class Reply:
    """One streamed reply: `read` each event as `parsed`, then `end`.

    An item counts once it is done. From the first call on, parts are held back until the response is over. Before that,
    the last call may be incomplete.
    """

    def __init__(self, ids: Ids | None = None) -> None:
        self._ids = ids or Ids()
        self._pending: list[_Pending] = []
        self._begun: dict[Any, _Begun] = {}
        self._text = Pieces()
        self._done = 0
        self._calls = False
        self._refused = False
        self._status = ""
        self._reason = ""
        self._searches: list[Json] = []

    def parsed(self, data: bytearray) -> Any:
        """Return an event's JSON. Of a large one, texts that have arrived already are not read again.

        The API repeats a text in up to four events. Raises ValueError or AttributeError if malformed.
        """
        if len(data) < LARGE_REPLY:
            return json.loads(data.decode())
        long = [found.span() for found in _STRING.finditer(data) if found.end() - found.start() > _LONG]
        event = json.loads(_without(long, data).decode())
        kind = str(event.get("type"))
        if kind == "response.output_item.done":
            block = _only_block(event.get("item"))
            if block is not None and len(long) == 1 and _quotes(data, *long[0], self._text):
                data.clear()  # before the text is in memory once more
                block["text"] = self._text.text()
                return event
        elif kind in _ENDS:
            if self._done:
                return event
        elif kind.endswith(".done") and (self._text or self._done):
            return event
        return json.loads(data.decode())

    def read(self, event: Any) -> Iterator[StreamEvent]:
        """Yield the steps of an event.

        Raises KeyError, TypeError, ValueError or AttributeError if malformed.
        """
        match str(event["type"]):
            case "response.output_item.added":
                yield from self._start(event.get("output_index"), event["item"])
            case "response.output_text.delta" | "response.refusal.delta":
                self._text.append(_text(event["delta"]))
                yield TextDelta(event["delta"], self._text)
            case "response.output_text.done" if not (self._text or self._done):  # some servers send no deltas
                self._text.append(_text(event.get("text") or ""))
                yield TextDelta(event.get("text") or "", self._text)
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                yield ThinkingDelta(_text(event["delta"]))
            case "response.reasoning_summary_part.added" if event.get("summary_index"):
                yield ThinkingDelta("\n\n")
            case "response.function_call_arguments.delta" | "response.custom_tool_call_input.delta":
                begun = self._begun.get(event.get("output_index"))
                if begun is not None:
                    yield CallDelta(begun.call_id, begun.name, _text(event["delta"]))
            case "response.output_item.done":
                yield from self._finish(event.get("output_index"), event["item"])
            case kind if kind in _ENDS:
                yield from self._over(kind.rpartition(".")[2], event["response"])
            case _:
                pass

    def close(self) -> None:
        """Do nothing at the server's last line: the final event has come before."""

    @property
    def stopped(self) -> bool:
        """True once the response is over."""
        return bool(self._status)

    def end(self) -> Iterator[StreamEvent]:
        """Yield the remaining steps at the end of the stream.

        Raises ModelError(cause="network") if it was truncated.
        """
        if not self._status:
            raise ModelError("The reply was cut off.", "network", begun=True)
        stop = self._stop
        last = self._pending[-1] if self._pending else None
        if self._status != "completed" and last and (last.part is None or isinstance(last.part, ToolCall)):
            self._pending.pop()
        lost = [held.name for held in self._pending if held.part is None]
        if stop == "tool_use":
            lost += [begun.name for begun in self._begun.values()]
        yield from (PartDone(held.part) for held in self._pending if held.part is not None)
        if self._searches:
            yield _search_report(self._searches)
        if lost:
            yield Stopped("malformed_call", "the input of a tool call was not a JSON object", sendable(lost[0]))
        elif stop == "refusal":
            yield Stopped(stop, self._reason or "the model refused")
        else:
            yield Stopped(stop, "" if stop in ("end_turn", "tool_use", "max_tokens") else self._reason)

    @property
    def _stop(self) -> Stop:
        if self._status == "completed":
            return "tool_use" if self._calls else "refusal" if self._refused else "end_turn"
        return INCOMPLETE.get(self._reason, "error")

    def _start(self, index: Any, item: Json) -> Iterator[StreamEvent]:
        if item["type"] in _CALLS:
            self._calls = True
            begun = self._begun[index] = _Begun(self._ids.fresh(item.get("call_id")), str(item.get("name") or ""))
            yield CallDelta(begun.call_id, begun.name, "")

    def _finish(self, index: Any, item: Json) -> Iterator[StreamEvent]:
        self._done += 1
        match item["type"]:
            case "message":
                self._text = Pieces()
                text, refused = _message(item)
                self._refused = self._refused or refused
                self._searches += _citations(item)
                phase = {KIND: {"phase": item["phase"]}} if isinstance(item.get("phase"), str) else None
                yield from self._add(Text(sendable(text), meta=phase) if text else None)
            case "reasoning":
                raw = {name: value for name, value in item.items() if value is not None and name != "status"}
                yield from self._add(Thinking(sendable(_thoughts(item)), "", {KIND: sendable_json(raw)}))
            case "function_call" | "custom_tool_call":
                self._call(index, item)
            case "web_search_call":
                self._searches.append(item)
            case _:
                pass  # another tool of the vendor's own, which is never requested

    def _add(self, part: Part | None) -> Iterator[StreamEvent]:
        if part is None:
            return
        if self._calls:
            self._pending.append(_Pending(part))
        else:
            yield PartDone(part)

    def _call(self, index: Any, item: Json) -> None:
        """Hold back a call, or the place of a truncated one. Half an input must never look like a whole one."""
        self._calls = True
        begun = self._begun.pop(index, None)
        name = item.get("name")
        call_id = begun.call_id if begun else self._ids.fresh(item.get("call_id"))
        if item["type"] == "custom_tool_call":
            text = json.dumps({BARE: _text(item.get("input") or "")})
        else:
            text = _text(item.get("arguments") or "")
        call = None if item.get("status") in ("incomplete", _BEGUN) else call_of(call_id, name, text)
        if call is None:
            self._pending.append(_Pending(None, str(name or "")))
        elif not self._ids.again(item.get("call_id"), name, call.input):
            self._pending.append(_Pending(call))

    def _over(self, kind: str, response: Json) -> Iterator[StreamEvent]:
        output = response.get("output")
        if not self._done and isinstance(output, list):
            for index, item in enumerate(output):
                yield from self._finish(index, item)
        self._status = "incomplete" if kind == "incomplete" else str(response.get("status") or "completed")
        details = response.get("incomplete_details")
        self._reason = sendable(str(details.get("reason") or ""))[:_LONGEST_REASON] if isinstance(details, dict) else ""
        if isinstance(response.get("usage"), dict):
            yield UsageSeen(replace(to_usage(response["usage"]), tier=tier(response.get("service_tier"))))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("a text field is not text")
    return value


def _without(spans: Iterable[tuple[int, int]], data: bytearray) -> bytearray:
    """Return JSON with empty strings in these places."""
    kept, at = bytearray(), 0
    for start, end in spans:
        kept += data[at:start] + b'""'
        at = end
    return kept + data[at:]


def _only_block(item: Any) -> Json | None:
    """Return the block of a message that has one, without its text; None for any other item."""
    content = item.get("content") if isinstance(item, dict) and item.get("type") == "message" else None
    block = content[0] if isinstance(content, list) and len(content) == 1 else None
    return block if isinstance(block, dict) and (block.get("type"), block.get("text")) == ("output_text", "") else None


def _quotes(data: bytearray, start: int, end: int, text: Pieces) -> bool:
    """Return True if the JSON string in this place is this text, as most servers write it."""
    for in_ascii in (True, False):
        at = start + 1
        for piece in text:
            written = json.dumps(piece, ensure_ascii=in_ascii)[1:-1].encode("utf-8", "surrogatepass")
            if not data.startswith(written, at) or sendable(piece) is not piece:
                break
            at += len(written)
        else:
            if at == end - 1:
                return True
    return False


def _message(item: Json) -> tuple[str, bool]:
    """Return the text of a message, and True if the model refuses in it."""
    texts, refused = [], False
    for block in item.get("content") or []:
        refused = refused or block.get("type") == "refusal"
        texts.append(_text(block.get("refusal" if block.get("type") == "refusal" else "text") or ""))
    return "".join(texts), refused


def _citations(item: Json) -> list[Json]:
    """Return the citations of web pages in a message."""
    notes = [note for block in item.get("content") or [] for note in block.get("annotations") or []]
    return [note for note in notes if isinstance(note, dict) and note.get("type") == "url_citation"]


def _search_report(found: list[Json]) -> Searched:
    """Report searches by their items and by the answer's citations, which have titles.

    Only searches are billed, not opened pages.
    """
    queries: list[str] = []
    pages: dict[str, str] = {}
    count, trouble = 0, ""
    for each in found:
        action = _table(each.get("action"))
        if each["type"] == "url_citation":
            pages[str(each.get("url") or "")] = str(each.get("title") or "")
        elif action.get("type") == "search":
            count += 1
            trouble = "failed" if each.get("status") == "failed" else trouble
            asked = action.get("queries") or [action.get("query")]
            queries += [query for query in asked if isinstance(query, str)]
            for source in action.get("sources") or ():
                pages.setdefault(str(_table(source).get("url") or ""), "")
    sources = tuple(Source(sendable(url), sendable(title)) for url, title in pages.items() if url)
    return Searched(tuple(map(sendable, queries)), sources, count, trouble)


def _thoughts(item: Json) -> str:
    """Return the summary of a reasoning item, or its full text if the server sends it."""
    blocks = item.get("summary") or item.get("content") or []
    return "\n\n".join(_text(block.get("text") or "") for block in blocks)


def to_usage(raw: Mapping[str, Any]) -> Usage:
    """Convert the reported usage; this API counts cache reads and writes inside the input, and reasoning inside the
    output.
    """
    prompt, output = tokens(raw.get("input_tokens")), tokens(raw.get("output_tokens"))
    details, parts = _table(raw.get("input_tokens_details")), _table(raw.get("output_tokens_details"))
    read = min(tokens(details.get("cached_tokens")), prompt)
    written = min(tokens(details.get("cache_write_tokens")), prompt - read)
    return Usage(prompt - read - written, output, min(output, tokens(parts.get("reasoning_tokens"))), read, written)


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def compacted(answer: Any, model: str) -> Iterator[StreamEvent]:
    """Yield the steps of a response of `POST /v1/responses/compact`: all its items, unchanged, begin the next input.

    Raises KeyError, TypeError or ValueError for another form.
    """
    items = answer["output"]
    if not any(item["type"] == "compaction" and item["encrypted_content"] for item in items):
        raise ValueError("the answer has no summary")
    usage = replace(to_usage(_table(answer.get("usage"))), tier=tier(answer.get("service_tier")))
    said = sum(len(json.dumps(item.get("content") or "", ensure_ascii=False)) for item in items)
    own = {KIND: {COMPACTED: sendable_json(items)}, TYPED: {SIZE: usage.output + said // _CHARACTERS}}
    yield PartDone(Text(UNREADABLE.format(model), synthetic=True, source="compactor", meta=own))
    yield UsageSeen(usage)
    yield Stopped("end_turn")
