"""Tells a session as records, one line of a test for each thing that happens."""

from __future__ import annotations

from typing import Any

from agentcli.core.message import Message, Part, Status, Text, Thinking, ToolCall, ToolResult, Usage
from agentcli.core.record import Body, Record


class Story:
    """Records of a session that a test makes up."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.turn = 0
        self.calls = 0

    def add(self, body: Body) -> Record:
        seq = len(self.records) + 1
        record = Record(seq, f"r{seq}", "2026-01-01T00:00:00Z", "", body)
        self.records.append(record)
        return record

    def user(self, text: str, *parts: Part) -> Record:
        self.turn += 1
        return self.add(Message("user", (*parts, Text(text)), turn=self.turn))

    def says(self, text: str, *calls: ToolCall, usage: Usage | None = None, thinking: str = "") -> Record:
        parts: list[Part] = [Thinking(thinking, signature="sig")] if thinking else []
        parts += [Text(text)] if text else []
        stop = "tool_use" if calls else "end_turn"
        return self.add(Message("assistant", (*parts, *calls), self.turn, "demo", "demo", usage, None, stop))

    def call(self, name: str, **arguments: Any) -> ToolCall:
        self.calls += 1
        return ToolCall(f"call_{self.calls}", name, arguments)

    def result(self, call: ToolCall, output: str, status: Status = "success", **metadata: Any) -> Record:
        return self.add(ToolResult(call.call_id, call.name, status, output, metadata=metadata))

    def does(
        self,
        name: str,
        output: str = "",
        *,
        status: Status = "success",
        text: str = "",
        meta: Any = None,
        **arguments: Any,
    ) -> ToolCall:
        """One step: the model calls a tool and gets its answer."""
        call = self.call(name, **arguments)
        self.says(text, call)
        self.result(call, output, status, **(meta or {}))
        return call

    def reads(self, path: str, text: str = "one\ntwo\n") -> ToolCall:
        return self.does("read", text, file_path=path)

    def runs(self, command: str, output: str = "", exit_code: int = 0) -> ToolCall:
        status: Status = "error" if exit_code else "success"
        return self.does("bash", output, status=status, command=command, meta={"exit_code": exit_code})

    def edits(self, path: str, old: str = "a", new: str = "b", **meta: Any) -> ToolCall:
        return self.does("edit", "Done.", file_path=path, old_string=old, new_string=new, meta={"path": path, **meta})
