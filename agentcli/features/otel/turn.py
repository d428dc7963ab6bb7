"""Spans and measurements of one turn, derived from its events: `invoke_agent` with a child for each request, tool and
compaction.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from typing import Any

from agentcli.core.codec.encode import part_to_json
from agentcli.core.dataclass import dataclass
from agentcli.core.errors import ModelError
from agentcli.core.event import (
    CallDelta,
    CompactionEnded,
    CompactionStarted,
    Event,
    PermissionDecided,
    Recorded,
    ReplyRestarted,
    Retrying,
    TextDelta,
    ThinkingDelta,
    ToolProgress,
    ToolStarted,
    TurnEnded,
    UsageReported,
    Waiting,
)
from agentcli.core.message import Message, ToolCall, ToolResult, Usage
from agentcli.core.model import ModelSpec
from agentcli.core.record import Failure
from agentcli.features.otel.instruments import Attributes, Instruments

_FINE = ("done", "interrupted")
"""Endings of a turn that are no errors."""


@dataclass(frozen=True, slots=True)
class Subject:
    """Context of a turn: the session, its agent's name, the current model and its provider, and the surrounding span."""

    conversation: str
    agent: str
    model: Callable[[], ModelSpec]
    provider: Callable[[ModelSpec], str]
    parent: Any = None


