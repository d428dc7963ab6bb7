"""Translate the events of a shared session back into the agent's events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agentcli.agent.ports import ApprovalRequest
from agentcli.core.errors import AgentError
from agentcli.core.event import (
    CompactionEnded,
    Event,
    Noticed,
    Pruned,
    Recorded,
    ReplyRestarted,
    Retrying,
    TextDelta,
    ThinkingDelta,
    ToolStarted,
    TurnEnded,
    UsageReported,
)
from agentcli.core.message import Message, ToolCall, ToolResult, Usage
from agentcli.core.record import Body, Record
from agentcli.core.tool import Choice, Question

Json = Mapping[str, Any]


class Heard:
    """Translates events. It tracks the arriving reply, whose last words come only with the whole message."""

    def __init__(self) -> None:
        self.calls: dict[str, ToolCall] = {}
        """Calls without a result."""
        self._text = self._thought = ""
        self._whole = False

    def of(self, event: Json) -> Iterator[Event]:
        """Yield the agent's events for an event; for many there are none."""
        match event["type"]:
            case "message" if event["role"] == "assistant":
                yield from self._said(str(event["text"]), bool(event.get("delta")))
            case "thinking":
                yield from self._thinks(str(event["text"]), bool(event.get("delta")))
            case "restarted":
                yield self._new_reply()
            case "tool_call" | "tool_result" if event.get("within"):
                pass
            case "tool_call":
                self._whole = True
                call = self.calls[event["id"]] = ToolCall(event["id"], event["name"], event["input"])
                yield _recorded(Message("assistant", (call,)))
            case "started":
                if event["id"] in self.calls:
                    yield ToolStarted(self.calls[event["id"]], event["title"])
            case "tool_result":
                self.calls.pop(event["id"], None)
                given = event["status"], event["output"], event["truncated"]
                yield _recorded(ToolResult(event["id"], event["name"], *given))
            case "usage":
                usage = Usage(**{name: event[name] for name in Usage.__slots__ if name in event})
                yield UsageReported(usage, event["cost"], event["context"], event["kind"])
            case "prune":
                yield Pruned(tuple(event["cleared"]), event["tokens"], event["why"])
            case "compaction":
                tokens = event["tokens_before"], event["tokens_after"]
                yield CompactionEnded(event["trigger"], event["status"], event["policy"], *tokens, event["why"])
            case "retry":
                yield Retrying(event["attempt"], event["delay"], event["reason"])
            case "warning":
                yield Noticed(event["message"])
            case "turn_ended":
                yield TurnEnded(event["ending"], error=AgentError(event["error"]) if event["error"] else None)
            case _:
                pass

    def arriving(self, partial: Json) -> Iterator[Event]:
        """Yield the rest of a reply after missed events; `partial` is the part that has arrived."""
        thought, text = str(partial.get("thinking", "")), str(partial.get("text", ""))
        if thought or text:
            yield from self._rest_of_thought(thought)
            yield from self._rest_of_text(text)
        else:
            self._whole = True

    def _said(self, text: str, delta: bool) -> Iterator[Event]:
        if delta:
            yield from self._begun()
            self._text += text
            yield TextDelta(text)
        else:
            yield from self._rest_of_text(text)
            self._whole = True

    def _thinks(self, text: str, delta: bool) -> Iterator[Event]:
        if delta:
            yield from self._begun()
            self._thought += text
            yield ThinkingDelta(text)
        else:
            yield from self._rest_of_thought(text)
            self._whole = True

    def _rest_of_text(self, whole: str) -> Iterator[Event]:
        if not whole.startswith(self._text):
            yield self._new_reply()
        rest, self._text = whole[len(self._text) :], whole
        yield from [TextDelta(rest)] if rest else []

    def _rest_of_thought(self, whole: str) -> Iterator[Event]:
        if not whole.startswith(self._thought):
            yield self._new_reply()
        rest, self._thought = whole[len(self._thought) :], whole
        yield from [ThinkingDelta(rest)] if rest else []

    def _begun(self) -> Iterator[Event]:
        if self._whole:
            yield self._new_reply()

    def _new_reply(self) -> Event:
        self._text = self._thought = ""
        self._whole = False
        return ReplyRestarted()


def asked(question: Json, call: ToolCall | None) -> ApprovalRequest:
    """Return the request of a question about a call; other programs get what a person needs to judge it."""
    call = call or ToolCall(question["call_id"], question["name"], {})
    why = "\n".join(filter(None, (question["description"], question["why"])))
    return ApprovalRequest(call, question["subject"], why, question["preview"], question["kind"])


def questions(question: Json) -> Sequence[Question]:
    """Return the model's questions."""
    return [
        Question(
            each["question"],
            each["header"],
            tuple(Choice(choice["label"], choice["description"]) for choice in each["choices"]),
            each["multiple"],
        )
        for each in question["questions"]
    ]


def _recorded(body: Body) -> Event:
    return Recorded(Record(0, "", "", "", body))
