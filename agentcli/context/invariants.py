"""Invariants of every request, and the repair that makes any history meet them, whatever interrupted it.

A violation after the repair is a bug in the engine, never in the user's session.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal

from agentcli.context.inject import escape
from agentcli.context.view import Block, View, ViewMessage
from agentcli.core.dataclass import dataclass
from agentcli.core.history import common
from agentcli.core.message import Part, Text, Thinking, ToolCall, ToolResult
from agentcli.core.model import MOST_BREAKPOINTS, ModelSpec, Request, RequestMessage
from agentcli.core.record import Compaction, Record, VerbatimText

INTERRUPTED = "Interrupted before it finished: it may or may not have taken effect. Check before you rely on it."
OUT_OF_SIGHT = "[What was said before is not shown.]"
CONTINUE = "Go on."


def repair(messages: Iterable[RequestMessage], model: ModelSpec) -> tuple[RequestMessage, ...]:
    """Return the messages in a form that this model accepts; valid ones are returned unchanged.

    Thoughts that are unsigned or another model's are dropped, and so are empty parts. Neighbours of one side become one
    message. Every call gets exactly one result, in the order of the calls. An open call gets an error result, and a
    result without its call is dropped. The user speaks first and last.
    """
    return Repairer().repair(tuple(messages), model)


class Repairer:
    """Repair of a session's requests, one after the other.

    Messages that were valid in the previous one are not checked again.
    """

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
        """Return the number of leading messages known to be valid.

        They end before a reply whose calls may still be answered.
        """
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
    """Return True if a model accepts this part of a message.

    It accepts no blank text, nor thoughts that it cannot verify as its own.
    """
    if isinstance(part, Text):
        return bool(part.text.strip()) or (part.meta is not None and model.kind in part.meta)
    if isinstance(part, Thinking):
        is_own = (message.provider, message.model) == (model.provider, model.id)
        return bool(part.signature or part.meta) and is_own
    return True


def _sendable(message: RequestMessage, model: ModelSpec) -> RequestMessage:
    parts = [part for part in message.parts if can_be_sent(part, message, model)]
    return message if len(parts) == len(message.parts) else replace(message, parts=tuple(parts))


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
    results = tuple([answers.get(call.call_id) or open_result(call) for call in asked])
    if message.parts[: len(given)] == results:
        return message
    return replace(message, parts=(*results, *(part for part in message.parts if not isinstance(part, ToolResult))))


def _calls(message: RequestMessage) -> tuple[ToolCall, ...]:
    return tuple([part for part in message.parts if isinstance(part, ToolCall)])


def _without_repeated_calls(message: RequestMessage, seen: set[str]) -> RequestMessage:
    parts: list[Part | ToolResult] = []
    for part in message.parts:
        if isinstance(part, ToolResult) or (isinstance(part, ToolCall) and part.call_id in seen):
            continue
        if isinstance(part, ToolCall):
            seen.add(part.call_id)
        parts.append(part)
    return message if len(parts) == len(message.parts) else replace(message, parts=tuple(parts))


Invariant = Literal["pairing", "roles", "thinking", "kept", "snapshot", "breakpoints", "size"]


@dataclass(frozen=True, slots=True)
class Violation:
    """A violated invariant and its place."""

    invariant: Invariant
    what: str

    def __str__(self) -> str:
        return f"{self.invariant}: {self.what}"


class Broken(AssertionError):
    """A request that must not be sent; raised in tests."""


def check(
    request: Request,
    view: View,
    *,
    tokens: int | None = None,
    usable: int | None = None,
    former: Request | None = None,
    passed: Passed | None = None,
) -> tuple[Violation, ...]:
    """Return everything that is wrong with a request made from this view; nothing if it may be sent.

    `tokens` is its counted size and `usable` the allowed one. `former` is an earlier request of the session: system and
    tools must be the same. If messages have `passed` before, only later ones are checked.
    """
    passed = passed or Passed()
    start = passed.beginning(request, view)
    found = [
        *_pairing(request.messages, start, passed.called),
        *_roles(request.messages, start),
        *_thinking(request, view, start),
        *(_verbatim(request, view) if not start else ()),
        *_snapshot(view, start),
        *_breakpoints(request),
    ]
    passed.note(request, view, ok=not found)
    if former and (former.system, former.tools) != (request.system, request.tools):
        found.append(Violation("kept", "system or tools differ from the former request"))
    if tokens is not None and usable is not None and tokens > usable:
        found.append(Violation("size", f"{tokens} tokens do not fit into {usable}"))
    return tuple(found)


class Passed:
    """The messages of the newest valid request, each made of the message of the view with the same number."""

    def __init__(self) -> None:
        self.called: set[str] = set()
        """Ids of their calls."""
        self._model: ModelSpec | None = None
        self._compaction: Record | None = None
        self._sent: tuple[RequestMessage, ...] = ()
        self._shown: tuple[ViewMessage, ...] = ()

    def beginning(self, request: Request, view: View) -> int:
        """Return the number of leading messages that need no second check.

        They are all that passed, if the request begins with them, or none.
        """
        count = len(self._sent)
        goes_on = (
            count > 0
            and request.model == self._model
            and view.compaction is self._compaction
            and len(request.messages) == len(view.messages)
            and common(request.messages, self._sent) == common(view.messages, self._shown) == count
        )
        if not goes_on:
            self.called = set()
        return count if goes_on else 0

    def note(self, request: Request, view: View, *, ok: bool) -> None:
        """Remember the checked messages if they are valid."""
        self._model, self._compaction = request.model, view.compaction
        aligned = ok and len(request.messages) == len(view.messages)
        self._sent, self._shown = (request.messages, view.messages) if aligned else ((), ())


def ensure(request: Request, view: View, **more: Any) -> Request:
    """Return the request if nothing is wrong with it, or raise Broken; `more` is passed to `check`."""
    violations = check(request, view, **more)
    if violations:
        raise Broken("; ".join(map(str, violations)))
    return request


def mended(request: Request, violations: Sequence[Violation]) -> Request:
    """Return the request in a form that can be sent despite these violations, for a user's session.

    Calls and roles are repaired, doubtful thoughts and breakpoints dropped. Missing content cannot be restored; the
    violation remains to be reported.
    """
    if not violations:
        return request
    messages = request.messages
    if any(violation.invariant == "thinking" for violation in violations):
        messages = tuple(message.without_thinking for message in messages)
    return replace(request, messages=repair(messages, request.model), breakpoints=())


def _pairing(messages: Sequence[RequestMessage], start: int, seen: set[str]) -> Iterator[Violation]:
    """Check that results are in the message right after their calls, in the same order, one each, and nowhere else.

    Messages before `start` are valid, and end with the user's. `seen` are the ids of their calls; later ones are added.
    """
    asked: list[str] = []
    for number, message in enumerate(messages[start:], start):
        given = [part.call_id for part in message.parts if isinstance(part, ToolResult)]
        if given != asked:
            yield Violation("pairing", f"turn {number} answers {given} where {asked} were asked")
        if any(isinstance(part, ToolResult) for part in message.parts[len(given) :]):
            yield Violation("pairing", f"turn {number} has a result behind other content")
        asked = [part.call_id for part in message.parts if isinstance(part, ToolCall)]
        if seen.intersection(asked) or len(set(asked)) < len(asked):
            yield Violation("pairing", f"turn {number} repeats the id of a call")
        seen.update(asked)
    if asked:
        yield Violation("pairing", f"{asked} are not answered")


def _roles(messages: Sequence[RequestMessage], start: int) -> Iterator[Violation]:
    for number, message in enumerate(messages[start:], start):
        expected = "assistant" if number % 2 else "user"
        if message.role != expected:
            yield Violation("roles", f"turn {number} is the {message.role}'s")
        if not message.parts:
            yield Violation("roles", f"turn {number} is empty")
        if any(isinstance(part, Text) and not part.text.strip() and part.meta is None for part in message.parts):
            yield Violation("roles", f"turn {number} has a blank text")
        if message.role == "user" and any(isinstance(part, ToolCall | Thinking) for part in message.parts):
            yield Violation("roles", f"turn {number} has the user call or think")
    if not messages or messages[-1].role != "user":
        yield Violation("roles", "the request does not end with the user")


def _thinking(request: Request, view: View, start: int) -> Iterator[Violation]:
    """Check that every thought that the model can verify is returned unchanged, and no other."""
    model = request.model
    sent = [part for message in request.messages[start:] for part in message.parts if isinstance(part, Thinking)]
    due: list[Part | ToolResult] = []
    for message in view.messages[start:]:
        origin = RequestMessage(message.role, (), message.provider, message.model)
        blocks = (block for block in message.blocks if not (model.preserved_thinking and view.is_bound(block)))
        thoughts = (block.sent for block in blocks if isinstance(block.sent, Thinking))
        due += [thought for thought in thoughts if can_be_sent(thought, origin, model)]
    if sent != due:
        yield Violation("thinking", f"{len(sent)} thoughts are sent where {len(due)} are due, or they were changed")


def _verbatim(request: Request, view: View) -> Iterator[Violation]:
    """Check that pins, the user's verbatim prompts and the model's newest answer are in the request."""
    body = view.compaction.body if view.compaction else None
    carried: tuple[tuple[str, VerbatimText], ...] = ()
    if isinstance(body, Compaction):
        carried = tuple(("pinned", piece) for piece in body.pins) + tuple(
            ("user_message", piece) for piece in body.user_words
        )
        carried += (("assistant_message", body.answer),) if body.answer else ()
    if not carried:
        return
    there = {block.seq for block in view.blocks}
    texts = "\0".join(part.text for message in request.messages for part in message.parts if isinstance(part, Text))
    for tag, piece in carried:
        if piece.seq not in there and escape(tag, piece.text) not in texts:
            yield Violation("kept", f"the words of record {piece.seq} are gone")


def _snapshot(view: View, start: int) -> Iterator[Violation]:
    """Check that a snapshot belongs to the newest compaction and comes first.

    Only the messages kept in front of it may precede it.
    """
    record = view.compaction
    body = record.body if record else None
    for number, message in enumerate(view.messages[start:], start):
        for block in message.blocks:
            if block.source != "compactor" or isinstance(block.part, ToolResult):
                continue
            if record is None or not isinstance(body, Compaction) or block.seq != record.seq:
                yield Violation("snapshot", f"message {number} holds a summary that is not in force")
            elif any(earlier.seq not in body.kept and earlier.seq != record.seq for earlier in _before(view, number)):
                yield Violation("snapshot", f"message {number} holds a summary behind what was kept")
    if not start and isinstance(body, Compaction) and body.snapshot and not _holds(view, body.snapshot):
        yield Violation("snapshot", "the snapshot is missing")


def _before(view: View, number: int) -> Iterator[Block]:
    return (block for message in view.messages[:number] for block in message.blocks)


def _holds(view: View, text: str) -> bool:
    return any(isinstance(block.part, Text) and block.part.text == text for block in view.blocks)


def _breakpoints(request: Request) -> Iterator[Violation]:
    if len(request.breakpoints) > MOST_BREAKPOINTS:
        yield Violation("breakpoints", f"{len(request.breakpoints)} of at most {MOST_BREAKPOINTS}")
    for place in request.breakpoints:
        inside = place.message == -1 or (
            0 <= place.message < len(request.messages) and -1 <= place.part < len(request.messages[place.message].parts)
        )
        if not inside:
            yield Violation("breakpoints", f"{place} points nowhere")
