"""Lines of a unified diff, with their numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

Kind = Literal["-", "+", " ", "gap", "file", ""]
"""Kind of a diff's line: removed, added, context, start of a further hunk, file name, or hidden."""
_NOTHING = "/dev/null"
_HEADERS = ("diff --git", "--- a/", "+++ b/", f"--- {_NOTHING}", f"+++ {_NOTHING}")
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


def parsed(diff: str) -> Iterator[tuple[Kind, int, str]]:
    """Yield each line with its line number: in the old file if removed, else in the new one."""
    old = new = old_left = new_left = 0
    inside, former = False, ""
    for line in diff.split("\n"):
        # While a hunk is incomplete, a line such as `--- a/x` belongs to it: a removed `-- a/x`.
        due = old_left > 0 or new_left > 0
        here = inside and not (not due and (_HUNK.match(line) or line.startswith(_HEADERS)))
        if here and line.startswith("-"):
            yield "-", old, line[1:]
            old, old_left = old + 1, old_left - 1
        elif here and line.startswith("+"):
            yield "+", new, line[1:]
            new, new_left = new + 1, new_left - 1
        elif not due and (mark := _HUNK.match(line)):
            yield "gap" if inside else "", 0, ""
            old, new, inside = int(mark[1]), int(mark[3]), True
            old_left, new_left = int(mark[2] or 1), int(mark[4] or 1)
        elif not here or line.startswith("\\"):
            gone = line == f"+++ {_NOTHING}"
            yield "file", 0, former if gone else line[4:].removeprefix("b/") if line.startswith("+++ ") else ""
            former = line[4:].removeprefix("a/") if line.startswith("--- ") else former
            inside = inside and line.startswith("\\")
        elif line or due:
            yield " ", new, line[1:]
            old, new = old + 1, new + 1
            old_left, new_left = old_left - 1, new_left - 1
        else:
            yield "", 0, ""
