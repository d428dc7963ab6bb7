"""Non-interactive front end: the answer on stdout as text, one JSON object, or a stream of JSON lines."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import field
from datetime import UTC, datetime
from typing import Any, Literal, TextIO, assert_never

from agentcli.core.codec.encode import usage_to_json
from agentcli.core.dataclass import dataclass
from agentcli.core.errors import INTERRUPTED, TERMINATED, AgentError, HookBlocked, IncompleteReply
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
from agentcli.core.message import Message, Thinking, ToolResult, Usage
from agentcli.core.record import Record
from agentcli.core.sanitise import safe
from agentcli.core.servers import TOOL, effective

Format = Literal["text", "json", "stream-json"]
SCHEMA_VERSION = 1

Json = dict[str, Any]


@dataclass(slots=True)
class Headless:
    """Prints a run's events in one format. `finish` must be called last on every path; it returns the exit code."""

    format: Format
    out: TextIO = field(default_factory=lambda: sys.stdout)
    err: TextIO = field(default_factory=lambda: sys.stderr)
    session_id: str = ""
    _started: float = field(default_factory=time.monotonic)
    _usage: Usage = field(default_factory=Usage)
    _cost: float | None = None
    _turns: int = 0
    _text: str = ""
    _denials: list[Json] = field(default_factory=list)
    _inputs: dict[str, Json] = field(default_factory=dict)

    def begin(self, *, session_id: str, model: str, cwd: str, mode: str, tools: list[str], **more: Any) -> None:
        """Report the start of the run (`init`)."""
        self.session_id = session_id
        head = {"schema_version": SCHEMA_VERSION, "session_id": session_id, "model": model}
        self._line({"type": "init", **head, "cwd": cwd, "mode": mode, "tools": tools, **more})

    def show(self, event: Event) -> None:
        """Handle an event: record it for the result and print it in the format."""
        self._remember(event)
        for line in lines(event):
            self._line(line)
        # Who reads the stream sees all in it; a warning is for whoever looks at the terminal, too.
        if (self.format != "stream-json" or isinstance(event, Warned | Noticed)) and (note := _progress(event)):
            print(safe(note), file=self.err, flush=True)

    def warn(self, message: str) -> None:
        """Print a warning that is not an event of the run."""
        self.show(Warned(message))

    def finish(self, *, error: BaseException | None = None, subtype: str = "", exit_code: int | None = None) -> int:
        """Print the result and return the exit code. `error`: the error that ended the run, if any."""
        code = exit_code if exit_code is not None else _code(error)
        result: Json = {
            "type": "result",
            "status": "success" if code == 0 else "error",
            "subtype": subtype or ("done" if code == 0 else _subtype(error, code)),
            "text": self._text,
            "session_id": self.session_id,
            "turns": self._turns,
            "duration_ms": round((time.monotonic() - self._started) * 1000),
            "usage": usage_to_json(self._usage),
            "cost": self._cost,
            "permission_denials": self._denials,
            "error": str(error) if error is not None else None,
            "exit_code": code,
        }
        match self.format:
            case "text":
                self._finish_text()
            case "json":
                self._write(_stamped(result))
            case "stream-json":
                self._line(result)
        if error is not None:
            print(f"agentcli: {safe(str(error))}", file=self.err, flush=True)
        return code

    def _finish_text(self) -> None:
        if self._text:
            print(safe(self._text) if self.out.isatty() else self._text, file=self.out, flush=True)
        for denial in self._denials:
            print(f"agentcli: denied {denial['name']}: {safe(denial['why'])}", file=self.err, flush=True)

    def _remember(self, event: Event) -> None:
        match event:
            case UsageReported(usage=usage, cost=cost):
                self._usage += usage
                self._cost = self._cost if cost is None else (self._cost or 0.0) + cost
            case Recorded(record=Record(body=Message(role="assistant") as message)):
                self._turns += 1
                self._text = message.text or self._text
                self._inputs |= {call.call_id: dict(call.input) for call in map(effective, message.calls)}
            case PermissionDecided(decision="deny") as denied:
                given = self._inputs.get(denied.call_id, {})
                about = {"id": denied.call_id, "name": denied.name, "input": given}
                self._denials.append({**about, "rule": denied.rule, "why": denied.why})
            case TurnEnded(text=text):
                self._text = text or self._text
            case _:
                pass

    def _line(self, line: Json) -> None:
        if self.format == "stream-json":
            self._write(_stamped(line))

    def _write(self, line: Json) -> None:
        # ASCII only: a line separator or a lone surrogate in a model's text must not break a reader that splits on \n.
        self.out.write(_json(line) + "\n")
        self.out.flush()


