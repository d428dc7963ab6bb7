"""Superseded outputs: old ones that a later call has made out of date."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from agentcli.context.view import View, ViewMessage
from agentcli.core.dataclass import dataclass
from agentcli.core.history import common
from agentcli.core.message import ToolCall, ToolResult
from agentcli.core.tool import UNKNOWN, Traits

_TESTS = ("a test run",)


@dataclass(frozen=True, slots=True)
class Outdated:
    """Reason why an output is out of date, and the seq of the record that made it so."""

    why: str
    since: int


class Supersession:
    """Results and inputs of a view that later calls have made out of date. If a view has grown, only the new messages are read.

    `outputs` are by call id: a file read or changed again, a listing repeated, tests run again. Failed calls stay, except for a run of
    tests with a later run. `edits` are the successful edits whose file was read or edited again later.
    """

    outputs: dict[str, Outdated]
    edits: dict[str, Outdated]
    _messages: tuple[ViewMessage, ...]
    _tools: Mapping[str, Traits]

    def __init__(self) -> None:
        self._begin({})

    def of(self, view: View, tools: Mapping[str, Traits]) -> Supersession:
        """Bring this up to date with a view and return it; `tools` are the traits of all tools."""
        same = common(view.messages, self._messages)
        if same < len(self._messages) or tools is not self._tools:
            self._begin(tools)
            same = 0
        for message in view.messages[same:]:
            for block in message.blocks:
                if isinstance(block.part, ToolCall):
                    self._calls[block.part.call_id] = block.part
                elif isinstance(block.part, ToolResult) and block.tool_use_id in self._calls:
                    self._add(self._calls[block.tool_use_id], block.part, block.seq)
        self._messages = view.messages
        return self

    def _begin(self, tools: Mapping[str, Traits]) -> None:
        self.outputs, self.edits = {}, {}
        self._messages, self._tools = (), tools
        self._calls: dict[str, ToolCall] = {}
        self._reads: dict[str, list[tuple[float, float, str]]] = {}
        self._edited: dict[str, str] = {}
        self._repeatable: dict[tuple[str, ...], list[str]] = {}

    def _add(self, call: ToolCall, result: ToolResult, seq: int) -> None:
        """Add a call: it may supersede calls with the same path or key, and may then be superseded itself."""
        traits = self._tools.get(call.name, UNKNOWN)
        path, key = _path(call.input), _key(call, traits)
        touches = bool(path) and not result.failed and (traits.edits_files or traits.reads_files)
        if touches:
            self._touched(path, call, traits, seq)
        if key and result.status in ("success", "error"):
            why = "the tests were run again" if key == _TESTS else f"the same {call.name} was repeated"
            self._overtaken(self._repeatable.pop(key, ()), why, seq)
        if key and (not result.failed or key == _TESTS):
            self._repeatable.setdefault(key, []).append(call.call_id)

    def _touched(self, path: str, call: ToolCall, traits: Traits, seq: int) -> None:
        """Mark earlier edits and reads of a file as out of date after a call that read or changed it, and remember this call in their place."""
        edit, waiting = self._edited.pop(path, ""), self._reads.pop(path, ())
        if edit:
            self.edits[edit] = Outdated(f"{path} was {'changed' if traits.edits_files else 'read'} again later", seq)
        if traits.edits_files:
            self._edited[path] = call.call_id
            self._overtaken([read for _, _, read in waiting], f"{path} was changed later", seq)
            return
        start, end = _lines(call.input)
        covered = [read for first, last, read in waiting if start <= first and last <= end]
        self._overtaken(covered, f"{path} was read again later", seq)
        still = [read for read in waiting if not (start <= read[0] and read[1] <= end)]
        self._reads[path] = [*still, (start, end, call.call_id)]

    def _overtaken(self, calls: Iterable[str], why: str, seq: int) -> None:
        for call in calls:
            self.outputs.setdefault(call, Outdated(why, seq))


def _path(given: Mapping[str, Any]) -> str:
    path = given.get("file_path") or given.get("path")
    return path if isinstance(path, str) else ""


def _lines(given: Mapping[str, Any]) -> tuple[float, float]:
    """Return the range of lines that a read asks for; without a limit it extends to the end."""
    offset, limit = given.get("offset"), given.get("limit")
    first = float(offset) if isinstance(offset, int | float) else 0.0
    return first, first + float(limit) if isinstance(limit, int | float) else float("inf")


def _key(call: ToolCall, traits: Traits) -> tuple[str, ...]:
    """Return the key that two calls with the same meaning share, or an empty one if a repeated call may mean something else."""
    from agentcli.context.ledger.command_results import is_test_run

    if traits.runs_commands and isinstance(command := traits.subject.of(call.input), str):
        return _TESTS if is_test_run(command) else (call.name, command)
    if traits.searches:
        return (call.name, json.dumps(call.input, sort_keys=True, default=str))
    return ()
