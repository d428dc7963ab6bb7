"""Blocks of a growing view: their places and ages as running sums, and those whose content a later call repeats."""

from __future__ import annotations

import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from agentcli.context.cleared import cleared_input, cleared_result, keeps_input
from agentcli.context.settings import PruneSettings
from agentcli.context.tokens.counter import TokenCounter
from agentcli.context.view import Block, View, ViewMessage
from agentcli.core.dataclass import dataclass
from agentcli.core.history import common
from agentcli.core.message import Part, Thinking, ToolCall, ToolResult
from agentcli.core.tool import UNKNOWN, Traits


class ViewBlocks:
    """The blocks of a view, numbered from the oldest. If a view has grown, only the new messages are read."""

    blocks: list[Block]
    standing: list[int]
    """Numbers of outputs that may be cleared and are not."""
    inputs: list[int]
    """Numbers of calls whose input may be cleared."""
    thoughts: list[int]
    """Numbers of thoughts."""
    succeeded: set[str]
    """Ids of successful calls."""
    replies: list[int]
    """Seqs of the model's messages."""
    prompts: list[int]
    """Seqs of the user's messages."""
    seqs: list[int]
    """Seqs of all messages."""
    pinned: list[int]
    """Seqs of pinned blocks."""
    answered: int
    """Number of the block up to which the model has answered."""
    _messages: tuple[ViewMessage, ...]

    def __init__(self) -> None:
        self._begin(())

    def of(self, view: View, counter: TokenCounter, rules: PruneSettings, traits: Mapping[str, Traits]) -> ViewBlocks:
        """Bring these blocks up to date with a view and return them."""
        kind = counter, counter.rule.name, rules, traits
        same = common(view.messages, self._messages)
        if same < len(self._messages) or kind != self._kind:
            self._begin(kind)
            same = 0
        self._counter = counter
        for message in view.messages[same:]:
            for block in message.blocks:
                self._add(block, rules, traits)
        self._messages = view.messages
        return self

    def size(self, number: int) -> int:
        """Return the tokens of a block."""
        rule = self._counter.rule
        return round(self._sizes[number] * rule.rate + rule.per_block)

    def freed(self, number: int) -> int:
        """Return the tokens that are freed if a marker replaces an output or an input."""
        marker, rule = self._markers.get(number), self._counter.rule
        if marker is None:
            marker = self._markers[number] = self._counter.units(_marker(self.blocks[number].part))
        return self.size(number) - round(marker * rule.rate + rule.per_block)

    def start(self, number: int) -> int:
        """Return the tokens of the blocks before a block."""
        return round(self._tokens(self._units[number], number))

    def outcome(self, number: int) -> str:
        """Return the outcome of the command whose output this block is, as `summary_of` does."""
        from agentcli.context.ledger.command_results import summary_of

        if number not in self._outcomes:
            part = self.blocks[number].part
            self._outcomes[number] = summary_of(part.output, failed(part)) if isinstance(part, ToolResult) else ""
        return self._outcomes[number]

    @property
    def thought_tokens(self) -> int:
        """Tokens of all thoughts."""
        return round(self._tokens(self._thought_units, len(self.thoughts)))

    @property
    def clearable_tokens(self) -> int:
        """Tokens of all outputs and inputs that may be cleared and are not."""
        return round(self._tokens(self._clearable_units, len(self.standing) + len(self.inputs)))

    def turns_behind(self, number: int) -> int:
        """Return the number of the user's messages after a block of the model or of a tool."""
        return len(self._opening) - bisect_left(self._opening, number)

    def requests_since(self, seq: int) -> int:
        """Return the number of requests made since a record."""
        return len(self.replies) - bisect_right(self.replies, seq)

    def _begin(self, kind: tuple[object, ...]) -> None:
        self.blocks, self.standing, self.inputs, self.thoughts = [], [], [], []
        self.succeeded, self.replies, self.seqs, self.pinned, self.answered = set(), [], [], [], 0
        self._kind = kind
        self._messages = ()
        self._sizes: list[float] = []
        self._units, self._thought_units, self._clearable_units = [0.0], 0.0, 0.0
        self.prompts, self._opening = [], list[int]()
        self._markers, self._outcomes = dict[int, float](), dict[int, str]()

    def _add(self, block: Block, rules: PruneSettings, traits: Mapping[str, Traits]) -> None:
        number, part, units = len(self.blocks), block.part, self._counter.units(block.part)
        if isinstance(part, ToolResult):
            if clearable(block, rules) and not block.cleared:
                self.standing.append(number)
                self._clearable_units += units
            if completed(block):
                self.succeeded.add(block.tool_use_id)
        elif isinstance(part, ToolCall) and _clearable_input(block, part, rules, traits):
            self.inputs.append(number)
            self._clearable_units += units
        elif isinstance(part, Thinking):
            self.thoughts.append(number)
            self._thought_units += units
        if block.source == "assistant":
            self.answered = number
            _insert(self.replies, block.seq)
        elif block.source == "user" and _insert(self.prompts, block.seq):
            self._opening.append(number)
        _insert(self.seqs, block.seq)
        if block.pinned:
            _insert(self.pinned, block.seq)
        self.blocks.append(block)
        self._sizes.append(units)
        self._units.append(self._units[-1] + units)

    def _tokens(self, units: float, blocks: int) -> float:
        rule = self._counter.rule
        return units * rule.rate + blocks * rule.per_block


