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


@dataclass(frozen=True, slots=True)
class Outdated:
    """Why an output is out of date, and since which record."""

    why: str
    since: int


def superseded(view: View) -> dict[str, Outdated]:
    """The outputs that are out of date by call id: a file read or changed again, a listing repeated, tests run again.

    What failed stays of interest, but for a run of tests that was followed by another.
    """
    later = _Later()
    found: dict[str, Outdated] = {}
    for call, result, seq in reversed(list(_answered(view))):
        outdated = later.overtakes(call)
        if outdated and (not result.failed or _key(call) == _TESTS):
            found[call.call_id] = outdated
        later.note(call, result, seq)
    return found


@dataclass(slots=True)
class _Later:
    """What happened after the output that is being looked at: always the soonest, since that is what overtook it."""

    read: dict[str, list[tuple[float, float, int]]] = field(default_factory=dict)
    written: dict[str, int] = field(default_factory=dict)
    repeated: dict[tuple[str, ...], int] = field(default_factory=dict)

    def overtakes(self, call: ToolCall) -> Outdated | None:
        return min(self._overtaking(call), key=lambda found: found.since, default=None)

    def _overtaking(self, call: ToolCall) -> Iterator[Outdated]:
        path, key = _path(call.input), _key(call)
        if call.name in READS and path:
            if path in self.written:
                yield Outdated(f"{path} was changed later", self.written[path])
            first, last = _lines(call.input)
            for start, end, seq in self.read.get(path, ()):
                if start <= first and last <= end:
                    yield Outdated(f"{path} was read again later", seq)
        if key in self.repeated:
            why = "the tests were run again" if key == _TESTS else f"the same {call.name} was repeated"
            yield Outdated(why, self.repeated[key])

    def note(self, call: ToolCall, result: ToolResult, seq: int) -> None:
        key, path = _key(call), _path(call.input)
        if key and result.status in ("success", "error"):
            self.repeated[key] = seq
        if result.failed or not path:
            return
        if call.name in WRITES:
            self.written[path] = seq
        elif call.name in READS:
            self.read.setdefault(path, []).append((*_lines(call.input), seq))


def _answered(view: View) -> Iterator[tuple[ToolCall, ToolResult, int]]:
    calls = {call.call_id: call for message in view.messages for call in message.calls}
    for block in view.blocks:
        if isinstance(block.part, ToolResult) and block.tool_use_id in calls:
            yield calls[block.tool_use_id], block.part, block.seq


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
