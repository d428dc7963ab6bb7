"""Builders of messages, results and compactions for test sessions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from agentcli.core.message import Message, Text, ToolCall, ToolResult, Usage
from agentcli.core.record import Compaction


def user(text: str, turn: int = 1) -> Message:
    return Message("user", (Text(text),), turn)


def reply(text: str, *calls: str, turn: int = 1) -> Message:
    parts = (Text(text), *(ToolCall(call, "bash", {"command": f"echo {call}"}) for call in calls))
    usage = Usage(input=10, output=5)
    return Message("assistant", parts, turn, "demo", "scripted", usage, 0.01, "tool_use" if calls else "end_turn")


def result(call: str, output: str = "ok", **metadata: Any) -> ToolResult:
    return ToolResult(call, "bash", "success", output, metadata=metadata)


def compaction(first: int, kept_from: int, **fields: Any) -> Compaction:
    covers = (first, kept_from - 1)
    return Compaction("manual", "compressed", "auto", covers, kept_from, snapshot="what happened", **fields)


def files(session: Path) -> list[str]:
    return sorted(path.name for path in (session / "records").iterdir())


def read(path: Path) -> Any:
    return json.loads(path.read_bytes())
