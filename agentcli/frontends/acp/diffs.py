"""Whole texts before and after an edit, which is the protocol's form of a diff."""

from __future__ import annotations

import re
from pathlib import Path

from agentcli.core.dataclass import dataclass

TEXT_CHARACTERS = 200_000
"""Maximum characters of a file to send completely; for a longer one a diff is sent as text."""
_HEAD = re.compile(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@")
_NO_NEWLINE = "\\ No newline at end of file"


@dataclass(frozen=True, slots=True)
class FileText:
    """Text of a file; None if there is no such file. `usable` is false if it is not text, or too long."""

    text: str | None = None
    usable: bool = True


def text_of(path: Path) -> FileText:
    """Return the current text of a file."""
    try:
        with path.open("rb") as file:
            data = file.read(4 * TEXT_CHARACTERS + 1)
        text = data.decode()
    except FileNotFoundError:
        return FileText()
    except (OSError, ValueError):
        return FileText(usable=False)
    return usable(text)


def usable(text: str) -> FileText:
    """Return a text, marked as unusable if it is too long to send completely."""
    return FileText(text) if len(text) <= TEXT_CHARACTERS else FileText(usable=False)


def patched(before: str, diff: str) -> str | None:
    """Apply a unified diff to a text, and return it with `\\n` as line end.

    Return None if the diff does not fit.
    """
    old = before.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    new: list[str] = []
    place, open_end, sign = 0, False, ""
    for line in diff.removesuffix("\n").split("\n")[2:]:
        if head := _HEAD.fullmatch(line):
            start = int(head[1]) - (head[2] != "0")
            if not place <= start <= len(old):
                return None
            new += old[place:start]
            place = start
            continue
        if line == _NO_NEWLINE:
            open_end = sign != "-"
            continue
        sign, text = line[:1], line[1:]
        if sign not in ("+", "-", " ") or (sign != "+" and old[place : place + 1] != [text]):
            return None
        place += sign != "+"
        new += [text] * (sign != "-")
    # The empty last line of the split represents the line end before it.
    rest = [] if open_end else old[place:] or [""] * bool(new)
    after = "\n".join([*new, *rest])
    return after if len(after) <= TEXT_CHARACTERS else None
