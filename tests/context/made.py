"""Short ways to write down a session by hand."""

from __future__ import annotations

from typing import Any

from agentcli.core.history import History, fold
from agentcli.core.message import Message, Part, Status, Text, Thinking, ToolCall, ToolResult, Usage
from agentcli.core.record import Body, Record


def records(*bodies: Body) -> list[Record]:
    return [Record(n, f"r{n}", f"2026-01-01T00:00:{n % 60:02}Z", "", body) for n, body in enumerate(bodies, 1)]


def history(*bodies: Body) -> History:
    return fold(records(*bodies))


def prompt(text: str, turn: int = 1, *more: Part) -> Message:
    return Message("user", (*more, Text(text)), turn)


def call(call_id: str, name: str = "read", **given: Any) -> ToolCall:
    return ToolCall(call_id, name, given)


def reply(*parts: Part | str, turn: int = 1, usage: Usage | None = None, model: str = "claude-test") -> Message:
    made = tuple(Text(part) if isinstance(part, str) else part for part in parts)
    calls = any(isinstance(part, ToolCall) for part in made)
    return Message("assistant", made, turn, "anthropic", model, usage, None, "tool_use" if calls else "end_turn")


def result(call_id: str, output: str = "out", name: str = "read", status: Status = "success") -> ToolResult:
    return ToolResult(call_id, name, status, output)


def thought(signature: str = "s") -> Thinking:
    return Thinking("hm", signature)
