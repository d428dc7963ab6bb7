"""Which rewind of the conversation `/redo` takes back: decided from the records alone."""

from __future__ import annotations

from collections.abc import Iterable

from agentcli.core.message import Message, ToolResult
from agentcli.core.record import Compaction, Prune, Record, Undo


def rewind_to_redo(newest_first: Iterable[Record]) -> int:
    """The number of the newest rewind that still stands, or 0 where something was said since."""
    taken_back: set[int] = set()
    for record in newest_first:
        match record.body:
            case Undo(seq, "undo"):
                taken_back.add(seq)
            case Undo(_, "rewind") if record.seq not in taken_back:
                return record.seq
            case Message() | ToolResult() | Compaction() | Prune():
                return 0
            case _:
                pass
    return 0
