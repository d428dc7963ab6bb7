"""Translate the agent's events into a run's events, and the final result."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import field
from typing import assert_never

from agentcli.core.codec.encode import usage_to_json
from agentcli.core.dataclass import dataclass, replace
from agentcli.core.errors import INTERRUPTED, TERMINATED, AgentError, HookBlocked, IncompleteReply, LimitReached
from agentcli.core.event import (
    CallDelta,
    CompactionEnded,
    CompactionStarted,
    Event,
    Noticed,
    PermissionDecided,
    Pruned,
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
    Warned,
)
from agentcli.core.mcp_servers import TOOL, effective
from agentcli.core.message import Message, Thinking, ToolResult, Usage
from agentcli.core.record import InnerCall, Record
from agentcli.frontends.run.events import (
    AnyEvent,
    CompactionEvent,
    Denial,
    Json,
    MessageEvent,
    PermissionEvent,
    PruneEvent,
    Result,
    RetryEvent,
    ThinkingEvent,
    ToolCallEvent,
    ToolResultEvent,
    UsageEvent,
    WarningEvent,
    now,
)
from agentcli.frontends.run.findings import findings, is_review


def run_events(event: Event) -> Iterator[AnyEvent]:
    """Yield a run's events for one event of the agent; for many there are none."""
    match event:
        case TextDelta(text):
            yield MessageEvent("assistant", text, delta=True)
        case ThinkingDelta(text):
            yield ThinkingEvent(text, delta=True)
        case Recorded(record=record):
            yield from record_events(record)
        case PermissionDecided(call_id, name, decision, rule, why, host):
            yield PermissionEvent(call_id, name, decision, rule, why, host)
        case UsageReported(usage, cost, context, kind):
            yield UsageEvent(**usage_to_json(usage), cost=cost, context=context, kind=kind)
        case Pruned(call_ids, tokens, why):
            yield PruneEvent(call_ids, tokens, why)
        case CompactionEnded(trigger, status, policy, before, after, why):
            yield CompactionEvent(trigger, status, policy, before, after, why)
        case Retrying(attempt, delay, reason):
            yield RetryEvent(attempt, delay, reason)
        case Warned(message) | Noticed(message):
            yield WarningEvent(message)
        case Waiting(delay, reason):
            yield WarningEvent(f"Waiting {delay:.2f} s: {reason}")
        case CallDelta() | ReplyRestarted() | ToolStarted() | ToolProgress() | CompactionStarted() | TurnEnded():
            pass
        case _:
            assert_never(event)


def record_events(record: Record, timestamp: str = "") -> Iterator[AnyEvent]:
    """Yield the events for a record: messages, calls and their results. Their time is now unless `timestamp` is given."""
    at = timestamp or now()
    match record.body:
        case Message(role="user") as message:
            if message.text:
                yield MessageEvent("user", message.text, timestamp=at)
        case Message() as message:
            thoughts = "".join(part.text for part in message.parts if isinstance(part, Thinking))
            if thoughts:
                yield ThinkingEvent(thoughts, timestamp=at)
            if message.text:
                yield MessageEvent("assistant", message.text, timestamp=at)
            for call in map(effective, message.calls):
                yield ToolCallEvent(call.call_id, call.name, dict(call.input), timestamp=at)
        case ToolResult() as result:
            name = str(result.metadata.get(TOOL) or result.name)
            yield ToolResultEvent(result.call_id, name, result.status, result.output, result.truncated, timestamp=at)
        case InnerCall(within, call, result):
            about = (result.status, result.output, result.truncated, within)
            yield ToolCallEvent(call.call_id, call.name, dict(call.input), within, timestamp=at)
            yield ToolResultEvent(call.call_id, call.name, *about, timestamp=at)
        case _:
            pass


