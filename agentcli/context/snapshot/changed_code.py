"""Changed code: the newest edits of a session as the files have them now, for a snapshot."""

from __future__ import annotations

import posixpath
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any

from agentcli.context.snapshot.form import relative
from agentcli.core.dataclass import dataclass
from agentcli.core.message import Message, ToolCall, ToolResult
from agentcli.core.record import Record
from agentcli.core.text.truncate import truncate_middle
from agentcli.core.tool import UNKNOWN, Traits


@dataclass(frozen=True, slots=True)
class Edit:
    """A text that a successful edit put into a file, and the text that it replaced."""

    path: str
    old: str
    new: str
    is_shown: bool = False
    """True if the view shows it without a snapshot."""


def edits(
    entries: Iterable[Record], through: int, tools: Mapping[str, Traits], cwd: str, shown: Container[int] = ()
) -> Sequence[Edit]:
    """Return the successful edits up to a record, oldest first. A file that was written whole is one edit.

    `shown` are the records that the view shows without a snapshot.
    """
    calls: dict[str, ToolCall] = {}
    found: list[Edit] = []
    for record in entries:
        body = record.body
        if isinstance(body, ToolResult):
            if body.call_id in calls and body.status == "success":
                found += _edits_of(calls[body.call_id], cwd, record.seq in shown)
        elif isinstance(body, Message) and record.seq <= through:
            for call in body.calls:
                if tools.get(call.name, UNKNOWN).edits_files:
                    calls[call.call_id] = call
    return found


def changed_paths(made: Sequence[Edit], most: int) -> tuple[str, ...]:
    """Return the paths of the newest edited files, the newest first."""
    return tuple(dict.fromkeys(edit.path for edit in reversed(made)))[:most]


def changed_code(made: Sequence[Edit], texts: Mapping[str, str], characters: int, cwd: str = "") -> str:
    """Return the newest edits that are still in the files, in at most so many characters.

    Each is below its path, relative to `cwd`, and its first line. `texts` has the current texts of files by path. Without it, an edit counts
    until a later one of the file changes its text.
    """
    shown: list[str] = []
    left = characters
    for n in range(len(made) - 1, -1, -1):
        hunk = "" if made[n].is_shown else _hunk(made[n], texts.get(made[n].path), made[n + 1 :], cwd)
        if hunk and hunk not in shown:
            left -= len(hunk) + 1
            if left < 0:
                break
            shown.append(hunk)
    return "\n".join(reversed(shown))


def _edits_of(call: ToolCall, cwd: str, is_shown: bool) -> Iterator[Edit]:
    path = call.input.get("file_path") or call.input.get("path")
    if not isinstance(path, str) or not path:
        return
    place = posixpath.normpath(posixpath.join(cwd, path))
    listed = call.input.get("edits")
    for given in listed if isinstance(listed, list | tuple) else [call.input]:
        if isinstance(given, Mapping):
            old, new = _text(given, "old_string", "oldText"), _text(given, "new_string", "newText", "content")
            yield Edit(place, old, new, is_shown)


def _text(given: Mapping[str, Any], *names: str) -> str:
    return next((value for name in names if isinstance(value := given.get(name), str)), "")


def _hunk(edit: Edit, now: str | None, later: Iterable[Edit], cwd: str) -> str:
    """Return an edit with its place, or an empty text if it is no longer there."""
    new = edit.new.strip("\n")
    if not new.strip():
        return ""
    if now is None:
        again = (other for other in later if other.path == edit.path)
        over = any(not other.old or other.old in new or new in other.old for other in again)
        return "" if over else f"{edit.path}:\n{truncate_middle(new, _LONGEST)}"
    at = now.find(new)
    line = now.count("\n", 0, at) + 1
    return f"{relative(edit.path, cwd)}:{line}:\n{truncate_middle(new, _LONGEST)}" if at >= 0 else ""


_LONGEST = 800
"""Characters of one edit, at most."""
