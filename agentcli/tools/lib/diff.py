"""Unified diffs, with the numbers of lines added and deleted."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence

from agentcli.core.dataclass import dataclass
from agentcli.core.sanitise import safe_line

_PATIENCE, _LONGEST = 4_000, 1_000_000
"""Maximum changed lines, and their characters, for the shortest diff.

Beyond it, the middle is shown as replaced: difflib is quadratic, and each line is an object.
"""
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
    old, new = (text.replace("\r\n", "\n").replace("\r", "\n") for text in (before, after))
    if old == new:
        return Diff("", 0, 0)
    lines, deletions, additions = _hunks(old, new)
    label = safe_line(label)  # a name with a newline must not look like lines of the file
    name = "/dev/null" if created else f"a/{label}"
    return Diff("\n".join([f"--- {name}", f"+++ b/{label}", *lines]) + "\n", additions, deletions)


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


def _hunks(old: str, new: str) -> tuple[list[str], int, int]:
    """Return the lines of the hunks, as far as they are kept, and the numbers of deleted and added lines.

    The equal ends stay aligned, and only the text between them is compared. Comparing a part of them might align them
    differently, and then changes would end where their context is cut off.
    """
    start, end = _equal_ends(old, new)
    head, tail = _context(old, start, len(old) - end)
    gone, come = old[start : len(old) - end], new[start : len(new) - end]
    at, begin = old.count("\n", 0, start) - len(head), len(head)
    deleted, added = _count(gone), _count(come)
    large = deleted + added > _PATIENCE or len(gone) + len(come) > _LONGEST
    # A large text is split only as far as it is kept.
    before, after = (_lines(text[: _LARGEST + 1] if large else text) for text in (gone, come))
    changes = [_Piece(False, begin, begin + len(before), begin, begin + len(after))]
    if not large:
        compared = difflib.SequenceMatcher(None, before, after, autojunk=False)
        changes = [
            _Piece(tag == "equal", i1 + begin, i2 + begin, j1 + begin, j2 + begin)
            for tag, i1, i2, j1, j2 in compared.get_opcodes()
        ]
    before, after = [*head, *before, *tail], [*head, *after, *tail]
    last = _Piece(True, len(before) - len(tail), len(before), len(after) - len(tail), len(after))
    groups = [*_grouped([_Piece(True, 0, begin, 0, begin), *changes, last])]
    lines = [line for group in groups for line in _hunk(group, before, after, at)]
    if large:
        lines[0] = _heading(at, begin + deleted + len(tail), at, begin + added + len(tail))
        return _largest(lines, 1 + begin + deleted + added + len(tail)), deleted, added
    sizes = [(each.i2 - each.i1, each.j2 - each.j1) for each in changes if not each.equal]
    return _largest(lines, len(lines)), sum(size for size, _ in sizes), sum(size for _, size in sizes)


def _equal_ends(old: str, new: str) -> tuple[int, int]:
    """Return the characters of the whole lines that are equal at the beginning, and at the end of the rest."""
    most = min(len(old), len(new))
    start = old.rfind("\n", 0, _common(old, new, most)) + 1
    end = _common(old, new, most - start, at_end=True)
    begins = (at == start or text[at - 1] == "\n" for text in (old, new) for at in [len(text) - end])
    if not all(begins):
        end = len(old) - (old.find("\n", len(old) - end) + 1 or len(old))
    return start, end


def _common(one: str, other: str, most: int, at_end: bool = False) -> int:
    """Return how many characters at the beginning or end are equal, at most `most`."""
    equal, step = 0, 1 << 16
    while step:
        if equal + step > most:
            step >>= 1
            continue
        places = [(len(text) - equal - step if at_end else equal) for text in (one, other)]
        if one[places[0] : places[0] + step] == other[places[1] : places[1] + step]:
            equal += step
        else:
            step >>= 1
    return equal


def _context(text: str, start: int, stop: int) -> tuple[list[str], list[str]]:
    """Return the last lines before `start`, and the first ones from `stop` on."""
    first, last = start, stop
    for _ in range(_CONTEXT):
        first = text.rfind("\n", 0, first - 1) + 1 if first else 0
        last = text.find("\n", last) + 1 or len(text)
    return _lines(text[first:start]), _lines(text[stop:last])


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


def _hunk(group: Sequence[_Piece], old: Sequence[str], new: Sequence[str], at: int) -> list[str]:
    """Return the lines of a hunk of two texts whose first lines have this number."""
    first, last = group[0], group[-1]
    lines = [_heading(at + first.i1, last.i2 - first.i1, at + first.j1, last.j2 - first.j1)]
    for piece in group:
        if piece.equal:
            lines += [f" {line}" for line in old[piece.i1 : piece.i2]]
        else:
            lines += [f"-{line}" for line in old[piece.i1 : piece.i2]]
            lines += [f"+{line}" for line in new[piece.j1 : piece.j2]]
    return _with_end_marks(lines)


def _largest(lines: Sequence[str], count: int) -> list[str]:
    """Return as many lines as may be kept, and a line that counts the others of `count`."""
    size = 0
    for n, line in enumerate(lines):
        size += len(line) + 1
        if size > _LARGEST:
            return [*lines[:n], f"\\ {count - n:,} more lines of this diff are left out"]
    return [*lines]


def _heading(old: int, deleted: int, new: int, added: int) -> str:
    return f"@@ -{_range(old, deleted)} +{_range(new, added)} @@"


def _range(start: int, length: int) -> str:
    if length == 1:
        return str(start + 1)
    return f"{start + 1 if length else start},{length}"


def _count(text: str) -> int:
    """Return the number of lines."""
    return text.count("\n") + (text[-1:] not in ("", "\n"))


def _lines(text: str) -> list[str]:
    """Split a text into lines; the last one carries a mark if no newline follows it."""
    lines = text.split("\n")
    last = lines.pop()
    return [*lines, last + "\0"] if last else lines


def _with_end_marks(lines: list[str]) -> list[str]:
    return [line[:-1] + "\n\\ No newline at end of file" if line.endswith("\0") else line for line in lines]
