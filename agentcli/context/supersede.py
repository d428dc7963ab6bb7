"""Which old outputs say nothing any more, because something later in the session says it better."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from agentcli.context.outcomes import is_test_run
from agentcli.context.view import View
from agentcli.core.message import ToolCall, ToolResult

READS = frozenset({"read"})
WRITES = frozenset({"write", "edit", "multi_edit"})
LISTINGS = frozenset({"list", "glob", "grep"})
_TESTS = ("a test run",)


def superseded(view: View) -> dict[str, str]:
    """Call id → why its output is out of date: a file read or changed again, a listing repeated, tests run again."""
    later = _Later()
    found: dict[str, str] = {}
    for call, result in reversed(list(_answered(view))):
        why = later.overtakes(call)
        if why and not result.failed:
            found[call.call_id] = why
        later.note(call, result)
    return found


@dataclass(slots=True)
class _Later:
    """What happened after the output that is being looked at."""

    read: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    written: set[str] = field(default_factory=set)
    repeated: set[tuple[str, ...]] = field(default_factory=set)

    def overtakes(self, call: ToolCall) -> str:
        path = _path(call.input)
        if call.name in READS and path:
            if path in self.written:
                return f"{path} was changed later"
            first, last = _lines(call.input)
            if any(start <= first and last <= end for start, end in self.read.get(path, ())):
                return f"{path} was read again later"
        key = _key(call)
        if key in self.repeated:
            return "the tests were run again" if key == _TESTS else f"the same {call.name} was repeated"
        return ""

    def note(self, call: ToolCall, result: ToolResult) -> None:
        key, path = _key(call), _path(call.input)
        if key and result.status in ("success", "error"):
            self.repeated.add(key)
        if result.failed or not path:
            return
        if call.name in WRITES:
            self.written.add(path)
        elif call.name in READS:
            self.read.setdefault(path, []).append(_lines(call.input))


def _answered(view: View) -> Iterator[tuple[ToolCall, ToolResult]]:
    calls = {call.call_id: call for message in view.messages for call in message.calls}
    for block in view.blocks:
        if isinstance(block.part, ToolResult) and block.tool_use_id in calls:
            yield calls[block.tool_use_id], block.part


def _path(given: Mapping[str, Any]) -> str:
    path = given.get("file_path") or given.get("path")
    return path if isinstance(path, str) else ""


def _lines(given: Mapping[str, Any]) -> tuple[float, float]:
    """The range of lines that a read asks for; without a limit it goes to the end."""
    offset, limit = given.get("offset"), given.get("limit")
    first = float(offset) if isinstance(offset, int | float) else 0.0
    return first, first + float(limit) if isinstance(limit, int | float) else float("inf")


def _key(call: ToolCall) -> tuple[str, ...]:
    """What makes two calls the same question, or nothing where asking again may mean something else."""
    command = call.input.get("command")
    if call.name == "bash" and isinstance(command, str):
        return _TESTS if is_test_run(command) else ("bash", command)
    if call.name in LISTINGS:
        return (call.name, json.dumps(call.input, sort_keys=True, default=str))
    return ()