def _marker(part: Part | ToolResult) -> ToolCall | ToolResult:
    if isinstance(part, ToolCall):
        return cleared_input(part)
    assert isinstance(part, ToolResult)
    return cleared_result(part.call_id, part.name, part.status)


def clearable(block: Block, rules: PruneSettings) -> bool:
    """Return True if a block is an output that may ever be cleared."""
    part = block.part
    return (
        isinstance(part, ToolResult)
        and not block.pinned
        and block.compactable
        and part.name not in rules.protected_tools
    )


def completed(block: Block) -> bool:
    """Return True if a block is the output of a successful call."""
    return isinstance(block.part, ToolResult) and block.part.status == "success"


def failed(result: ToolResult) -> bool:
    """Return True if a call, or the command that it ran, failed."""
    return result.failed or bool(result.metadata.get("exit_code"))


def _clearable_input(block: Block, call: ToolCall, rules: PruneSettings, traits: Mapping[str, Traits]) -> bool:
    """Return True if this call is an edit whose input may be cleared; a signed one must be sent unchanged."""
    return (
        traits.get(call.name, UNKNOWN).edits_files
        and not (block.pinned or block.cleared or keeps_input(call))
        and call.name not in rules.protected_tools
    )


def _insert(seqs: list[int], seq: int) -> bool:
    """Insert a number into a sorted list; return False if the list has it already."""
    if not seqs or seq > seqs[-1]:  # almost always
        seqs.append(seq)
        return True
    place = bisect_left(seqs, seq)
    if place < len(seqs) and seqs[place] == seq:
        return False
    seqs.insert(place, seq)
    return True


_TESTS = ("a test run",)


@dataclass(frozen=True, slots=True)
class Outdated:
    """Reason why an output is out of date, and the seq of the record that made it so."""

    why: str
    since: int


