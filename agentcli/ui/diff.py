"""Unified diffs as numbered, coloured lines."""

from __future__ import annotations

import re
from collections.abc import Iterator

from agentcli.core.sanitise import safe
from agentcli.ui.cells import clip, expand
from agentcli.ui.theme import Theme

_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")


def lines(diff: str, width: int, theme: Theme) -> list[str]:
    """The diff's lines with the numbers that they have in the file; removed lines carry their old number."""
    return [clip(line, width) for line in _numbered(safe(diff), theme)]


def _numbered(diff: str, theme: Theme) -> Iterator[str]:
    old = new = 0
    inside = False
    for line in diff.splitlines():
        if mark := _HUNK.match(line):
            if inside:
                yield theme.paint("dim", "     ⋮")
            old, new, inside = int(mark[1]), int(mark[2]), True
        elif not inside or line.startswith(("diff --git", "--- a/", "+++ b/", "\\")):
            if line.startswith("+++ "):
                yield theme.paint("strong", line[4:].removeprefix("b/"))
            inside = inside and line.startswith("\\")
        elif line.startswith("+"):
            yield theme.paint("added", f"{new:>5} +{expand(line[1:])}")
            new += 1
        elif line.startswith("-"):
            yield theme.paint("removed", f"{old:>5} -{expand(line[1:])}")
            old += 1
        else:
            yield theme.paint("dim", f"{new:>5}") + f"  {expand(line[1:])}"
            old, new = old + 1, new + 1