def lines(event: Event) -> Iterator[Json]:
    """`stream-json` lines for one event; many events have none."""
    match event:
        case TextDelta(text):
            yield {"type": "message", "role": "assistant", "text": text, "delta": True}
        case ThinkingDelta(text):
            yield {"type": "thinking", "text": text, "delta": True}
        case Recorded(record=record):
            yield from _record_lines(record)
        case PermissionDecided(call_id, name, decision, rule, why):
            yield {"type": "permission", "id": call_id, "name": name, "decision": decision, "rule": rule, "why": why}
        case UsageReported(usage, cost, context, kind):
            yield {"type": "usage", **usage_to_json(usage), "cost": cost, "context": context, "kind": kind}
        case Pruned(call_ids, tokens, why):
            yield {"type": "prune", "cleared": list(call_ids), "tokens": tokens, "why": why}
        case CompactionEnded(trigger, status, policy, before, after, why):
            head = {"type": "compaction", "trigger": trigger, "status": status, "policy": policy}
            yield {**head, "tokens_before": before, "tokens_after": after, "why": why}
        case Retrying(attempt, delay, reason):
            yield {"type": "retry", "attempt": attempt, "delay": delay, "reason": reason}
        case Warned(message) | Noticed(message):
            yield {"type": "warning", "message": message}
        case Waiting(delay, reason):
            yield {"type": "warning", "message": f"Waiting {delay:.2f} s: {reason}"}
        case CallDelta() | ReplyRestarted() | ToolStarted() | ToolProgress() | CompactionStarted() | TurnEnded():
            pass
        case _:
            assert_never(event)


def _record_lines(record: Record) -> Iterator[Json]:
    match record.body:
        case Message(role="user") as message:
            if message.text:
                yield {"type": "message", "role": "user", "text": message.text}
        case Message() as message:
            thoughts = "".join(part.text for part in message.parts if isinstance(part, Thinking))
            if thoughts:
                yield {"type": "thinking", "text": thoughts, "delta": False}
            if message.text:
                yield {"type": "message", "role": "assistant", "text": message.text}
            for call in map(effective, message.calls):
                yield {"type": "tool_call", "id": call.call_id, "name": call.name, "input": dict(call.input)}
        case ToolResult() as result:
            name = result.metadata.get(TOOL) or result.name
            head = {"type": "tool_result", "id": result.call_id, "name": name, "status": result.status}
            yield {**head, "output": result.output, "truncated": result.truncated}
        case _:
            pass


def _progress(event: Event) -> str:
    match event:
        case ToolStarted(title=title):
            return f"· {title}"
        case Warned(message) | Noticed(message):
            return f"agentcli: {message}"
        case Retrying():
            return f"agentcli: {event.text()}"
        case CompactionEnded(why=why):
            return f"agentcli: {why}"
        case Pruned(call_ids, tokens, why):
            return f"agentcli: cleared {len(call_ids)} old calls ({tokens:,} tokens): {why}"
        case Waiting(delay, reason):
            return f"agentcli: waiting {delay:.2f} s: {reason}"
        case _:
            return ""


def _json(line: Json) -> str:
    try:
        return json.dumps(line, allow_nan=False)
    except ValueError:
        return json.dumps(_finite(line))


def _finite(value: Any) -> Any:
    """The value with numbers that JSON lacks (NaN, infinity) as text."""
    match value:
        case float():
            return value if math.isfinite(value) else str(value)
        case dict():
            return {key: _finite(inner) for key, inner in value.items()}
        case list():
            return [_finite(inner) for inner in value]
        case _:
            return value


def _stamped(line: Mapping[str, Any]) -> Json:
    kind = {"type": line["type"], "timestamp": datetime.now(UTC).isoformat().replace("+00:00", "Z")}
    return {**kind, **line}


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
