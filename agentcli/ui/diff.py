"""Unified diffs as numbered, coloured lines."""

from __future__ import annotations

import re
from collections.abc import Iterator

from agentcli.core.sanitise import safe
from agentcli.ui.cells import chop, clip, expand
from agentcli.ui.theme import Role, Theme

MARGIN = 7
"""Cells before a line's text: its number and its sign."""

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


def lines(diff: str, width: int, theme: Theme, named: str = "") -> list[str]:
    """The diff's lines with the numbers that they have in the file; removed lines carry their old number.

    Nothing is cut off, for a person may be asked to approve it: what is too long goes on in the next row. A file that `named`
    ends with is not named again.
    """
    return list(_numbered(safe(diff), max(width - MARGIN, 8), theme, named))


def _numbered(diff: str, columns: int, theme: Theme, named: str) -> Iterator[str]:
    old = new = old_left = new_left = 0
    inside = False
    for line in diff.split("\n"):
        # As long as a hunk has lines to come, a line such as `--- a/x` is one of them: a removed `-- a/x`.
        due = old_left > 0 or new_left > 0
        if not due and (mark := _HUNK.match(line)):
            if inside:
                yield theme.paint("dim", "     ⋮")
            old, new, inside = int(mark[1]), int(mark[3]), True
            old_left, new_left = int(mark[2] or 1), int(mark[4] or 1)
        elif not inside or line.startswith("\\") or (not due and line.startswith(("diff --git", "--- a/", "+++ b/"))):
            name = line[4:].removeprefix("b/") if line.startswith("+++ ") else ""
            if name and not named.endswith(name):
                yield theme.paint("strong", clip(name, columns))
            inside = inside and line.startswith("\\")
        elif line.startswith("+"):
            yield from _rows(f"{new:>5} +", line[1:], columns, "added", theme)
            new, new_left = new + 1, new_left - 1
        elif line.startswith("-"):
            yield from _rows(f"{old:>5} -", line[1:], columns, "removed", theme)
            old, old_left = old + 1, old_left - 1
        elif line or due:
            for n, row in enumerate(chop(expand(line[1:]), columns)):
                yield theme.paint("dim", f"{new:>5}" if n == 0 else "     ") + f"  {row}".rstrip()
            old, new = old + 1, new + 1
            old_left, new_left = old_left - 1, new_left - 1


def _rows(margin: str, line: str, columns: int, role: Role, theme: Theme) -> Iterator[str]:
    for n, row in enumerate(chop(expand(line), columns)):
        yield theme.paint(role, (margin if n == 0 else " " * MARGIN) + row)
