"""Repair of any history for any provider, whatever interrupted it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from agentcli.core.history import common
from agentcli.core.message import Part, Text, Thinking, ToolCall, ToolResult
from agentcli.core.model import ModelSpec, RequestMessage

INTERRUPTED = "Interrupted before it finished: it may or may not have taken effect. Check before you rely on it."
OUT_OF_SIGHT = "[What was said before is not shown.]"
CONTINUE = "Go on."


def repair(messages: Iterable[RequestMessage], model: ModelSpec) -> tuple[RequestMessage, ...]:
    """Return the messages in a form that this model accepts; valid ones are returned unchanged.

    Thoughts that are unsigned or another model's are dropped, and so are empty parts. Neighbours of one side become one
    message. Every call gets exactly one result, in the order of the calls: an open call gets an error result, and a result
    without its call is dropped. The user speaks first and last.
    """
    return Repairer().repair(tuple(messages), model)


class Repairer:
    """Repair of a session's requests, one after the other; messages that were valid in the former one are not checked again."""

    def __init__(self) -> None:
        self._model: ModelSpec | None = None
        self._given: tuple[RequestMessage, ...] = ()
        self._repaired: tuple[RequestMessage, ...] = ()
        self._called: set[str] = set()
        self._start = 0

    def repair(self, messages: tuple[RequestMessage, ...], model: ModelSpec) -> tuple[RequestMessage, ...]:
        """Return the repaired messages: see `repair`."""
        start = self._begin(messages, model)
        sendable = (_sendable(message, model) for message in messages[start:])
        paired = _paired(_merged(message for message in sendable if message.parts), set(self._called))
        settled = [*messages[:start], *_merged(message for message in paired if message.parts)]
        if not settled or settled[0].role == "assistant":
            settled.insert(0, RequestMessage("user", (Text(OUT_OF_SIGHT, True, "compactor"),)))
        if settled[-1].role == "assistant":
            settled.append(RequestMessage("user", (Text(CONTINUE, True, "compactor"),)))
        self._model, self._given, self._repaired = model, messages, tuple(settled)
        return self._repaired

    def _begin(self, messages: Sequence[RequestMessage], model: ModelSpec) -> int:
        """Return the number of leading messages known to be valid, up to a reply whose calls may still be answered."""
        same = common(messages, self._given) if model == self._model else 0
        same = min(same, common(self._given, self._repaired))
        start = next((number for number in range(same - 1, 0, -1) if messages[number].role == "assistant"), 0)
        if start < self._start:
            self._called, self._start = set(), 0
        for message in messages[self._start : start]:
            self._called.update(call.call_id for call in _calls(message))
        self._start = start
        return start


def open_result(call: ToolCall) -> ToolResult:
    """Return the error result of an unanswered call."""
    return ToolResult(call.call_id, call.name, "interrupted", INTERRUPTED)


def can_be_sent(part: Part | ToolResult, message: RequestMessage, model: ModelSpec) -> bool:
    """Return True if a model accepts this part of a message: not a blank text, nor thoughts that it cannot verify as its own."""
    match part:
        case Thinking(_, signature, meta):
            return bool(signature or meta) and (message.provider, message.model) == (model.provider, model.id)
        case Text(text, meta=meta):
            return bool(text.strip()) or (meta is not None and model.kind in meta)
        case _:
            return True


def _sendable(message: RequestMessage, model: ModelSpec) -> RequestMessage:
    parts = tuple([part for part in message.parts if can_be_sent(part, message, model)])
    return message if len(parts) == len(message.parts) else replace(message, parts=parts)


def _merged(messages: Iterable[RequestMessage]) -> list[RequestMessage]:
    merged: list[RequestMessage] = []
    for message in messages:
        last = merged[-1] if merged else None
        # A reply with calls was answered before the next one was made, even if the answer is lost.
        if last and last.role == message.role and not (message.role == "assistant" and _calls(last)):
            speaker = message if message.provider else last
            merged[-1] = RequestMessage(message.role, (*last.parts, *message.parts), speaker.provider, speaker.model)
        else:
            merged.append(message)
    return merged


def _paired(messages: Sequence[RequestMessage], seen: set[str]) -> Iterator[RequestMessage]:
    """Yield messages of alternating roles, with one result for each call and no others; `seen` are the calls before."""
    asked: tuple[ToolCall, ...] = ()
    for message in messages:
        if message.role == "user":
            yield _answering(message, asked)
            asked = ()
            continue
        if asked:
            yield _answering(RequestMessage("user", ()), asked)
        message = _without_repeated_calls(message, seen)
        asked = _calls(message)
        yield message
    if asked:
        yield _answering(RequestMessage("user", ()), asked)


def _answering(message: RequestMessage, asked: Sequence[ToolCall]) -> RequestMessage:
    given = [part for part in message.parts if isinstance(part, ToolResult)]
    if not asked and not given:
        return message
    answers: dict[str, ToolResult] = {}
    for result in given:
        answers.setdefault(result.call_id, result)
    results = tuple(answers.get(call.call_id) or open_result(call) for call in asked)
    if message.parts[: len(given)] == results:
        return message
    return replace(message, parts=(*results, *(part for part in message.parts if not isinstance(part, ToolResult))))


def _calls(message: RequestMessage) -> tuple[ToolCall, ...]:
    return tuple(part for part in message.parts if isinstance(part, ToolCall))


def _without_repeated_calls(message: RequestMessage, seen: set[str]) -> RequestMessage:
    parts: list[Part | ToolResult] = []
    for part in message.parts:
        if isinstance(part, ToolResult) or (isinstance(part, ToolCall) and part.call_id in seen):
            continue
        if isinstance(part, ToolCall):
            seen.add(part.call_id)
        parts.append(part)
    return message if len(parts) == len(message.parts) else replace(message, parts=tuple(parts))
