"""Superseded outputs: old ones that a later call has made out of date."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any

from agentcli.context.ledger.command_results import is_test_run
from agentcli.context.view import View
from agentcli.core.dataclass import dataclass
from agentcli.core.message import ToolCall, ToolResult
from agentcli.core.tool import UNKNOWN, Traits

_TESTS = ("a test run",)


@dataclass(frozen=True, slots=True)
class Outdated:
    """Reason why an output is out of date, and the seq since which it is."""

    why: str
    since: int


def superseded(view: View, tools: Mapping[str, Traits]) -> dict[str, Outdated]:
    """The outputs that are out of date by call id: a file read or changed again, a listing repeated, tests run again.

    `tools` are the traits of all tools. Failed calls stay, except for a run of tests that was followed by another.
    """
    later = _Later()
    found: dict[str, Outdated] = {}
    for call, result, seq in reversed(list(_answered(view))):
        traits = tools.get(call.name, UNKNOWN)
        outdated = later.overtakes(call, traits)
        if outdated and (not result.failed or _key(call, traits) == _TESTS):
            found[call.call_id] = outdated
        later.note(call, traits, result, seq)
    return found


def superseded_edits(view: View, tools: Mapping[str, Traits]) -> dict[str, Outdated]:
    """The successful edits whose file was read or edited again since, by call id."""
    since: dict[str, Outdated] = {}
    found: dict[str, Outdated] = {}
    for call, result, seq in reversed(list(_answered(view))):
        traits, path = tools.get(call.name, UNKNOWN), _path(call.input)
        if result.failed or not path or not (traits.reads_files or traits.edits_files):
            continue
        if traits.edits_files and path in since:
            found[call.call_id] = since[path]
        since[path] = Outdated(f"{path} was {'changed' if traits.edits_files else 'read'} again later", seq)
    return found


@dataclass(slots=True)
class _Later:
    """The earliest later event of each kind after an output: the one that superseded it."""

    read: dict[str, list[tuple[float, float, int]]] = field(default_factory=dict)
    written: dict[str, int] = field(default_factory=dict)
    repeated: dict[tuple[str, ...], int] = field(default_factory=dict)

    def overtakes(self, call: ToolCall, traits: Traits) -> Outdated | None:
        return min(self._overtaking(call, traits), key=lambda found: found.since, default=None)

    def _overtaking(self, call: ToolCall, traits: Traits) -> Iterator[Outdated]:
        path, key = _path(call.input), _key(call, traits)
        if traits.reads_files and path:
            if path in self.written:
                yield Outdated(f"{path} was changed later", self.written[path])
            first, last = _lines(call.input)
            for start, end, seq in self.read.get(path, ()):
                if start <= first and last <= end:
                    yield Outdated(f"{path} was read again later", seq)
        if key in self.repeated:
            why = "the tests were run again" if key == _TESTS else f"the same {call.name} was repeated"
            yield Outdated(why, self.repeated[key])

    def note(self, call: ToolCall, traits: Traits, result: ToolResult, seq: int) -> None:
        key, path = _key(call, traits), _path(call.input)
        if key and result.status in ("success", "error"):
            self.repeated[key] = seq
        if result.failed or not path:
            return
        if traits.edits_files:
            self.written[path] = seq
        elif traits.reads_files:
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


def _key(call: ToolCall, traits: Traits) -> tuple[str, ...]:
    """Key by which two calls ask the same, or None where a repeated call may mean something else."""
    if traits.runs_commands and isinstance(command := call.input.get(traits.subject), str):
        return _TESTS if is_test_run(command) else (call.name, command)
    if traits.searches:
        return (call.name, json.dumps(call.input, sort_keys=True, default=str))
    return ()
