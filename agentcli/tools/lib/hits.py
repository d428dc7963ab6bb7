"""Hits of a search in a session's texts, and their display."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from agentcli.core.dataclass import dataclass
from agentcli.core.text.passage import Passage

_MOST_EACH = 3
"""Maximum matches that a regular expression search shows of each passage."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A part of a passage, from `start` to `end`, that answers a query.

    `score` rates it. `share` is the weight of the query's words in it.
    """

    score: float
    passage: Passage
    start: int
    end: int
    share: float = 1.0


def at_lines(passage: Passage, numbers: Sequence[int]) -> Iterator[Hit]:
    """Yield a hit for each of these lines of a passage, at most `_MOST_EACH`.

    A line right after another one gets no hit of its own.
    """
    starts = [0, *(match.end() for match in re.finditer("\n", passage.text)), len(passage.text) + 1]
    known, count = -2, 0
    for n in numbers:
        if n <= known + 1 and count:
            known = n
            continue
        if count == _MOST_EACH:
            return
        yield Hit(1.0, passage, starts[n - 1], starts[n] - 1)
        known, count = n, count + 1


def different(found: Sequence[Hit]) -> Sequence[Hit]:
    """Return the hits without near duplicates of better ones; of many, only the first are compared."""
    kept: list[tuple[Hit, frozenset[str]]] = []
    for hit in found[:_COMPARED]:
        words = frozenset(_WORDS.findall(hit.passage.text[hit.start : hit.end + _AROUND]))
        if not any(len(words & others) >= _ALIKE * len(words | others) for _, others in kept):
            kept.append((hit, words))
    return [*(hit for hit, _ in kept), *found[_COMPARED:]]


_COMPARED = 60
_AROUND = 200
_ALIKE = 0.8
_WORDS = re.compile(r"\w+")


def lead(passage: Passage, line: int) -> str:
    """Return the beginning of a message with a later line shown, because it often states what the message is about."""
    if line < _FIRST_LINES or passage.role not in ("user", "assistant"):
        return ""
    first = passage.text.strip().split("\n", 1)[0]
    return f" {first[:_LEAD]}{'…' if len(first) > _LEAD else ''}"


_FIRST_LINES, _LEAD = 2, 100


def shown(hit: Hit, room: int) -> tuple[int, str]:
    """Return the first line of a hit and its text with context, at most about `room` characters."""
    text = hit.passage.text
    start = text.rfind("\n", 0, hit.start) + 1
    if hit.start - start > room // 3:
        start = _blank(text, hit.start - room // 3)
    stop = min(max(hit.end, start), start + room)
    line_end = text.find("\n", stop)
    end = len(text) if line_end < 0 else line_end
    if end > start + room:
        end = start + room
    while end < len(text):  # lines behind, as many as fit
        following = text.find("\n", end + 1)
        following = len(text) if following < 0 else following
        if following > start + room:
            break
        end = following
    before = text.rfind("\n", 0, max(start - 1, 0)) + 1
    if start and text[start - 1] == "\n" and end - before <= room:
        start = before
    whole_start = start == 0 or text[start - 1] == "\n"
    whole_end = end >= len(text) or text[end] == "\n"
    part = text[start:end].strip("\n")
    return text.count("\n", 0, start) + 1, f"{'' if whole_start else '…'}{part}{'' if whole_end else '…'}"


def definition(hit: Hit) -> int:
    """Return where the function or class defined in a hit's line ends; 0 if there is none.

    It ends before the first line that is indented no deeper and does not close it. Line numbers do not count as text.
    """
    text = hit.passage.text
    start = text.rfind("\n", 0, hit.start) + 1
    lines = text[start : start + _LONGEST_DEFINITION].split("\n")
    opening = _DEFINES.match(lines[0])
    if opening is None:
        return 0
    depth, end = len(opening["indent"]), start + len(lines[0])
    at = end
    for line in lines[1:]:
        bare = _NUMBER.sub("", line)
        at += 1 + len(line)
        if (
            bare.strip()
            and len(bare) - len(bare.lstrip()) <= depth
            and not bare.lstrip().startswith(("}", ")", "]", "end"))
        ):
            break
        if bare.strip():
            end = at
    return end


_NUMBER = re.compile(r"^ *\d+\t")
_DEFINES = re.compile(
    r"(?: *\d+\t)?(?P<indent>[ \t]*)(?:(?:export|default|public|private|protected|static|async|pub(?:\(\w+\))?|abstract|final)\s+)*"
    r"(?:def|class|fn|func|function|interface|struct|enum|trait|impl|type|module)\s+[\w(]"
)
_LONGEST_DEFINITION = 2_400
"""Characters shown of a definition."""


def _blank(text: str, at: int) -> int:
    """Return the place behind the next blank from `at`."""
    found = text.find(" ", at, at + 40)
    return found + 1 if found >= 0 else at
