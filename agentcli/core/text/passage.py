"""Passages: texts of a session that can be recalled, with their place in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

from agentcli.core.codec.encode import dumps
from agentcli.core.dataclass import dataclass
from agentcli.core.message import File, Message, Part, Text, ToolCall, ToolResult
from agentcli.core.record import Body, Compaction, InnerCall, Record
from agentcli.core.text.terminal import shown

PassageRole = Literal["user", "assistant", "input", "output", "summary"]
"""The speaker, the input or output of a call, or the summary of a compaction."""

STRUCK, LEFT, NOTES = "struck ", "left out ", "; "
"""How the notes of a compaction about sentences missing from its summary begin, and the separator of two notes."""

Needles = Sequence[Sequence[str]]
"""Alternatives, each a list of pieces of text that must all occur; none at all: anything may match."""


class OutOfTime(Exception):
    """A search was given up; `seq` is the newest record that it has not examined."""

    def __init__(self, seq: int) -> None:
        super().__init__(f"record {seq} and those before it were not searched")
        self.seq = seq


@dataclass(frozen=True, slots=True)
class Entry:
    """A record with its turn."""

    record: Record
    turn: int


@dataclass(frozen=True, slots=True)
class Mark:
    """A record with texts, from the index."""

    seq: int
    turn: int
    held: int
    """The search terms that it may contain, as bits."""
    size: int
    """Size of its texts, in pieces of text that occur once in the record. Repeated text counts once."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A whole text of a session. `call_id`, `name`, `title` and `status` describe its call, if it belongs to one."""

    seq: int
    turn: int
    role: PassageRole
    text: str
    call_id: str = ""
    name: str = ""
    title: str = ""
    status: str = ""
    has_numbers: bool = False
    """True if its lines begin with their line numbers in a file."""


def passages(entry: Entry, whole: Callable[[str], str]) -> Iterator[Passage]:
    """Yield the passages of a record in order. `whole` returns a saved output by its path, or an empty text.

    Thoughts and images are left out.
    """
    seq, turn = entry.record.seq, entry.turn
    match entry.record.body:
        case Message(role, parts):
            yield from (Passage(seq, turn, role, text) for text in _texts(parts))
            for kept in _large_inputs(parts):
                if text := whole(f"{kept}.txt"):
                    yield Passage(seq, turn, role, text, kept, "input", "large input", "success")
            for part in parts:
                if isinstance(part, ToolCall):
                    yield Passage(seq, turn, "input", input_text(part.input), part.call_id, part.name)
        case ToolResult() as result:
            yield _output(entry, result, whole)
        case InnerCall(_, call, result):
            yield _output(entry, result, whole)
            yield Passage(seq, turn, "input", input_text(call.input), call.call_id, call.name)
        case Compaction(status="compressed", snapshot=snapshot, note=note) if snapshot:
            yield Passage(seq, turn, "summary", snapshot)
            if lines := [each for each in note.split(NOTES) if each.startswith((STRUCK, LEFT))]:
                yield Passage(seq, turn, "summary", "\n".join(("Not in the summary:", *lines)))
        case _:
            return


def call_ids(body: Body) -> tuple[str, ...]:
    """Return the ids by which a record's passages can be requested."""
    match body:
        case Message(_, parts):
            calls = (part.call_id for part in parts if isinstance(part, ToolCall))
            return (*_large_inputs(parts), *calls)
        case ToolResult(call_id) | InnerCall(call=ToolCall(call_id)):
            return (call_id,)
        case _:
            return ()


def folded(text: str) -> str:
    """Return the text for comparison ignoring case; letters that regular expressions treat as equal become equal."""
    return text.replace("İ", "i").replace("ı", "i").casefold()


def input_text(given: Mapping[str, Any]) -> str:
    """Return the input of a call as text: a line for each short field; longer texts unchanged, below their name."""
    lines = []
    for name, value in given.items():
        text = value if isinstance(value, str) else dumps(value)
        lines.append(f"{name}:\n{text}" if "\n" in text else f"{name}: {text}")
    return "\n".join(lines)


def _output(entry: Entry, result: ToolResult, whole: Callable[[str], str]) -> Passage:
    seq, turn = entry.record.seq, entry.turn
    text = (shown(whole(result.output_file)) if result.output_file else "") or result.output
    numbers = "lines" in result.metadata and _NUMBERED.match(text) is not None
    return Passage(seq, turn, "output", text, result.call_id, result.name, result.title, result.status, numbers)


def _texts(parts: Sequence[Part]) -> Iterator[str]:
    for part in parts:
        match part:
            case Text(text) if text.strip():
                yield text
            case File(_, path, text):
                yield f"{path}\n{text}"
            case _:
                pass


def _large_inputs(parts: Sequence[Part]) -> tuple[str, ...]:
    """Return the ids of user input that was too large for the window and is stored beside the records."""
    texts = (part.text for part in parts if isinstance(part, Text | File))
    return tuple(dict.fromkeys(found for text in texts for found in _LARGE_INPUT.findall(text[:_NOTICE])))


_NUMBERED = re.compile(r" *\d+\t")
_LARGE_INPUT = re.compile(r'recall\(id="(input-\d+-\d+)"\)')
_NOTICE = 2_000
"""Characters at the beginning of a message that contain the notice of a large input."""
