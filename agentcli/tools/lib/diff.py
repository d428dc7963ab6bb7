"""Unified diffs, with the numbers of lines added and deleted."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence

from agentcli.core.dataclass import dataclass
from agentcli.core.sanitise import safe_line

_PATIENCE = 4_000
"""Maximum changed lines for the shortest diff; beyond it, the middle is shown as replaced (difflib is quadratic)."""
_CONTEXT = 3
_LARGEST = 200_000
"""Maximum characters of a diff that are kept: it goes into a record and onto the screen."""
_LISTED = 8
"""Maximum ranges of changed lines that are named."""


@dataclass(frozen=True, slots=True)
class Diff:
    """A unified diff labelled with the file's name for people."""

    text: str
    additions: int
    deletions: int


@dataclass(frozen=True, slots=True)
class _Piece:
    """Lines `i1` to `i2` of the old text, which equal or become lines `j1` to `j2` of the new one."""

    equal: bool
    i1: int
    i2: int
    j1: int
    j2: int

    def head(self) -> _Piece:
        """Return the first of some equal lines, which follow a change."""
        size = min(_CONTEXT, self.i2 - self.i1)
        return _Piece(True, self.i1, self.i1 + size, self.j1, self.j1 + size)

    def tail(self) -> _Piece:
        """Return the last of some equal lines, which precede a change."""
        size = min(_CONTEXT, self.i2 - self.i1)
        return _Piece(True, self.i2 - size, self.i2, self.j2 - size, self.j2)


def unified(before: str, after: str, label: str, created: bool = False) -> Diff:
    """Compare two texts; all line endings count as `\\n`."""
    old, new = _lines(before), _lines(after)
    hunks = [line for group in _grouped(_pieces(old, new)) for line in _hunk(group, old, new)]
    if not hunks:
        return Diff("", 0, 0)
    label = safe_line(label)  # a name with a newline must not look like lines of the file
    name = "/dev/null" if created else f"a/{label}"
    additions = sum(line.startswith("+") for line in hunks)
    deletions = sum(line.startswith("-") for line in hunks)
    return Diff("\n".join([f"--- {name}", f"+++ b/{label}", *_largest(hunks)]) + "\n", additions, deletions)


def changed_ranges(diff: Diff) -> list[tuple[int, int]]:
    """Return the first and last line, in the new text, of each hunk: the changes and the lines around them."""
    heads = re.findall(r"(?m)^@@ -\S+ \+(\d+)(?:,(\d+))? @@$", diff.text)
    spans = ((int(first), int(count or 1)) for first, count in heads)
    return [(first, first + count - 1) for first, count in spans if count]


def lines_changed(diff: Diff) -> str:
    """Return the lines of the new text that differ, such as `lines 3-4, 12`.

    Deleted lines are named by the line that now follows them. The result is empty for an equal text.
    """
    spans = list(_spans(diff.text))
    if not spans:
        return ""
    named = [str(first) if last <= first else f"{first}-{last}" for first, last in spans[:_LISTED]]
    more = f" and {len(spans) - _LISTED:,} more" if len(spans) > _LISTED else ""
    return f"line{'s' if len(spans) > 1 or '-' in named[0] else ''} {', '.join(named)}{more}"


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield the first and last changed line of each run of changes."""
    number, first, changed = 0, 0, False
    for line in text.split("\n"):
        if head := re.match(r"@@ -\S+ \+(\d+)(,0)?", line):
            begin = int(head[1]) + bool(head[2])
        elif not number or line[:1] not in (" ", "+", "-"):
            continue
        if head or line[0] == " ":
            if changed:
                yield first, number - 1
            number, changed = begin if head else number + 1, False
            continue
        first, changed = (first if changed else number), True
        number += line[0] == "+"
    if changed:
        yield first, number - 1


def _pieces(old: Sequence[str], new: Sequence[str]) -> list[_Piece]:
    """Align two texts: their equal ends are one piece each, and only the text between them is compared.

    The ends stay aligned. Comparing a part of them might align them differently, and then changes would end where their
    context is cut off.
    """
    start = _common(old, new)
    end = _common(old[start:][::-1], new[start:][::-1])
    stop_old, stop_new = len(old) - end, len(new) - end
    pieces = [_Piece(True, 0, start, 0, start)]
    if stop_old - start + stop_new - start > _PATIENCE:
        pieces.append(_Piece(False, start, stop_old, start, stop_new))
    else:
        compared = difflib.SequenceMatcher(None, old[start:stop_old], new[start:stop_new], autojunk=False)
        for tag, i1, i2, j1, j2 in compared.get_opcodes():
            pieces.append(_Piece(tag == "equal", i1 + start, i2 + start, j1 + start, j2 + start))
    pieces.append(_Piece(True, stop_old, len(old), stop_new, len(new)))
    return pieces


def _grouped(pieces: Iterable[_Piece]) -> Iterator[list[_Piece]]:
    """Yield the pieces of each hunk: changes with at most `_CONTEXT` equal lines before and after them."""
    group: list[_Piece] = []
    changed = False
    for piece in pieces:
        if not piece.equal or (changed and piece.i2 - piece.i1 <= 2 * _CONTEXT):
            group.append(piece)
            changed = True
        else:
            if changed:
                yield [*group, piece.head()]
            group, changed = [piece.tail()], False
    if changed:
        last = group.pop()
        yield [*group, last.head() if last.equal else last]


def _hunk(group: Sequence[_Piece], old: Sequence[str], new: Sequence[str]) -> list[str]:
    first, last = group[0], group[-1]
    lines = [f"@@ -{_range(first.i1, last.i2)} +{_range(first.j1, last.j2)} @@"]
    for piece in group:
        if piece.equal:
            lines += [f" {line}" for line in old[piece.i1 : piece.i2]]
        else:
            lines += [f"-{line}" for line in old[piece.i1 : piece.i2]]
            lines += [f"+{line}" for line in new[piece.j1 : piece.j2]]
    return _with_end_marks(lines)


def _largest(lines: list[str]) -> list[str]:
    """Return as many lines as may be kept, and a line that counts the others."""
    size = 0
    for n, line in enumerate(lines):
        size += len(line) + 1
        if size > _LARGEST:
            return [*lines[:n], f"\\ {len(lines) - n:,} more lines of this diff are left out"]
    return lines


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
