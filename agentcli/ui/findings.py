"""Findings of a review, parsed from the model's answer: a list with places, as requested, or prose."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

from agentcli.core.dataclass import dataclass
from agentcli.core.message import Message, Text

Severity = Literal["high", "medium", "low", ""]
"""Empty if the answer names none."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding: the file as the answer names it, its line, and the text without them."""

    severity: Severity
    path: str
    line: int
    text: str


def findings(answer: str) -> tuple[Finding, ...]:
    """Return all findings, in order. Prose counts only if no list item and no heading names a place."""
    blocks = list(_blocks(answer[:LONGEST]))
    listed = [_finding(one) for one in blocks if one.item]
    if any(listed):
        return tuple(filter(None, listed))
    sentences = [replace(one, text=text) for one in blocks for text in _SENTENCE.split(one.text)]
    places: dict[tuple[str, int], Finding] = {}
    for found in filter(None, map(_finding, sentences)):
        places.setdefault((found.path, found.line), found)
    return tuple(places.values())


CHANGES = "<changes>"
"""Beginning of the changes that go to the model with the request for a review."""


def is_review(message: Message) -> bool:
    """Return whether the message is a prompt that asks for a review."""
    return any(isinstance(part, Text) and part.synthetic and f"\n{CHANGES}\n" in part.text for part in message.parts)


@dataclass(frozen=True, slots=True)
class _Block:
    """A list item with its continuation, or a paragraph; a heading above may give all of them a severity."""

    item: bool
    text: str
    heading: str = ""
    severity: Severity = ""


_NAME = r"(?:[\w.@+~-]+/)*(?:[\w@+-][\w.@+-]*\.[A-Za-z]\w{0,9}|Makefile|Dockerfile)"
_PLACE = re.compile(
    rf"(?<![\w/.:@+~-])`?(?P<path>/?{_NAME})[`*]*(?::|\#L|[`*]*,?\s+\(?(?:at\s+)?(?:lines?\s+|L(?=\d)))(?P<line>\d+)(?:[-–:,]\s?L?\d+)*`?"
    rf"|[Ll]ines?\s+(?P<line_before>\d+)(?:[-–]\d+)?\s+(?:of|in)\s+[`*]*(?P<path_after>/?{_NAME})"
)
_ITEM = re.compile(r" ?(?:(?:[-*+•]|\d{1,3}[.)])\s+(?=\S)|(?=(?:\*\*)?\[\w+\]))")
_HEADING = re.compile(r" {0,3}#{1,6}\s+(.*?)\s*#*$|\*\*([^*]+)\*\*:?$")
_FENCE = re.compile(r"\s*(```|~~~)")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z`*])|\n")
_WORDS: dict[str, Severity] = {
    **dict.fromkeys(("critical", "blocker", "severe", "high", "major"), "high"),
    **dict.fromkeys(("medium", "moderate"), "medium"),
    **dict.fromkeys(("low", "minor", "nit"), "low"),
}
_SEVERITY = re.compile(
    rf"[\[(]({'|'.join(_WORDS)})(?:[ -](?:severity|priority))?[\])]:?|\b(?:severity|priority)\W{{1,4}}({'|'.join(_WORDS)})\b"
    rf"|^[\s*_]*({'|'.join(_WORDS)})(?:[ -](?:severity|priority))?(?=\W*(?:[:–—]|$| - ))",
    re.IGNORECASE,
)
_LABEL = re.compile(r"\W*(?:file|location|place|where|in|at|severity)?\W*", re.IGNORECASE)


_LEFT_OVER = re.compile(r"\*\*|\(\s*\)|\[\s*\]")
LONGEST = 200_000
"""Characters of an answer that are read."""


def _blocks(answer: str) -> Iterator[_Block]:
    heading, severity, item, fenced = "", "", False, False
    lines: list[str] = []
    fresh = True
    for line in [*answer.split("\n"), "# "]:
        if _FENCE.match(line):
            fenced = not fenced
            continue
        if fenced:
            continue
        title = _HEADING.match(line)
        starts = title or _ITEM.match(line) or (fresh and line.strip() and not line.startswith("  ") and not item)
        ends = starts or (fresh and item and line.strip() and not line.startswith(" ") and not _HEADED.match(lines[0]))
        if ends and lines:
            yield _Block(item, "\n".join(lines), heading, _WORDS.get(severity, ""))
            lines = []
        fresh = not line.strip()
        if title:
            heading = (title[1] or title[2] or "").strip()
            item = _PLACE.search(heading) is not None
            severity = severity if item and not _severity(heading) else _severity(heading)
            lines = [f"{_HEADED_MARK}{heading}"] if item else []
        elif line.strip():
            item = item if lines else _ITEM.match(line) is not None
            lines.append(line)


_HEADED_MARK = "# "
_HEADED = re.compile(_HEADED_MARK)


def _severity(text: str) -> str:
    found = _SEVERITY.search(text)
    return next(filter(None, found.groups())).lower() if found else ""


def _finding(block: _Block) -> Finding | None:
    text = _ITEM.sub("", block.text.removeprefix(_HEADED_MARK), count=1) if block.item else block.text
    place = _PLACE.search(text)
    if place is None:
        return None
    own = _severity(text.split("\n")[0]) or _severity(text)
    before = _clean(_SEVERITY.sub("", text[: place.start()]))
    within = before and not block.item and not _LABEL.fullmatch(before)
    kept = text if within else text[: place.start()] + text[place.end() :]
    lines = (_clean(line) for line in _SEVERITY.sub("", kept).split("\n"))
    return Finding(
        _WORDS.get(own, block.severity),
        place["path"] or place["path_after"],
        int(place["line"] or place["line_before"]),
        " ".join(line for line in lines if not _LABEL.fullmatch(line)) or _clean(_SEVERITY.sub("", block.heading)),
    )


def _clean(text: str) -> str:
    """Return the text in one line, without Markdown's stars and the punctuation around removed parts."""
    text = " ".join(_LEFT_OVER.sub("", text).split()).strip(" :;,–—-")
    text = text.strip("() ") if text.count("(") != text.count(")") else text
    return text.strip("` ") if text.count("`") % 2 else text
