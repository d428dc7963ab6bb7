"""The chunks of a Gemini stream, joined into parts that are complete or absent."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping
from typing import Any

from agentcli.core.errors import ModelError
from agentcli.core.event import CallDelta, TextDelta, ThinkingDelta
from agentcli.core.message import SIGNATURE, Meta, Part, Pieces, Stop, Text, Thinking, ToolCall, Usage
from agentcli.core.model import PartDone, Searched, Source, Stopped, StreamEvent, UsageSeen
from agentcli.providers.google.models import KIND
from agentcli.providers.wire import Ids, sendable, tier, tokens

STOPS: Mapping[str, Stop] = {
    "STOP": "end_turn",
    "MAX_TOKENS": "max_tokens",
    "MALFORMED_FUNCTION_CALL": "malformed_call",
    "UNEXPECTED_TOOL_CALL": "malformed_call",
    "TOO_MANY_TOOL_CALLS": "malformed_call",
    "MALFORMED_RESPONSE": "malformed_call",
    "CONTINUATION": "pause",
    "RECITATION": "recitation",
    "OTHER": "other",
    # Named by the API, but no state to continue from.
    **dict.fromkeys(("FINISH_REASON_UNSPECIFIED", "NO_IMAGE", "IMAGE_OTHER", "PUP_LIMITED_DISABLED"), "error"),
    **dict.fromkeys(
        ("SAFETY", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "ESCALATION", "MODEL_ARMOR"), "refusal"
    ),
    **dict.fromkeys(("IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION"), "refusal"),
}  # fmt: skip
_LONGEST_REASON = 40
"""Maximum characters of a finish reason that are shown."""
_HEAD = "alformed function call: "
"""End of the text before the call in a finish message."""
_CALLED = re.compile(r"(?:\bdefault_api[.:]|\bcall:)(?:default_api[.:])?(\w+)")
"""A tool's name in a finish message."""


class Reply:
    """One streamed reply: `read` each chunk, then `end`.

    Text of one kind is joined across chunks. A part with a thought signature stays separate, even if it is empty,
    because its signature covers exactly that part. From the first call on, parts are held back until the finish reason
    arrives.
    """

    def __init__(self, ids: Ids | None = None) -> None:
        self._ids = ids or Ids()
        self._run = Pieces()
        self._thought = False
        self._pending: list[Part | None] = []
        self._calls = False
        self._finish = ""
        self._detail = ""
        self._malformed = ""
        self._sent = ""
        self._reported: Any = None
        self._usage: Usage | None = None
        self._grounding: Mapping[str, Any] = {}

    def read(self, chunk: Mapping[str, Any], headers: Mapping[str, str]) -> Iterator[StreamEvent]:
        """Yield the steps of a chunk of a response with these headers.

        Raises TypeError and similar errors if malformed.
        """
        blocked = (chunk.get("promptFeedback") or {}).get("blockReason")
        if blocked is not None:
            self._finish, self._detail = "SAFETY", f"the prompt was blocked: {_name(blocked)}"
        for candidate in (chunk.get("candidates") or [])[:1]:
            for part in (candidate.get("content") or {}).get("parts") or []:
                yield from self._add(part)
            if isinstance(grounding := candidate.get("groundingMetadata"), Mapping):
                self._grounding = {**self._grounding, **grounding}
            if candidate.get("finishReason") is not None:
                self._finish = _name(candidate["finishReason"])
                self._malformed = self._malformed or _tool_named(candidate.get("finishMessage"))
                self._sent = sendable(str(candidate.get("finishMessage") or "")).partition(_HEAD)[2]
        reported = chunk.get("usageMetadata")
        if reported is not None and reported != self._reported:
            self._reported, before, self._usage = reported, self._usage, to_usage(reported, headers)
            if self._usage != before:
                yield UsageSeen(self._usage)

    @property
    def stopped(self) -> bool:
        """True once the finish reason is known."""
        return bool(self._finish)

    def end(self) -> Iterator[StreamEvent]:
        """Yield the remaining steps at the end of the stream.

        Raises ModelError(cause="network") if it was truncated.
        """
        if not self._finish:
            raise ModelError("The reply was cut off.", "network", begun=True)
        if self._finish == "MISSING_THOUGHT_SIGNATURE":
            raise ModelError("A thought signature is missing from the history.", "signature")
        yield from self._flush()
        # A call arrives in one piece, so an unknown finish reason after complete calls is harmless. Some servers invent
        # their own.
        stop = STOPS.get(self._finish, "end_turn" if self._calls else "error")
        if (
            stop == "max_tokens"
            and self._pending
            and (self._pending[-1] is None or isinstance(self._pending[-1], ToolCall))
        ):
            self._pending.pop()
        yield from (PartDone(part) for part in self._pending if part is not None)
        if self._grounding:
            yield _search_report(self._grounding)
        if None in self._pending:
            yield Stopped("malformed_call", "a tool call arrived in part only", self._malformed)
        elif stop == "end_turn" and self._calls:
            yield Stopped("tool_use")
        else:
            said_enough = stop in ("end_turn", "max_tokens", "pause")
            detail = self._detail or ("" if said_enough else self._finish[:_LONGEST_REASON])
            broken = stop == "malformed_call"
            yield Stopped(stop, detail, self._malformed if broken else "", self._sent if broken else "")

    def _add(self, part: Mapping[str, Any]) -> Iterator[StreamEvent]:
        meta, text, call = _meta(part), _string(part, "text"), part.get("functionCall")
        if call is not None:
            yield from self._flush()
            yield from self._call(call, meta)
        elif text is not None:
            thought = bool(part.get("thought"))
            if self._run and (thought != self._thought or meta):
                yield from self._flush()
            self._thought = thought
            self._run.append(text)
            if text:
                yield ThinkingDelta(text) if thought else TextDelta(text, self._run)
            if meta:
                yield from self._flush(meta)

    def _call(self, call: Mapping[str, Any], meta: Meta | None) -> Iterator[StreamEvent]:
        self._calls = True
        given, name, arguments = _string(call, "id"), _string(call, "name"), call.get("args")
        arguments = {} if arguments is None else arguments
        whole = not call.get("willContinue") and not call.get("partialArgs")
        if self._ids.again(given, name, arguments):
            return
        call_id = self._ids.fresh(given)
        if not whole and name is not None:
            self._malformed = name
        from agentcli.providers.arguments import call_of

        self._pending.append(call_of(call_id, name, arguments, meta) if whole else None)
        yield CallDelta(call_id, name or "", "")

    def _flush(self, meta: Meta | None = None) -> Iterator[StreamEvent]:
        """End the current run of text, if there is one; drop it if it is empty and unsigned."""
        text, self._run = self._run.text(), Pieces()
        if not text and not meta:
            return
        part: Part = Thinking(text, "", meta) if self._thought else Text(text, meta=meta)
        if self._calls:
            self._pending.append(part)
        else:
            yield PartDone(part)


