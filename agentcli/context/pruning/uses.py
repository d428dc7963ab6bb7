"""Uses of what stands in the view: for each piece of an output and each input of an edit, the newest request that used it.

A request uses a piece if a reply, a call or a prompt contains a name or a line of it; of several copies the newest counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from agentcli.context.view import View, ViewMessage
from agentcli.core.dataclass import dataclass
from agentcli.core.history import common
from agentcli.core.message import Text, ToolCall, ToolResult
from agentcli.core.record import Lines
from agentcli.core.tool import UNKNOWN, Traits

PIECE = 1_500
"""Characters of a piece, of whole lines; a longer line is a piece of its own."""


@dataclass(slots=True)
class Piece:
    """Lines `first` to `last` of an output, counted from 1; of an input all lines. `used` is the number of replies before its newest use."""

    first: int
    last: int
    characters: int
    used: int


class Uses:
    """The pieces of a view with their newest uses. If a view has grown, only the new messages are read.

    `outputs` are the pieces of each output, `inputs` the input of each edit, by call id; `replies` the number of replies. `failing` is the
    call of the newest run of tests, if it failed.
    """

    outputs: dict[str, list[Piece]]
    inputs: dict[str, Piece]
    replies: int
    failing: str
    _messages: tuple[ViewMessage, ...]
    _tools: Mapping[str, Traits]

    def __init__(self) -> None:
        self._begin({})

    def of(self, view: View, tools: Mapping[str, Traits]) -> Uses:
        """Bring this up to date with a view and return it; `tools` are the traits of all tools."""
        same = common(view.messages, self._messages)
        if same < len(self._messages) or tools is not self._tools:
            self._begin(tools)
            same = 0
        for message in view.messages[same:]:
            self._add(message)
        self._messages = view.messages
        return self

    def age(self, piece: Piece) -> int:
        """Return the number of replies since the newest use of a piece."""
        return self.replies - piece.used

    def pointed_at(self) -> frozenset[int]:
        """Return the identities of the pieces that the open items of the todo list name."""
        named = {key for item in self._todo for key in keys(item)}
        return frozenset(id(self._holders[key]) for key in named if key in self._holders)

    def _begin(self, tools: Mapping[str, Traits]) -> None:
        self.outputs, self.inputs, self.replies, self.failing = {}, {}, 0, ""
        self._messages, self._tools = (), tools
        self._holders: dict[str, Piece] = {}
        self._commands: dict[str, str] = {}
        self._todo: Sequence[str] = ()

    def _add(self, message: ViewMessage) -> None:
        self.replies += message.role == "assistant"
        for block in message.blocks:
            match block.part:
                case Text(text) if block.source in ("assistant", "user"):
                    self._use(keys(text))
                case ToolCall() as call:
                    whole = block.original if isinstance(block.original, ToolCall) else call
                    self._call(whole, is_cleared=block.cleared)
                case ToolResult() as result if block.source == "tool" and not block.cleared:
                    self._result(block.original if isinstance(block.original, ToolResult) else result, block.pieces)

    def _call(self, call: ToolCall, *, is_cleared: bool) -> None:
        traits = self._tools.get(call.name, UNKNOWN)
        found = [key for text in leaves(call.input) for key in keys(text)]
        self._use(found)
        if traits.runs_commands:
            self._commands[call.call_id] = str(traits.subject.of(call.input) or "")
        if (todos := open_items(call)) is not None:
            self._todo = todos
        if traits.edits_files and not is_cleared:
            piece = Piece(1, 1, 0, self.replies)
            self.inputs[call.call_id] = piece
            self._holders |= dict.fromkeys(found, piece)

    def _result(self, whole: ToolResult, shown: Lines) -> None:
        from agentcli.context.ledger.command_results import is_test_run

        command = self._commands.get(whole.call_id)
        if command is not None and is_test_run(command):
            failed = whole.failed or bool(whole.metadata.get("exit_code"))
            self.failing = whole.call_id if failed else ""
        pieces = self.outputs[whole.call_id] = []
        for first, last, characters, held in pieces_of(whole.output):
            if shown and not any(start <= first and last <= end for start, end in shown):
                continue
            piece = Piece(first, last, characters, self.replies)
            pieces.append(piece)
            self._holders |= dict.fromkeys(held, piece)

    def _use(self, found: Iterable[str]) -> None:
        for key in found:
            if (piece := self._holders.get(key)) is not None:
                piece.used = self.replies


def staying(pieces: Iterable[Piece]) -> Lines:
    """Return the lines of these pieces, neighbours joined."""
    joined: list[tuple[int, int]] = []
    for piece in pieces:
        if joined and joined[-1][1] + 1 == piece.first:
            joined[-1] = joined[-1][0], piece.last
        else:
            joined.append((piece.first, piece.last))
    return tuple(joined)


@lru_cache(4_096)
def pieces_of(output: str) -> Sequence[tuple[int, int, int, frozenset[str]]]:
    """Return the pieces of an output: first and last line, characters, and the names and lines in them."""
    found: list[tuple[int, int, int, frozenset[str]]] = []
    lines = output.split("\n")
    start, size = 0, 0
    for number, line in enumerate(lines):
        if size and size + len(line) > PIECE:
            found.append((start + 1, number, size, keys("\n".join(lines[start:number]))))
            start, size = number, 0
        size += len(line) + 1
    found.append((start + 1, len(lines), size, keys("\n".join(lines[start:]))))
    return tuple(found)


def keys(text: str) -> frozenset[str]:
    """Return the names and the long lines of a text, by which a later text uses it."""
    words = set(_WORD.findall(text))
    names = {word for word in words if _SHORTEST <= len(word) <= _LONGEST and _CODE.search(word)}
    lines = (_NUMBER.sub("", line).strip() for line in text.split("\n"))
    return frozenset(names | {line for line in lines if len(line) >= _LINE})


def leaves(value: Any) -> Iterator[str]:
    """Yield all texts in the input of a call."""
    match value:
        case str():
            yield value
        case Mapping():
            for each in value.values():
                yield from leaves(each)
        case list() | tuple():
            for each in value:
                yield from leaves(each)
        case _:
            return


def open_items(call: ToolCall) -> Sequence[str] | None:
    """Return the texts of the open items of a todo list; None for any other call."""
    todos = call.input.get("todos")
    if not isinstance(todos, list | tuple):
        return None
    items = [item for item in todos if isinstance(item, Mapping) and item.get("status") != "completed"]
    return [str(item.get("content") or "") for item in items]


_SHORTEST, _LONGEST, _LINE = 4, 80, 16
"""Characters of a name, at least and at most, and of a line, at least, that tell one piece from another."""
_WORD = re.compile(r"[\w$]+(?:[.-][\w$]+)*")
_CODE = re.compile(r"_|\w\.\w|[a-z][A-Z]|[A-Za-z]\d|\d[A-Za-z]")
"""Sign of a name: an underscore, a dot, an inner capital, or letters with digits."""
_NUMBER = re.compile(r"^\s*\d*[\s:|→+\-]+")
"""Number or sign in front of a line of a listing or a patch."""
