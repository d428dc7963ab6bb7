"""Unified diffs as numbered, coloured lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from agentcli.core.sanitise import safe
from agentcli.ui.render.cells import chop, clip, expand
from agentcli.ui.render.spans import Run, written
from agentcli.ui.style import Role, Theme

MARGIN = 7
"""Cells before a line's text: its number and its sign."""

_Line = tuple[int, str]
"""A line and its number."""
_Kind = Literal["-", "+", " ", "gap", "file", ""]
"""Kind of a diff's line: removed, added, context, start of a further hunk, file name, or hidden."""
_HEADERS = ("diff --git", "--- a/", "+++ b/")
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


def lines(diff: str, width: int, theme: Theme, named: str = "") -> list[str]:
    """Lines of the diff with their line numbers; removed lines carry their old number.

    Long lines are wrapped, not truncated, for the diff may await approval. A file that `named`
    ends with is not named again.
    """
    return list(_numbered(safe(diff), max(width - MARGIN, 8), theme, named))


def _numbered(diff: str, columns: int, theme: Theme, named: str) -> Iterator[str]:
    removed: list[_Line] = []
    added: list[_Line] = []
    for kind, number, text in _parsed(diff):
        if kind == "+":
            added.append((number, expand(text)))
            continue
        if kind == "-" and not added:
            removed.append((number, expand(text)))
            continue
        yield from _changed(removed, added, columns, theme)
        removed, added = [], []
        match kind:
            case "-":
                removed.append((number, expand(text)))
            case " ":
                for n, row in enumerate(chop(expand(text), columns)):
                    yield theme.paint("dim", f"{number:>5}" if n == 0 else "     ") + f"  {row}".rstrip()
            case "gap":
                yield theme.paint("dim", "     ⋮")
            case "file" if text and not named.endswith(text):
                yield theme.paint("strong", clip(text, columns))
    yield from _changed(removed, added, columns, theme)


def _parsed(diff: str) -> Iterator[tuple[_Kind, int, str]]:
    """Each line with its line number: in the old file if removed, else in the new one."""
    old = new = old_left = new_left = 0
    inside = False
    for line in diff.split("\n"):
        # As long as a hunk has lines to come, a line such as `--- a/x` is one of them: a removed `-- a/x`.
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
            yield "file", 0, line[4:].removeprefix("b/") if line.startswith("+++ ") else ""
            inside = inside and line.startswith("\\")
        elif line or due:
            yield " ", new, line[1:]
            old, new = old + 1, new + 1
            old_left, new_left = old_left - 1, new_left - 1
        else:
            yield "", 0, ""


def _changed(removed: Sequence[_Line], added: Sequence[_Line], columns: int, theme: Theme) -> Iterator[str]:
    """Replaced lines; differences are highlighted within each pair."""
    pairs = len(removed) == len(added)
    for n, (number, text) in enumerate(removed):
        span = _differs(text, added[n][1]) if pairs else (0, 0)
        yield from _rows(f"{number:>5} -", text, columns, "removed", span, theme)
    for n, (number, text) in enumerate(added):
        span = _differs(text, removed[n][1]) if pairs else (0, 0)
        yield from _rows(f"{number:>5} +", text, columns, "added", span, theme)


def _differs(text: str, other: str) -> tuple[int, int]:
    """Span that differs from the other text; empty if they have too little in common."""
    start = _common(text, other)
    end = _common(text[start:][::-1], other[start:][::-1])
    alike = start + end
    blank = not text[:start].strip() and not text[len(text) - end :].strip()
    return (start, len(text) - end) if not blank and 2 * alike >= max(len(text), len(other)) else (0, 0)


def _common(text: str, other: str) -> int:
    """Length of the common prefix."""
    pairs = zip(text, other, strict=False)
    return next((n for n, (one, another) in enumerate(pairs) if one != another), min(len(text), len(other)))


def _rows(margin: str, text: str, columns: int, role: Role, span: tuple[int, int], theme: Theme) -> Iterator[str]:
    at, sgr, strong = 0, theme.sgr(role), theme.sgr("changed")
    for n, row in enumerate(chop(text, columns)):
        lead = margin if n == 0 else " " * MARGIN
        start, end = (min(max(place - at, 0), len(row)) for place in span)
        at += len(row)
        yield written([Run(lead + row[:start], sgr), Run(row[start:end], sgr).also(strong), Run(row[end:], sgr)])
