"""Invariants of every request before it is sent; a violation is a bug in the engine, never in the user's session."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal

from agentcli.context.inject import escape
from agentcli.context.repair import can_be_sent, repair
from agentcli.context.view import Block, View, ViewMessage
from agentcli.core.dataclass import dataclass
from agentcli.core.history import common
from agentcli.core.message import Part, Text, Thinking, ToolCall, ToolResult
from agentcli.core.model import MOST_BREAKPOINTS, ModelSpec, Request, RequestMessage
from agentcli.core.record import Compaction, Record, VerbatimText

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
    """Return everything that is wrong with a request made of this view; nothing if it may be sent.

    `tokens` is its counted size and `usable` the allowed one. `former` is an earlier request of the session: system and tools
    must be the same. If messages have `passed` before, only later ones are checked.
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
        """Return the number of leading messages that need no second check: all that passed, if the request begins with them, or none."""
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
    """Return the request in a form that can be sent in spite of these violations, for a user's session.

    Calls and roles are repaired, doubtful thoughts left out, breakpoints given up. Missing content cannot be restored; the
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

    Messages before `start` are valid, and end with the user's; `seen` are the ids of their calls, and later ones are added.
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
    """Check that a snapshot belongs to the newest compaction and comes first, after only the messages that it kept in front."""
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