def _search_report(grounding: Mapping[str, Any]) -> Searched:
    """Report searches from the metadata of a grounded reply, which lists the pages with the sentences that they
    support.
    """
    queries = [sendable(query) for query in _listed(grounding, "webSearchQueries") if isinstance(query, str)]
    pages = [chunk.get("web") for chunk in _listed(grounding, "groundingChunks") if isinstance(chunk, Mapping)]
    sources = [
        Source(sendable(str(page.get("uri") or "")), sendable(str(page.get("title") or "")))
        for page in pages
        if isinstance(page, Mapping)
    ]
    return Searched(tuple(queries), tuple(sources), len(queries))


def to_usage(raw: Mapping[str, Any], headers: Mapping[str, Any]) -> Usage:
    """Convert the reported usage; this API counts cached tokens inside the prompt, and thoughts outside the candidates.

    A header states the tier, on Vertex AI the type of traffic:
    https://ai.google.dev/gemini-api/docs/priority-inference,
    https://docs.cloud.google.com/vertex-ai/generative-ai/docs/priority-paygo.
    """
    cached, thoughts = tokens(raw.get("cachedContentTokenCount")), tokens(raw.get("thoughtsTokenCount"))
    prompt = tokens(raw.get("promptTokenCount")) + tokens(raw.get("toolUsePromptTokenCount"))
    output = tokens(raw.get("candidatesTokenCount")) + thoughts
    served = tier(headers.get("x-gemini-service-tier"), _tier_of_traffic(raw.get("trafficType")))
    return Usage(max(0, prompt - cached), output, thoughts, cached, tier=served)


def _tier_of_traffic(given: Any) -> str:
    """Return the tier of a type of traffic, such as `flex` for `ON_DEMAND_FLEX`."""
    name = _name(given).lower() if isinstance(given, str) else ""
    return name.removeprefix("on_demand_").removeprefix("traffic_type_")


def _meta(part: Mapping[str, Any]) -> Meta | None:
    """Return a part's signature in its one stored form: servers write base64 in either alphabet."""
    given = part.get("thoughtSignature")
    if not given:
        return None
    signature = given.translate(_STANDARD).rstrip("=")
    signature += "=" * (-len(signature) % 4)
    base64.b64decode(signature, validate=True)
    return {KIND: {SIGNATURE: signature}}


_STANDARD = str.maketrans("-_", "+/")


def _string(holder: Mapping[str, Any], name: str) -> str | None:
    value = holder.get(name)
    if value is not None and not isinstance(value, str):
        raise TypeError(f"{name} is not text")
    return sendable(value) if value else value


def _listed(holder: Mapping[str, Any], name: str) -> list[Any]:
    value = holder.get(name)
    return value if isinstance(value, list) else []


def _tool_named(message: Any) -> str:
    """Return the tool in a finish message about a malformed call, as in `print(default_api.write(…` or `call:write{…`."""
    found = _CALLED.search(message if isinstance(message, str) else "")
    return found[1] if found else ""


def _name(value: Any) -> str:
    """Return the name of a reason, also for lower case."""
    name = sendable(str(value))
    return name.upper() if name.upper() in STOPS else name
