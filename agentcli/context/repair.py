"""Make any history acceptable to any provider, whatever interrupted it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from agentcli.core.message import Part, Text, Thinking, ToolCall, ToolResult
from agentcli.core.model import ModelSpec, RequestMessage

INTERRUPTED = "Interrupted before it finished: it may or may not have taken effect. Check before you rely on it."
OUT_OF_SIGHT = "[What was said before is not shown.]"
CONTINUE = "Go on."


def repair(turns: Iterable[RequestMessage], model: ModelSpec) -> tuple[RequestMessage, ...]:
    """The turns as this model takes them; those that are in order come back unchanged.

    Thoughts that are unsigned or another model's are dropped, and so is what says nothing. Neighbours of one side
    become one turn. Every call gets exactly one result, in the order of the calls: one that was left open gets an error
    that says so, and a result without its call goes. The user speaks first and last.
    """
    sendable = (_sendable(turn, model) for turn in turns)
    paired = _paired(_merged(turn for turn in sendable if turn.parts))
    settled = _merged(turn for turn in paired if turn.parts)
    if not settled or settled[0].role == "assistant":
        settled.insert(0, RequestMessage("user", (Text(OUT_OF_SIGHT, True, "compactor"),)))
    if settled[-1].role == "assistant":
        settled.append(RequestMessage("user", (Text(CONTINUE, True, "compactor"),)))
    return tuple(settled)


def open_result(call: ToolCall) -> ToolResult:
    """The answer to a call that nobody answered."""
    return ToolResult(call.call_id, call.name, "interrupted", INTERRUPTED)


def can_be_sent(part: Part | ToolResult, turn: RequestMessage, model: ModelSpec) -> bool:
    """Whether a model takes this part of a turn: not blank words, nor thoughts that it cannot verify as its own."""
    match part:
        case Thinking(_, signature, meta):
            return bool(signature or meta) and (turn.provider, turn.model) == (model.provider, model.id)
        case Text(text, meta=meta):
            return bool(text.strip()) or (meta is not None and model.kind in meta)
        case _:
            return True


def _sendable(turn: RequestMessage, model: ModelSpec) -> RequestMessage:
    parts = tuple([part for part in turn.parts if can_be_sent(part, turn, model)])
    return turn if len(parts) == len(turn.parts) else replace(turn, parts=parts)


def _merged(turns: Iterable[RequestMessage]) -> list[RequestMessage]:
    merged: list[RequestMessage] = []
    for turn in turns:
        last = merged[-1] if merged else None
        # A reply that asked for something was answered before the next one was made, even if the answer is lost.
        if last and last.role == turn.role and not (turn.role == "assistant" and _calls(last)):
            speaker = turn if turn.provider else last
            merged[-1] = RequestMessage(turn.role, (*last.parts, *turn.parts), speaker.provider, speaker.model)
        else:
            merged.append(turn)
    return merged


def _paired(turns: Sequence[RequestMessage]) -> Iterator[RequestMessage]:
    """Turns that alternate, with each call answered once and each answer asked for once."""
    seen: set[str] = set()
    asked: tuple[ToolCall, ...] = ()
    for turn in turns:
        if turn.role == "user":
            yield _answering(turn, asked)
            asked = ()
            continue
        if asked:
            yield _answering(RequestMessage("user", ()), asked)
        turn = _without_repeated_calls(turn, seen)
        asked = _calls(turn)
        yield turn
    if asked:
        yield _answering(RequestMessage("user", ()), asked)


def _answering(turn: RequestMessage, asked: Sequence[ToolCall]) -> RequestMessage:
    given = [part for part in turn.parts if isinstance(part, ToolResult)]
    if not asked and not given:
        return turn
    answers: dict[str, ToolResult] = {}
    for result in given:
        answers.setdefault(result.call_id, result)
    results = tuple(answers.get(call.call_id) or open_result(call) for call in asked)
    if turn.parts[: len(given)] == results:
        return turn
    return replace(turn, parts=(*results, *(part for part in turn.parts if not isinstance(part, ToolResult))))


def _calls(turn: RequestMessage) -> tuple[ToolCall, ...]:
    return tuple(part for part in turn.parts if isinstance(part, ToolCall))


def _without_repeated_calls(turn: RequestMessage, seen: set[str]) -> RequestMessage:
    parts: list[Part | ToolResult] = []
    for part in turn.parts:
        if isinstance(part, ToolResult) or (isinstance(part, ToolCall) and part.call_id in seen):
            continue
        if isinstance(part, ToolCall):
            seen.add(part.call_id)
        parts.append(part)
    return turn if len(parts) == len(turn.parts) else replace(turn, parts=tuple(parts))
