"""The hunks of a patch applied to a text, with the allowances of `edit` for each; all hunks or none."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import ToolError
from agentcli.core.text.encodings import newline_style, with_newlines
from agentcli.core.text.patch import Hunk
from agentcli.tools.lib.matching import Match, find
from agentcli.tools.lib.nearest import already_there, nearest
from agentcli.tools.lib.omission import refuse_omissions
from agentcli.tools.lib.replacement import replacement

_BLANK_END = ("\n\n", "\r\n\r\n")
"""A blank line at the end of a file, which the format takes for the end of the line before."""


@dataclass(frozen=True, slots=True)
class Patched:
    """A text after its hunks; `allowances` are the kinds of matches that were not exact.

    `proven` is true if every hunk has just one place after its anchors and the hunk before it, and that exactly.
    """

    text: str
    allowances: tuple[str, ...] = ()
    proven: bool = True


@dataclass(frozen=True, slots=True)
class _Place:
    """The span of a hunk in the text, its new text, and the kind of its match."""

    start: int
    end: int
    new: str
    found_by: str = "exact"
    only: bool = True


def patched(text: str, hunks: Sequence[Hunk], name: str) -> Patched:
    """Return the text with all hunks applied, `name` being the file's in messages. Raises ToolError if one has no place.

    A hunk is searched after the one before it and after its anchors; of several places it gets the first, as its format means it.
    """
    places: list[_Place] = []
    after = 0
    for number, hunk in enumerate(hunks, 1):
        where = f"Hunk {number} of {len(hunks)}: " if len(hunks) > 1 else ""
        refuse_omissions(name, text, "\n".join(hunk.new), f"{where}the new lines" if where else "the patch")
        place = _place(text, hunk, after, places)
        if place is None:
            raise ToolError(_not_found(text, hunk, name, where))
        after = max(after, place.end)
        places.append(place)
    pieces, position = [], 0
    for place in sorted(places, key=lambda each: (each.start, each.end)):
        pieces += [text[position : place.start], place.new]
        position = place.end
    after_all = "".join([*pieces, text[position:]])
    if after_all.endswith(_BLANK_END) and not text.endswith(_BLANK_END):
        after_all = after_all[: -2 if after_all.endswith("\r\n") else -1]
    kinds = tuple(sorted({place.found_by for place in places} - {"exact"}))
    return Patched(after_all, kinds, not kinds and all(place.only for place in places))


def _place(text: str, hunk: Hunk, after: int, taken: Sequence[_Place]) -> _Place | None:
    if not hunk.old:
        return _at_the_end(text, hunk)
    begin = _anchored(text, hunk.anchors, after)
    last_blank = hunk.old[-1] == "" and len(hunk.old) > 1
    for old, new in ((hunk.old, hunk.new), *([_without_last_blank(hunk)] if last_blank else [])):
        given = _joined(old)
        # Out of order, or with an anchor that is not there, a hunk has no place but the only one.
        for start in dict.fromkeys((after if begin is None else begin, 0)):
            matches, found_by = _matches(text, given, start, taken)
            if start == 0 and (begin is None or start < begin) and len(matches) > 1:
                continue
            if matches:
                at_end = [match for match in matches if match.end == len(text)] if hunk.at_end else []
                chosen = (at_end or matches)[0]
                return _Place(chosen.start, chosen.end, _new(text, chosen, given, new), found_by, len(matches) == 1)
    start = after if begin is None else begin
    alike = _ignoring_blanks(text, hunk.old, start, taken)
    if len(alike) != 1:
        return None
    return _Place(alike[0].start, alike[0].end, _new(text, alike[0], _joined(hunk.old), hunk.new), "indentation")


def _ignoring_blanks(text: str, old: Sequence[str], start: int, taken: Sequence[_Place]) -> list[Match]:
    """Return the places whose lines differ from the old ones only by blanks around each: models count spaces wrongly in context."""
    wanted = [line.strip(" \t") for line in old]
    spans = [(found.start(), found.end()) for found in re.finditer(r"[^\r\n]*(?:\r\n|\n|\r)", text)]
    lines = [text[begin:end].strip(" \t\r\n") for begin, end in spans]
    if not any(wanted):
        return []
    places = [
        Match(spans[n][0], spans[n + len(wanted) - 1][1])
        for n, line in enumerate(lines[: len(lines) - len(wanted) + 1])
        if line == wanted[0] and lines[n : n + len(wanted)] == wanted
    ]
    return [
        match
        for match in places
        if match.start >= start and all(match.end <= other.start or match.start >= other.end for other in taken)
    ]


def _matches(text: str, old: str, start: int, taken: Sequence[_Place]) -> tuple[list[Match], str]:
    """Return the matches of whole lines from a place on, without the spans of other hunks."""

    def fits(match: Match) -> bool:
        begins_line = match.start == 0 or text[match.start - 1] in "\r\n"
        free = all(match.end <= other.start or match.start >= other.end for other in taken)
        return begins_line and match.start >= start and free

    exact: list[Match] = []
    position = text.find(old, start)
    while position >= 0:
        match = Match(position, position + len(old), exact=True)
        exact += [match] if fits(match) else []
        position = text.find(old, position + 1)
    if exact and "\r" not in text:
        return exact, "exact"
    return find(text, old, fits)


def _anchored(text: str, anchors: Sequence[str], after: int) -> int | None:
    """Return the place after the lines of the anchors, one after the other; None if one is missing."""
    for anchor in anchors:
        found, _ = _matches(text, f"{anchor}\n", after, ())
        if not found:
            found, _ = _matches(text, f"{anchor}\n", 0, ())
            found = found if len(found) == 1 else []
        if not found:
            return None
        after = found[0].end
    return after


def _at_the_end(text: str, hunk: Hunk) -> _Place:
    ending = newline_style(text)
    missing = ending if text and text[-1] not in "\r\n" else ""
    return _Place(len(text), len(text), missing + with_newlines(_joined(hunk.new), ending))


def _without_last_blank(hunk: Hunk) -> tuple[Sequence[str], Sequence[str]]:
    new = hunk.new[:-1] if hunk.new and hunk.new[-1] == "" else hunk.new
    return hunk.old[:-1], new


def _new(text: str, match: Match, old: str, new: Sequence[str]) -> str:
    """Return the text for a match; whole lines that were deleted take their line ending with them."""
    return replacement(text, match, old, _joined(new)) if new else ""


def _joined(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _not_found(text: str, hunk: Hunk, name: str, where: str) -> str:
    there = already_there(text, _joined(hunk.new)).replace("new_string", "What it adds")
    head = f"{where}these lines are not in {name}: {hunk.old[0].strip()[:80]!r} … Nothing was changed.{f' {there}' if there else ''}"
    hint = nearest(text, _joined(hunk.old))
    return f"{head}\n{hint}" if hint else f"{head} Read the file again."
