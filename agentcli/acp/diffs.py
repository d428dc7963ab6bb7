"""Whole texts before and after an edit, as the protocol wants its diffs."""

from __future__ import annotations

import re
from pathlib import Path

from agentcli.core.dataclass import dataclass

TEXT_CHARACTERS = 200_000
"""The longest text of a file that is sent whole; beyond that a diff is sent as text."""
_HEAD = re.compile(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@")
_NO_NEWLINE = "\\ No newline at end of file"


@dataclass(frozen=True, slots=True)
class FileText:
    """The text of a file; None where there is no such file. `usable` is false for what is no text, or too long."""

    text: str | None = None
    usable: bool = True


def text_of(path: Path) -> FileText:
    """The text of a file as it is now."""
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
    """A text, unless it is too long to be sent whole."""
    return FileText(text) if len(text) <= TEXT_CHARACTERS else FileText(usable=False)


def patched(before: str, diff: str) -> str | None:
    """A text with a unified diff applied, line ends as `\\n`; None where the diff does not fit."""
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
    # The last of the lines split at \n stands for the line end before it.
    rest = [] if open_end else old[place:] or [""] * bool(new)
    after = "\n".join([*new, *rest])
    return after if len(after) <= TEXT_CHARACTERS else None
