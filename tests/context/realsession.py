"""The recorded session of `../shared/data` as records of ours, for tests that hold the engine to real usage."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from agentcli.core.message import Message, Part, Stop, Text, Thinking, ToolCall, ToolResult, Usage
from agentcli.core.record import Body, Compaction, Record

FILE = Path(__file__).parents[3] / "shared" / "data" / "real-session.jsonl"
_STOPS: dict[str, Stop] = {"stop": "end_turn", "toolUse": "tool_use", "length": "max_tokens", "aborted": "interrupted"}


def records() -> list[Record]:
    """All entries of the session that say something, numbered from 1."""
    made: list[Record] = []
    seqs: dict[int, int] = {}
    turn = 0
    for index, line in enumerate(FILE.read_text(encoding="utf-8").split("\n")):
        if not line:
            continue
        row = json.loads(line)
        turn += row["type"] == "message" and row["message"]["role"] == "user"
        body = _body(row, turn, seqs)
        if body is None:
            continue
        seq = len(made) + 1
        seqs[index] = seq
        made.append(Record(seq, f"r{seq}", row["timestamp"], "", body))
    return made


def _body(row: dict[str, Any], turn: int, seqs: dict[int, int]) -> Body | None:
    if row["type"] == "compaction":
        first = next(seqs[index] for index in range(row["firstKeptEntryIndex"], 10**6) if index in seqs)
        return Compaction("auto", "compressed", "auto", (1, first - 1), first, row["summary"])
    if row["type"] != "message":
        return None
    said = row["message"]
    match said["role"]:
        case "user":
            return Message("user", _parts(said["content"]), turn)
        case "assistant":
            return _reply(said, turn)
        case "toolResult":
            text = "".join(part.get("text", "") for part in said["content"])
            status = "error" if said.get("isError") else "success"
            return ToolResult(said["toolCallId"], said["toolName"], status, text)
        case "bashExecution":
            return Message("user", (Text(f"{said['command']}\n{said['output']}", True, "shell"),), turn)
    return None


def _reply(said: dict[str, Any], turn: int) -> Message:
    raw = said["usage"]
    usage = Usage(raw["input"], raw["output"], 0, raw["cacheRead"], raw["cacheWrite"])
    return Message(
        "assistant",
        _parts(said["content"]),
        turn,
        "anthropic",
        said["model"],
        usage if usage.total else None,
        None,
        _STOPS.get(said["stopReason"], "error"),
    )


def _parts(content: Any) -> tuple[Part, ...]:
    if isinstance(content, str):
        return (Text(content),)
    return tuple(_part(raw) for raw in content)


def _part(raw: dict[str, Any]) -> Part:
    match raw["type"]:
        case "thinking":
            return Thinking(raw["thinking"], raw.get("thinkingSignature") or "")
        case "toolCall":
            return ToolCall(raw["id"], raw["name"], raw["arguments"])
        case _:
            return Text(raw["text"])