@dataclass(slots=True)
class ResultBuilder:
    """Collects the result of a run from its events."""

    session_id: str = ""
    _started: float = field(default_factory=time.monotonic)
    _usage: Usage = field(default_factory=Usage)
    _cost: float | None = None
    _turns: int = 0
    _text: str = ""
    _verified: bool | None = None
    _denials: list[Denial] = field(default_factory=list)
    _is_review: bool = False
    _inputs: dict[str, Json] = field(default_factory=dict)

    def note(self, event: Event) -> None:
        """Take an event of the run."""
        match event:
            case UsageReported(usage=usage, cost=cost):
                self._usage += usage
                self._cost = self._cost if cost is None else (self._cost or 0.0) + cost
            case Recorded(record=Record(body=Message(role="user") as message)):
                self._is_review = self._is_review or is_review(message)
            case Recorded(record=Record(body=Message(role="assistant") as message)):
                self._turns += 1
                self._text = message.text or self._text
                self._inputs |= {call.call_id: dict(call.input) for call in map(effective, message.calls)}
            case Recorded(record=Record(body=ToolResult(call_id))):
                self._inputs.pop(call_id, None)
            case PermissionDecided(decision="deny") as denied:
                given = {"host": denied.host} if denied.host else self._inputs.get(denied.call_id, {})
                denial = Denial(denied.call_id, denied.name, given, denied.rule, denied.why, denied.allow)
                self._denials.append(denial)
            case Recorded(record=Record(body=InnerCall(call=call))):
                # Its decision came before its record.
                self._denials = [
                    replace(each, input=dict(call.input)) if each.id == call.call_id and not each.input else each
                    for each in self._denials
                ]
            case TurnEnded(text=text, verified=verified):
                self._text, self._verified = text or self._text, verified
            case _:
                pass

    def result(self, error: BaseException | None = None, subtype: str = "", exit_code: int | None = None) -> Result:
        """Return the result. `error` is the error that ended the run, if any."""
        code = exit_code if exit_code is not None else _code(error)
        return Result(
            status="success" if code == 0 else "error",
            subtype=subtype or ("done" if code == 0 else _subtype(error, code)),
            text=self._text,
            session_id=self.session_id,
            turns=self._turns,
            duration_ms=round((time.monotonic() - self._started) * 1000),
            usage=self._usage,
            cost=self._cost,
            permission_denials=tuple(self._denials),
            error=str(error) if error is not None else None,
            exit_code=code,
            verified=self._verified,
            findings=findings(self._text) if self._is_review else None,
        )


@dataclass(frozen=True, slots=True)
class Conclusion:
    """How a run has ended, as its result reports it."""

    error: BaseException | None = None
    subtype: str = ""
    exit_code: int | None = None


def conclusion(ended: TurnEnded, seconds: float | None, stopped_by: int) -> Conclusion:
    """Conclude a run from its last turn's end. `seconds` is its time limit.

    `stopped_by` is the exit code of the interruption, 0 if the time limit interrupted it.
    """
    match ended.ending:
        case "done":
            return Conclusion()
        case "interrupted" if not stopped_by:
            return Conclusion(LimitReached(f"The limit of {seconds or 0.0:g} s (--max-time) is reached."))
        case "interrupted":
            return Conclusion(None, "interrupted" if stopped_by == INTERRUPTED else "terminated", stopped_by)
        case "refused":
            return Conclusion(ended.error, "refused")
        case "blocked":
            return Conclusion(ended.error, "hook_blocked")
        case _:
            return Conclusion(ended.error)


def _code(error: BaseException | None) -> int:
    match error:
        case None:
            return 0
        case AgentError():
            return error.exit_code
        case KeyboardInterrupt():
            return INTERRUPTED
        case _:
            return 1


_SUBTYPES = {
    2: "usage",
    41: "credentials",
    42: "input",
    52: "config",
    53: "limit",
    54: "context",
    55: "untrusted",
    65: "schema",
    75: "transient",
    INTERRUPTED: "interrupted",
    TERMINATED: "terminated",
}


def _subtype(error: BaseException | None, code: int) -> str:
    if isinstance(error, IncompleteReply):
        return "incomplete"
    if isinstance(error, HookBlocked):
        return "hook_blocked"
    return _SUBTYPES.get(code, "failed")