class TurnTrace:
    """The open spans of a turn. Times are nanoseconds since the epoch."""

    def __init__(self, instruments: Instruments, subject: Subject, clock: Callable[[], int] = time.time_ns) -> None:
        from opentelemetry.trace import SpanKind, set_span_in_context

        self._to, self._subject, self._clock = instruments, subject, clock
        self._client, self._inner = SpanKind.CLIENT, SpanKind.INTERNAL
        self._begun = self._last = clock()
        self._usage, self._cost = Usage(), 0.0
        self._chat: Any = None
        self._chat_begun = 0
        self._compaction: Any = None
        self._tools: dict[str, Any] = {}
        self._waited: dict[str, float] = {}
        self._ended: TurnEnded | None = None
        about = self._about("invoke_agent")
        self.span = instruments.tracer.start_span(
            f"invoke_agent {subject.agent}",
            context=subject.parent,
            kind=self._inner,
            start_time=self._begun,
            attributes={**about, "gen_ai.agent.name": subject.agent, "gen_ai.conversation.id": subject.conversation},
        )
        self.context = set_span_in_context(self.span)

    def heard(self, event: Event) -> None:
        """Take note of an event."""
        match event:
            case TextDelta() | ThinkingDelta() | CallDelta():
                self._arrives()
                return
            case ToolProgress():
                return
            case Retrying(attempt, delay, reason):
                self._retries(attempt, delay, reason)
            case ReplyRestarted():
                self._request().add_event("reply restarted")
            case Waiting(delay):
                self._request().add_event("wait", {"agentcli.wait.delay": delay})
            case PermissionDecided(call_id, name, _, rule) if rule.startswith("user"):
                waited = self._waited[call_id] = self._since(self._last)
                self._to.approval.record(waited, {"gen_ai.tool.name": name})
            case ToolStarted(call):
                self._tools[call.call_id] = self._tool(call.name, call.call_id, self._clock(), call)
            case CompactionStarted(trigger, policy):
                by = {"agentcli.compaction.trigger": trigger, "agentcli.compaction.policy": policy}
                self._compaction = self._child("compaction", self._inner, self._clock(), by)
            case CompactionEnded():
                self._compacted(event)
            case UsageReported(usage, cost, _, kind) if kind != "subagent":  # a subagent has a trace of its own
                self._spends(usage, cost, kind)
            case Recorded(record):
                self._recorded(record.body)
                if isinstance(record.body, Failure):
                    return  # a request that failed had begun before
            case TurnEnded():
                self._ended = event
            case _:
                pass
        self._last = self._clock()

    def end(self, error: BaseException | None = None) -> None:
        """End all spans. `error` is what broke the turn off."""
        ended = self._ended
        failed = error or (ended.error if ended is not None else None)
        kind = _kind(failed) if failed is not None else (ended.ending if ended is not None else "interrupted")
        if kind in _FINE:
            kind = ""
        if isinstance(failed, ModelError):
            self._asked()
        if self._chat is not None:
            self._answered(kind or "interrupted")
        for span in (self._compaction, *self._tools.values()):
            if span is not None:
                span.set_status(*_status(kind or "interrupted"))
                span.end(self._clock())
        self._set_usage(self.span, self._usage, self._cost or None)
        if ended is not None:
            self.span.set_attribute("agentcli.turn.ending", ended.ending)
            self.span.set_attributes(self._to.shown("gen_ai.output.messages", _said("assistant", ended.text)))
        self._close(self.span, "invoke_agent", self._begun, kind)

    def _arrives(self) -> None:
        """Begin the span of a reply with its first piece."""
        if self._chat is None:
            self._asked().set_attribute("gen_ai.response.time_to_first_chunk", self._since(self._chat_begun))

    def _retries(self, attempt: int, delay: float, reason: str) -> None:
        about = {"agentcli.retry.attempt": attempt, "agentcli.retry.delay": delay}
        self._request().add_event("retry", {**about, **self._to.shown("agentcli.retry.reason", reason)})
        self._to.retries.add(1, self._about("chat"))

    def _spends(self, usage: Usage, cost: float | None, kind: str) -> None:
        self._usage, self._cost = self._usage + usage, self._cost + (cost or 0.0)
        self._to.spent(usage, cost, self._about("chat", named=kind == "reply") | {"agentcli.request.kind": kind})

    def _recorded(self, body: object) -> None:
        match body:
            case Message(role="assistant") as message:
                span = self._asked()
                if message.usage is not None:
                    self._set_usage(span, message.usage, message.cost)
                span.set_attribute("gen_ai.response.finish_reasons", [message.stop])
                span.set_attributes(self._to.shown("gen_ai.output.messages", _parts(message)))
                self._answered("error" if message.error or message.stop == "error" else "")
            case Failure(usage=usage) if usage.total and self._chat is not None:
                self._set_usage(self._chat, usage, None)
                self._answered("incomplete")
            case Message() as message if message.is_prompt:
                self.span.set_attributes(self._to.shown("gen_ai.input.messages", _parts(message)))
            case ToolResult() as result:
                self._returned(result)
            case _:
                pass

    def _asked(self) -> Any:
        """Return the span of the request; begin it if none is open: the request was sent after the last event."""
        if self._chat is None:
            self._chat_begun = self._last
            about = {
                **self._about("chat"),
                "gen_ai.conversation.id": self._subject.conversation,
                "gen_ai.request.stream": True,
            }
            self._chat = self._child(f"chat {self._subject.model().id}", self._client, self._last, about)
        return self._chat

    def _request(self) -> Any:
        """Return the running request's span: a compaction's, or the reply's."""
        return self._compaction if self._compaction is not None else self._asked()

    def _answered(self, error: str) -> None:
        span, self._chat = self._chat, None
        self._close(span, "chat", self._chat_begun, error)

    def _compacted(self, ended: CompactionEnded) -> None:
        self._to.compactions.add(
            1, {"agentcli.compaction.trigger": ended.trigger, "agentcli.compaction.status": ended.status}
        )
        if self._compaction is not None:
            counts = {"before": ended.tokens_before, "after": ended.tokens_after}
            self._compaction.set_attributes(
                {f"agentcli.compaction.tokens_{name}": count for name, count in counts.items()}
            )
            self._compaction.set_attribute("agentcli.compaction.status", ended.status)
            self._compaction.end(self._clock())
            self._compaction = None

    def _tool(self, name: str, call_id: str, begun: int, call: ToolCall | None) -> Any:
        about = {"gen_ai.tool.name": name, "gen_ai.tool.call.id": call_id, "gen_ai.tool.type": "function"}
        given = self._to.shown(
            "gen_ai.tool.call.arguments", json.dumps(dict(call.input), default=str) if call is not None else ""
        )
        about = {"gen_ai.operation.name": "execute_tool", **about, **given}
        return self._child(f"execute_tool {name}", self._inner, begun, about)

    def _returned(self, result: ToolResult) -> None:
        """End a call's span; one that did not run has a span without length."""
        span = self._tools.pop(result.call_id, None)
        if span is None:
            span = self._tool(result.name, result.call_id, self._clock(), None)
        if result.call_id in self._waited:
            span.set_attribute("agentcli.approval.duration", self._waited.pop(result.call_id))
        span.set_attribute("agentcli.tool.status", result.status)
        span.set_attributes(self._to.shown("gen_ai.tool.call.result", result.output))
        about = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": result.name}
        if result.failed:
            about["error.type"] = result.status
            span.set_attribute("error.type", result.status)
            span.set_status(*_status(result.status))
        span.end(self._clock())
        self._to.duration.record(result.seconds, about)

    def _close(self, span: Any, operation: str, begun: int, error: str) -> None:
        about = self._about(operation) | ({"error.type": error} if error else {})
        if error:
            span.set_attribute("error.type", error)
            span.set_status(*_status(error))
        span.end(self._clock())
        self._to.duration.record(self._since(begun), about)

    def _child(self, name: str, kind: Any, begun: int, about: Attributes) -> Any:
        return self._to.tracer.start_span(name, context=self.context, kind=kind, start_time=begun, attributes=about)

    def _about(self, operation: str, named: bool = True) -> dict[str, Any]:
        model = self._subject.model()
        about = {"gen_ai.operation.name": operation, "gen_ai.provider.name": self._subject.provider(model)}
        return about | ({"gen_ai.request.model": model.id} if named else {})

    def _set_usage(self, span: Any, usage: Usage, cost: float | None) -> None:
        span.set_attributes(
            {
                "gen_ai.usage.input_tokens": usage.prompt,
                "gen_ai.usage.output_tokens": usage.output,
                "gen_ai.usage.cache_read.input_tokens": usage.cache_read,
                "gen_ai.usage.cache_creation.input_tokens": usage.cache_write,
                "gen_ai.usage.reasoning.output_tokens": usage.reasoning,
            }
        )
        if cost is not None:
            span.set_attribute("agentcli.cost", cost)

    def _since(self, moment: int) -> float:
        return max(0, self._clock() - moment) / 1e9


def _kind(error: BaseException) -> str:
    """Return the kind of an error, without anything of its message."""
    return error.cause if isinstance(error, ModelError) else type(error).__name__


def _status(kind: str) -> tuple[Any, str]:
    from opentelemetry.trace import StatusCode

    return StatusCode.ERROR, kind


def _said(role: str, text: str) -> str:
    return json.dumps([{"role": role, "parts": [{"type": "text", "content": text}]}]) if text else ""


def _parts(message: Message) -> str:
    """Return a message as the conventions write it."""
    parts: list[Mapping[str, Any]] = []
    for part in message.parts:
        raw = part_to_json(part)
        match raw["type"]:
            case "text" | "thinking":
                parts.append({"type": "text" if raw["type"] == "text" else "reasoning", "content": raw["text"]})
            case "tool_call":
                parts.append(
                    {"type": "tool_call", "id": raw["call_id"], "name": raw["name"], "arguments": raw["input"]}
                )
            case other:
                parts.append({"type": other})
    return json.dumps([{"role": message.role, "parts": parts}], default=str)