class Supersession:
    """Results and inputs of a view that later calls have made out of date. If a view has grown, only the new messages are read.

    `outputs` are by call id: a file read or changed again, a listing repeated, tests run again. Failed calls stay, except for a run of
    tests with a later run.
    """

    outputs: dict[str, Outdated]
    _messages: tuple[ViewMessage, ...]
    _tools: Mapping[str, Traits]
    _open: frozenset[str]

    def __init__(self) -> None:
        self._begin({})

    def of(self, view: View, tools: Mapping[str, Traits]) -> Supersession:
        """Bring this up to date with a view and return it; `tools` are the traits of all tools."""
        same = common(view.messages, self._messages)
        if same < len(self._messages) or tools is not self._tools:
            self._begin(tools)
            same = 0
        calls = self._calls
        for message in view.messages[same:]:
            for block in message.blocks:
                part = block.part
                if isinstance(part, ToolCall):
                    calls[part.call_id] = part
                    if "todos" in part.input:
                        self._open = _open_items(part, self._open)
                elif isinstance(part, ToolResult) and block.tool_use_id in calls:
                    self._add(calls[block.tool_use_id], part, block.seq)
        self._messages = view.messages
        return self

    @property
    def pointed_at(self) -> frozenset[str]:
        """Calls that the work in progress needs as they are.

        These are the edits and reads of the file that was changed last. Those of files in open todo items are too, and
        the newest run of tests if it failed.
        """
        paths = (path for path in self._shown if path == self._changed or _name(path) in self._open)
        return frozenset({self._failed, *(call for path in paths for call in self._shown[path])} - {""})

    def _begin(self, tools: Mapping[str, Traits]) -> None:
        self.outputs = {}
        self._messages, self._tools = (), tools
        self._calls: dict[str, ToolCall] = {}
        self._reads: dict[str, Sequence[tuple[float, float, str]]] = {}
        self._shown: dict[str, list[str]] = {}
        self._repeatable: dict[tuple[str, ...], list[str]] = {}
        self._changed, self._failed = "", ""
        self._open = frozenset()

    def _add(self, call: ToolCall, result: ToolResult, seq: int) -> None:
        """Add a call: it may supersede calls with the same path or key, and may then be superseded itself."""
        traits = self._tools.get(call.name, UNKNOWN)
        path, key = _path(call.input), _key(call, traits)
        touches = bool(path) and not result.failed and (traits.edits_files or traits.reads_files)
        if touches:
            self._touched(path, call, traits, seq)
        if not key:
            return
        if key == _TESTS:
            self._failed = call.call_id if failed(result) else ""
        if result.status in ("success", "error"):
            why = "the tests were run again" if key == _TESTS else f"the same {call.name} was repeated"
            self._overtaken(self._repeatable.pop(key, ()), why, seq)
        if not result.failed or key == _TESTS:
            self._repeatable.setdefault(key, []).append(call.call_id)

    def _touched(self, path: str, call: ToolCall, traits: Traits, seq: int) -> None:
        """Mark earlier reads of a file as out of date after this call, which read or changed it.

        An edit changes only a part of what was read: the read still shows the rest.
        """
        waiting, shown = self._reads.pop(path, ()), self._shown.setdefault(path, [])
        if traits.edits_files:
            self._changed = path
            if waiting:
                self._overtaken([read for _, _, read in waiting], f"{path} was changed later", seq)
        else:
            start, end = _lines(call.input)
            covered = {read for first, last, read in waiting if start <= first and last <= end}
            if covered:
                self._overtaken(covered, f"{path} was read again later", seq)
            still = [each for each in waiting if each[2] not in covered]
            self._reads[path] = [*still, (start, end, call.call_id)]
            shown[:] = () if (start, end) == _WHOLE else [each for each in shown if each not in covered]
        shown.append(call.call_id)

    def _overtaken(self, calls: Iterable[str], why: str, seq: int) -> None:
        outdated = Outdated(why, seq)
        for call in calls:
            self.outputs.setdefault(call, outdated)


def _path(given: Mapping[str, Any]) -> str:
    path = given.get("file_path") or given.get("path")
    return path if isinstance(path, str) else ""


_WHOLE = (0.0, float("inf"))
"""Lines of a whole file."""


def _name(path: str) -> str:
    return path.replace("\\", "/").rsplit("/", 1)[-1]


def _open_items(call: ToolCall, known: frozenset[str]) -> frozenset[str]:
    """Return the words of the open todo items that may name files; `known` if this call is no todo list."""
    items = call.input.get("todos")
    if not isinstance(items, list | tuple):
        return known
    texts = (
        str(item.get("content")) for item in items if isinstance(item, Mapping) and item.get("status") != "completed"
    )
    return frozenset(_name(word.rstrip(".:")) for text in texts for word in re.findall(r"[\w./\\-]+", text))


def _lines(given: Mapping[str, Any]) -> tuple[float, float]:
    """Return the range of lines that a read asks for; without a limit it extends to the end."""
    offset, limit = given.get("offset"), given.get("limit")
    if offset is None and limit is None:
        return _WHOLE
    first = float(offset) if isinstance(offset, int | float) else 0.0
    return first, first + float(limit) if isinstance(limit, int | float) else float("inf")


def _key(call: ToolCall, traits: Traits) -> tuple[str, ...]:
    """Return the key that two calls with the same meaning share.

    It is empty if a repeated call may mean something else.
    """
    if traits.runs_commands and isinstance(command := traits.subject.of(call.input), str):
        from agentcli.context.ledger.command_results import is_test_run

        return _TESTS if is_test_run(command) else (call.name, command)
    if traits.searches:
        return (call.name, json.dumps(call.input, sort_keys=True, default=str))
    return ()
