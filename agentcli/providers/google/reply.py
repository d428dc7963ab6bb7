"""The chunks of a Gemini stream, put together into parts that are complete or not there at all."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping
from typing import Any

from agentcli.core.errors import ModelError
from agentcli.core.event import CallDelta, TextDelta, ThinkingDelta
from agentcli.core.message import SIGNATURE, Meta, Part, Stop, Text, Thinking, ToolCall, Usage
from agentcli.core.model import PartDone, Stopped, StreamEvent, UsageSeen
from agentcli.providers.google.models import KIND
from agentcli.providers.wire import Ids, can_run, sendable, sendable_json, tokens

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
    # Named by the API, yet nothing to go on from.
    **dict.fromkeys(("FINISH_REASON_UNSPECIFIED", "NO_IMAGE", "IMAGE_OTHER", "PUP_LIMITED_DISABLED"), "error"),
    **dict.fromkeys(
        ("SAFETY", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "ESCALATION", "MODEL_ARMOR"), "refusal"
    ),
    **dict.fromkeys(("IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION"), "refusal"),
}  # fmt: skip
_LONGEST_REASON = 40
"""Characters shown of a finish reason."""
_CALLED = re.compile(r"(?:\bdefault_api[.:]|\bcall:)(?:default_api[.:])?(\w+)")
"""A tool's name in a finish message. The SDK passes that message on for some platforms only."""


class Reply:
    """One streamed reply: `read` each chunk, then `end`.

    Text of one kind is joined across chunks; a part with a thought signature stays a part of its own, even when it is
    empty, because its signature holds for that very part. From the first call on parts are held back until the finish
    reason is known.
    """

    def __init__(self, ids: Ids | None = None) -> None:
        self._ids = ids or Ids()
        self._run: list[str] = []
        self._thought = False
        self._pending: list[Part | None] = []
        self._calls = False
        self._finish = ""
        self._detail = ""
        self._malformed = ""
        self._usage: Usage | None = None

    def read(self, chunk: Any) -> Iterator[StreamEvent]:
        """Steps of the reply that follow from a chunk (the SDK's GenerateContentResponse)."""
        if chunk.prompt_feedback is not None and chunk.prompt_feedback.block_reason is not None:
            self._finish, self._detail = (
                "SAFETY",
                f"the prompt was blocked: {_name(chunk.prompt_feedback.block_reason)}",
            )
        for candidate in (chunk.candidates or [])[:1]:
            for part in (candidate.content.parts if candidate.content else None) or []:
                yield from self._add(part)
            if candidate.finish_reason is not None:
                self._finish = _name(candidate.finish_reason)
                self._malformed = self._malformed or _tool_named(candidate.finish_message)
        if chunk.usage_metadata is not None and (usage := to_usage(chunk.usage_metadata)) != self._usage:
            self._usage = usage
            yield UsageSeen(usage)

    @property
    def stopped(self) -> bool:
        """True once the finish reason is known."""
        return bool(self._finish)

    def end(self) -> Iterator[StreamEvent]:
        """The remaining steps at the end of the stream. Raises ModelError(cause="network") when it was cut."""
        if not self._finish:
            raise ModelError("The reply was cut off.", "network")
        if self._finish == "MISSING_THOUGHT_SIGNATURE":
            raise ModelError("The provider misses a thought signature in the history.", "signature")
        yield from self._flush()
        # A call arrives in one piece, so an end nobody knows behind whole calls takes nothing from them: some servers make up their own.
        stop = STOPS.get(self._finish, "end_turn" if self._calls else "error")
        if (
            stop == "max_tokens"
            and self._pending
            and (self._pending[-1] is None or isinstance(self._pending[-1], ToolCall))
        ):
            self._pending.pop()
        yield from (PartDone(part) for part in self._pending if part is not None)
        if None in self._pending:
            yield Stopped("malformed_call", "a tool call arrived in part only", self._malformed)
        elif stop == "end_turn" and self._calls:
            yield Stopped("tool_use")
        else:
            said_enough = stop in ("end_turn", "max_tokens", "pause")
            detail = self._detail or ("" if said_enough else self._finish[:_LONGEST_REASON])
            yield Stopped(stop, detail, self._malformed if stop == "malformed_call" else "")

    def _add(self, part: Any) -> Iterator[StreamEvent]:
        meta = _meta(part)
        if part.function_call is not None:
            yield from self._flush()
            yield from self._call(part.function_call, meta)
        elif part.text is not None:
            thought = bool(part.thought)
            if self._run and (thought != self._thought or meta):
                yield from self._flush()
            self._thought = thought
            self._run.append(part.text)
            if part.text:
                yield ThinkingDelta(part.text) if thought else TextDelta(part.text)
            if meta:
                yield from self._flush(meta)

    def _call(self, call: Any, meta: Meta | None) -> Iterator[StreamEvent]:
        self._calls = True
        arguments = {} if call.args is None else call.args
        whole = can_run(call.name, arguments) and not call.will_continue and not call.partial_args
        if self._ids.again(call.id, call.name, arguments):
            return
        call_id = self._ids.fresh(call.id)
        if not whole and isinstance(call.name, str):
            self._malformed = sendable(call.name)
        self._pending.append(ToolCall(call_id, sendable(call.name), sendable_json(arguments), meta) if whole else None)
        yield CallDelta(call_id, call.name or "", "")

    def _flush(self, meta: Meta | None = None) -> Iterator[StreamEvent]:
        """End the present run of text, if there is one; an unsigned empty one says nothing."""
        text, self._run = "".join(self._run), []
        if not text and not meta:
            return
        part: Part = Thinking(text, "", meta) if self._thought else Text(text, meta=meta)
        if self._calls:
            self._pending.append(part)
        else:
            yield PartDone(part)


def to_usage(raw: Any) -> Usage:
    """Usage as reported; this API counts cached tokens inside the prompt, and thoughts outside the candidates."""
    cached = tokens(raw.cached_content_token_count)
    thoughts = tokens(raw.thoughts_token_count)
    prompt = tokens(raw.prompt_token_count) + tokens(raw.tool_use_prompt_token_count)
    return Usage(max(0, prompt - cached), tokens(raw.candidates_token_count) + thoughts, thoughts, cached)


def _meta(part: Any) -> Meta | None:
    if not part.thought_signature:
        return None
    return {KIND: {SIGNATURE: base64.b64encode(part.thought_signature).decode("ascii")}}


def _tool_named(message: Any) -> str:
    """The tool that a finish message about a malformed call names, as in `print(default_api.write(…` or `call:write{…`."""
    found = _CALLED.search(message if isinstance(message, str) else "")
    return found[1] if found else ""


def _name(value: Any) -> str:
    return str(getattr(value, "value", value))
