"""Messages of a session that are in force, including those compacted out of the window."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from agentcli.core.dataclass import dataclass, replace
from agentcli.core.history import in_force
from agentcli.core.journal import Journal
from agentcli.core.message import Message, ToolResult
from agentcli.core.record import Checkpoint, Record

LOOKED = 25
"""Records read per message to show: most of a session's records are messages."""


@dataclass(frozen=True, slots=True)
class RewindPoint:
    """A prompt that can be rewound to."""

    seq: int
    """Number of its record."""
    words: str
    """Its text."""
    time: str
    changes: Mapping[str, tuple[int, int]]
    """Lines added to and deleted from each file until the next prompt; zeros for a file that a command changed."""


def rewind_points(journal: Journal) -> list[RewindPoint]:
    """Return the user's prompts with the changes after each, oldest first."""
    points: list[RewindPoint] = []
    for record in in_force(list(journal.records())):
        match record.body:
            case Message(role="user") as prompt if prompt.text.strip():
                points.append(RewindPoint(record.seq, prompt.typed, record.time, {}))
            case ToolResult(metadata=data) if points and isinstance(path := data.get("path"), str):
                added, deleted = (data.get(name) or 0 for name in ("additions", "deletions"))
                before = points[-1].changes.get(path, (0, 0))
                if added or deleted or data.get("created"):
                    changes = {**points[-1].changes, path: (before[0] + added, before[1] + deleted)}
                    points[-1] = replace(points[-1], changes=changes)
            case Checkpoint(data) if points and data.get("cause") == "command":
                known = points[-1].changes
                new = [path for path in _by_command(data) if not any(path.endswith(each) for each in known)]
                points[-1] = replace(points[-1], changes={**known, **dict.fromkeys(new, (0, 0))})
            case _:
                pass
    return points


def _by_command(data: Mapping[str, Any]) -> Iterator[str]:
    """Yield the files that a command changed, without folders and what git ignores."""
    from agentcli.tools.lib.gitignore import is_ignored

    paths = list(map(Path, data.get("before") or ()))
    folders = {folder for path in paths for folder in path.parents}
    return (str(path) for path in paths if path not in folders and not is_ignored(path))


def prompts(journal: Journal) -> list[tuple[int, str]]:
    """Return the user's prompts with their numbers, oldest first."""
    return [(one.seq, one.words) for one in rewind_points(journal)]


def newest_answers(journal: Journal) -> Iterator[str]:
    """Yield the texts of the answers, newest first."""
    for record in reversed(in_force(list(journal.records()))):
        match record.body:
            case Message("assistant") as answer if answer.text.strip():
                yield answer.text
            case _:
                pass


def newest(journal: Journal, count: int) -> Sequence[Record]:
    """Return the last messages and results, oldest first, reading only the session's end."""
    if not count:
        return []
    ending = list(islice(journal.records(newest_first=True), count * LOOKED))[::-1]
    return [record for record in in_force(ending) if isinstance(record.body, Message | ToolResult)][-count:]
