"""Unified diffs, with the numbers of lines added and deleted."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence

from agentcli.core.dataclass import dataclass
from agentcli.core.sanitise import safe_line

_PATIENCE = 4_000
"""Maximum changed lines for the shortest diff; beyond, the middle is shown as replaced (difflib is quadratic)."""
_CONTEXT = 3
_LARGEST = 200_000
"""Maximum characters of a diff that are kept: it goes into a record and onto the screen."""


@dataclass(frozen=True, slots=True)
class Diff:
    """A unified diff labelled with the file's name for people."""

    text: str
    additions: int
    deletions: int


def unified(before: str, after: str, label: str, created: bool = False) -> Diff:
    """Compare two texts; all line endings count as `\\n`."""
    old, new = _lines(before), _lines(after)
    start = _common(old, new)
    end = _common(old[start:][::-1], new[start:][::-1])
    middle_old, middle_new = old[start : len(old) - end], new[start : len(new) - end]
    if len(middle_old) + len(middle_new) > _PATIENCE:
        hunks = _replaced(old, new, start, end)
    else:
        lead, trail = max(0, start - _CONTEXT), max(0, end - _CONTEXT)
        hunks = _compared(old[lead : len(old) - trail], new[lead : len(new) - trail], lead)
    if not hunks:
        return Diff("", 0, 0)
    label = safe_line(label)  # a name with a newline in it must not look like lines of the file
    name = "/dev/null" if created else f"a/{label}"
    additions = sum(line.startswith("+") for line in hunks)
    deletions = sum(line.startswith("-") for line in hunks)
    return Diff("\n".join([f"--- {name}", f"+++ b/{label}", *_largest(hunks)]) + "\n", additions, deletions)


def changed_ranges(diff: Diff) -> list[tuple[int, int]]:
    """Return the first and last line, in the new text, of each hunk: the changes and the lines around them."""
    heads = re.findall(r"(?m)^@@ -\S+ \+(\d+)(?:,(\d+))? @@$", diff.text)
    spans = ((int(first), int(count or 1)) for first, count in heads)
    return [(first, first + count - 1) for first, count in spans if count]


def _compared(old: Sequence[str], new: Sequence[str], skipped: int) -> list[str]:
    hunks: list[str] = []
    for group in difflib.SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(_CONTEXT):
        first, last = group[0], group[-1]
        hunks.append(_head(first[1] + skipped, last[2] + skipped, first[3] + skipped, last[4] + skipped))
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                hunks += [f" {line}" for line in old[i1:i2]]
            else:
                hunks += [f"-{line}" for line in old[i1:i2]]
                hunks += [f"+{line}" for line in new[j1:j2]]
    return _with_end_marks(hunks)


def _replaced(old: Sequence[str], new: Sequence[str], start: int, end: int) -> list[str]:
    lead, trail = max(0, start - _CONTEXT), min(end, _CONTEXT)
    stop_old, stop_new = len(old) - end, len(new) - end
    hunks = [_head(lead, stop_old + trail, lead, stop_new + trail)]
    hunks += [f" {line}" for line in old[lead:start]]
    hunks += [f"-{line}" for line in old[start:stop_old]]
    hunks += [f"+{line}" for line in new[start:stop_new]]
    hunks += [f" {line}" for line in old[stop_old : stop_old + trail]]
    return _with_end_marks(hunks)


def _largest(lines: list[str]) -> list[str]:
    """Return as many lines as may be kept, and a line that counts the rest."""
    size = 0
    for n, line in enumerate(lines):
        size += len(line) + 1
        if size > _LARGEST:
            return [*lines[:n], f"\\ {len(lines) - n:,} more lines of this diff are left out"]
    return lines


def _head(i1: int, i2: int, j1: int, j2: int) -> str:
    return f"@@ -{_range(i1, i2)} +{_range(j1, j2)} @@"


def _range(start: int, stop: int) -> str:
    length = stop - start
    if length == 1:
        return str(start + 1)
    return f"{start + 1 if length else start},{length}"


def _lines(text: str) -> list[str]:
    """Split a text into lines; the last one carries a mark if no newline follows it."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    last = lines.pop()
    return [*lines, last + "\0"] if last else lines


def _with_end_marks(lines: list[str]) -> list[str]:
    return [line[:-1] + "\n\\ No newline at end of file" if line.endswith("\0") else line for line in lines]


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """Return the length of the common prefix, in lines."""
    for n, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return n
    return min(len(one), len(other))
