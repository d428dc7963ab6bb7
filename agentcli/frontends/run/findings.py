"""Findings of a review, parsed from the model's answer: a list with places, as requested, or prose."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

from agentcli.core.dataclass import dataclass
from agentcli.core.message import Message, Text

Severity = Literal["high", "medium", "low", ""]
"""Empty if the answer states none."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding: the file as the answer writes it, its line, and the text without them."""

    severity: Severity
    path: str
    line: int
    text: str


def findings(answer: str) -> tuple[Finding, ...]:
    """Return all findings, in order. Prose counts only if no list item and no heading contains a place."""
    blocks = list(_blocks(answer[:LONGEST]))
    listed = [_finding(one) for one in blocks if one.item]
    if any(listed):
        return tuple(filter(None, listed))
    sentences = [replace(one, text=text) for one in blocks for text in re.split(_SENTENCE, one.text)]
    places: dict[tuple[str, int], Finding] = {}
    for found in filter(None, map(_finding, sentences)):
        places.setdefault((found.path, found.line), found)
    return tuple(places.values())


CHANGES = "<changes>"
"""Beginning of the changes sent to the model with the request for a review."""


def is_review(message: Message) -> bool:
    """Return True if the message is a prompt that requests a review."""
    return any(isinstance(part, Text) and part.synthetic and f"\n{CHANGES}\n" in part.text for part in message.parts)


@dataclass(frozen=True, slots=True)
class _Block:
    """A list item with its continuation, or a paragraph; a heading above may give all of them a severity."""

    item: bool
    text: str
    heading: str = ""
    severity: Severity = ""


_NAME = r"(?:[\w.@+~-]+/)*(?:[\w@+-][\w.@+-]*\.[A-Za-z]\w{0,9}|Makefile|Dockerfile)"
_PLACE = (
    rf"(?<![\w/.:@+~-])`?(?P<path>/?{_NAME})[`*]*(?::|\#L|[`*]*,?\s+\(?(?:at\s+)?(?:lines?\s+|L(?=\d)))(?P<line>\d+)(?:[-–:,]\s?L?\d+)*`?"
    rf"|[Ll]ines?\s+(?P<line_before>\d+)(?:[-–]\d+)?\s+(?:of|in)\s+[`*]*(?P<path_after>/?{_NAME})"
)
_ITEM = r" ?(?:(?:[-*+•]|\d{1,3}[.)])\s+(?=\S)|(?=(?:\*\*)?\[\w+\]))"
_HEADING = r" {0,3}#{1,6}\s+(.*?)\s*#*$|\*\*([^*]+)\*\*:?$"
_FENCE = r"\s*(```|~~~)"
_SENTENCE = r"(?<=[.!?])\s+(?=[A-Z`*])|\n"
_WORDS: dict[str, Severity] = {
    **dict.fromkeys(("critical", "blocker", "severe", "high", "major"), "high"),
    **dict.fromkeys(("medium", "moderate"), "medium"),
    **dict.fromkeys(("low", "minor", "nit"), "low"),
}
_SEVERITY = (
    rf"(?i)[\[(]({'|'.join(_WORDS)})(?:[ -](?:severity|priority))?[\])]:?|\b(?:severity|priority)\W{{1,4}}({'|'.join(_WORDS)})\b"
    rf"|^[\s*_]*({'|'.join(_WORDS)})(?:[ -](?:severity|priority))?(?=\W*(?:[:–—]|$| - ))"
)
_LABEL = r"(?i)\W*(?:file|location|place|where|in|at|severity)?\W*"


_LEFT_OVER = r"\*\*|\(\s*\)|\[\s*\]"
LONGEST = 200_000
"""Characters of an answer that are read."""


def _blocks(answer: str) -> Iterator[_Block]:
    heading, severity, item, fenced = "", "", False, False
    lines: list[str] = []
    fresh = True
    for line in [*answer.split("\n"), "# "]:
        if re.match(_FENCE, line):
            fenced = not fenced
            continue
        if fenced:
            continue
        title = re.match(_HEADING, line)
        starts = title or re.match(_ITEM, line) or (fresh and line.strip() and not line.startswith("  ") and not item)
        ends = starts or (
            fresh and item and line.strip() and not line.startswith(" ") and not lines[0].startswith(_HEADED_MARK)
        )
        if ends and lines:
            yield _Block(item, "\n".join(lines), heading, _WORDS.get(severity, ""))
            lines = []
        fresh = not line.strip()
        if title:
            heading = (title[1] or title[2] or "").strip()
            item = re.search(_PLACE, heading) is not None
            severity = severity if item and not _severity(heading) else _severity(heading)
            lines = [f"{_HEADED_MARK}{heading}"] if item else []
        elif line.strip():
            item = item if lines else re.match(_ITEM, line) is not None
            lines.append(line)


_HEADED_MARK = "# "


def _severity(text: str) -> str:
    found = re.search(_SEVERITY, text)
    return next(filter(None, found.groups())).lower() if found else ""


def _finding(block: _Block) -> Finding | None:
    text = re.sub(_ITEM, "", block.text.removeprefix(_HEADED_MARK), count=1) if block.item else block.text
    place = re.search(_PLACE, text)
    if place is None:
        return None
    own = _severity(text.split("\n")[0]) or _severity(text)
    before = _clean(re.sub(_SEVERITY, "", text[: place.start()]))
    within = before and not block.item and not re.fullmatch(_LABEL, before)
    kept = text if within else text[: place.start()] + text[place.end() :]
    lines = (_clean(line) for line in re.sub(_SEVERITY, "", kept).split("\n"))
    return Finding(
        _WORDS.get(own, block.severity),
        place["path"] or place["path_after"],
        int(place["line"] or place["line_before"]),
        " ".join(line for line in lines if not re.fullmatch(_LABEL, line))
        or _clean(re.sub(_SEVERITY, "", block.heading)),
    )


def _clean(text: str) -> str:
    """Return the text in one line, without Markdown's stars and the punctuation around removed parts."""
    text = " ".join(re.sub(_LEFT_OVER, "", text).split()).strip(" :;,–—-")
    text = text.strip("() ") if text.count("(") != text.count(")") else text
    return text.strip("` ") if text.count("`") % 2 else text
