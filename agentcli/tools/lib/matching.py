"""Finding the text that an edit means: exactly, or with one of five small, named allowances; never by similarity."""

from __future__ import annotations

import difflib
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import accumulate

from agentcli.tools.lib.text import newline_style

_NEWLINE = r"(?:\r\n|(?<!\r)\n|\r(?!\n))"
"""One line ending; never a half of `\\r\\n`."""

_FOLD = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛′", "'"),
        **dict.fromkeys("“”„‟″", '"'),
        **dict.fromkeys("‐‑‒–—―−", "-"),
        **dict.fromkeys("\u00a0\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000", " "),
    }
)
"""Typographic punctuation and the plain sign that models write for it; always one for one, so that places stay the same."""

_SEARCHED = 20_000
"""Lines among which the nearest place is looked for when nothing matches."""

_SHOWN, _CONTEXT, _WIDTH = 30, 3, 200
"""Lines of the diff that is shown, lines before the first difference, characters of a line: the cost grows with their cubes."""


@dataclass(frozen=True, slots=True)
class Match:
    """The span of an edit's old text. `indent` turns the old text's indentation into the file's: (taken away, put before)."""

    start: int
    end: int
    indent: tuple[str, str] = ("", "")
    exact: bool = False


def find(text: str, old: str) -> tuple[list[Match], str]:
    """All places of the first kind of match that has any, and the name of that kind; no places and "" if none has."""
    for name, search in _LADDER:
        matches = list(search(text, old))
        if matches:
            return matches, name
    return [], ""


def overlaps_itself(text: str, match: Match, old: str) -> bool:
    """True if exact matches of the old text overlap, so that it is ambiguous which one is meant."""
    return match.exact and text.find(old, match.start + 1, match.end + len(old) - 1) >= 0


def replacement(text: str, match: Match, old: str, new: str) -> str:
    """The replacement of a match: the new text with the file's line endings.

    Lines that old and new have in common keep the file's own bytes, whatever allowance found them.
    """
    found = text[match.start : match.end]
    ending = _ending_around(text, match)
    if match.exact:
        return _exactly(new, old, found, ending)
    ours = re.split(f"({_NEWLINE})", found)
    contents, endings = ours[0::2], ours[1::2]
    old_lines, new_lines = re.split(_NEWLINE, old), re.split(_NEWLINE, new)
    same = _same_lines(old_lines, new_lines)
    result = []
    for n, line in enumerate(new_lines):
        twin = same.get(n)
        result.append(contents[twin] if twin is not None else _indented(line, match.indent))
        if n < len(new_lines) - 1:
            result.append(endings[twin] if twin is not None and twin < len(endings) else ending)
    return "".join(result)


def nearest(text: str, old: str) -> str:
    """The most similar lines with a small diff against the old text, for a model that must try again; or the empty string."""
    lines = re.split(_NEWLINE, text)[:_SEARCHED]
    wanted = re.split(_NEWLINE, old.strip("\r\n"))
    start = _most_alike(lines, wanted)
    if start is None:
        return ""
    there = lines[start : start + len(wanted)]
    alike = next((n for n, (one, other) in enumerate(zip(wanted, there, strict=False)) if one != other), 0)
    first = max(0, alike - _CONTEXT)
    ours, theirs = ([line[:_WIDTH] for line in side[first : first + _SHOWN]] for side in (wanted, there))
    diff = [line for line in difflib.ndiff(ours, theirs) if not line.startswith("?")]
    excerpt = "\n".join(diff[:_SHOWN])
    begin = start + first + 1
    return f"Nearest: lines {begin}-{begin + len(theirs) - 1} (- your old_string, + the file):\n{excerpt}"


def _exact(text: str, old: str) -> Iterator[Match]:
    start = text.find(old)
    while start >= 0:
        end = start + len(old)
        if "\r\n" not in (text[max(0, start - 1) : start + 1], text[end - 1 : end + 1]):  # not half a line ending
            yield Match(start, end, exact=True)
        start = text.find(old, end)


def _other_line_endings(text: str, old: str) -> Iterator[Match]:
    return _by_pattern(text, _NEWLINE.join(re.escape(line) for line in re.split(_NEWLINE, old)))


def _other_trailing_blanks(text: str, old: str) -> Iterator[Match]:
    lines = re.split(_NEWLINE, old)
    pattern = f"[ \\t]*{_NEWLINE}".join(re.escape(line.rstrip(" \t")) for line in lines)
    if lines[-1] != lines[-1].rstrip(" \t"):
        pattern += r"[ \t]*(?=[\r\n]|\Z)"
    if not lines[0].strip(" \t"):
        pattern = (
            r"(?<![ \t])" + pattern
        )  # from the first of many blanks only, or else the time grows with their square
    return _by_pattern(text, pattern) if old.strip() else iter(())


def _other_indentation(text: str, old: str) -> Iterator[Match]:
    """Matches of whole lines that differ by one common change of indentation."""
    wanted = [line.rstrip(" \t") for line in re.split(_NEWLINE, old)]
    ends_line = wanted[-1] == "" and len(wanted) > 1
    if ends_line:
        wanted.pop()
    if not any(wanted):
        return
    spans = [(found.start(), found.end()) for found in re.finditer(r"[^\r\n]*(?:\r\n|\n|\r|\Z)", text)]
    lines = [text[start:end].rstrip("\r\n \t") for start, end in spans]
    free = 0
    for n in _places(lines, wanted):
        indent = _shift(wanted, lines[n : n + len(wanted)]) if n >= free else None
        last, end = spans[n + len(wanted) - 1]
        bare_end = last + len(text[last:end].rstrip("\r\n"))
        if indent is None or (ends_line and bare_end == end):
            continue
        yield Match(spans[n][0], end if ends_line else bare_end, indent)
        free = n + len(wanted)


def _places(lines: list[str], wanted: list[str]) -> Iterator[int]:
    """Indices of the wanted lines, indentation ignored: one search in one text, however alike the lines are."""
    bare = [line.strip(" \t") for line in lines]
    starts = list(accumulate((len(line) + 1 for line in bare), initial=0))
    joined, sought = "\n" + "\n".join(bare) + "\n", "\n" + "\n".join(line.strip(" \t") for line in wanted) + "\n"
    place = joined.find(sought)
    while place >= 0:
        yield bisect_left(starts, place)
        place = joined.find(sought, place + 1)


def _other_punctuation(text: str, old: str) -> Iterator[Match]:
    folded_text, folded_old = text.translate(_FOLD), old.translate(_FOLD)
    if folded_text == text and folded_old == old:
        return
    for search in (_exact, _other_line_endings, _other_trailing_blanks, _other_indentation):
        matches = list(search(folded_text, folded_old))
        if matches:
            yield from (Match(match.start, match.end, match.indent) for match in matches)
            return


_LADDER: tuple[tuple[str, Callable[[str, str], Iterator[Match]]], ...] = (
    ("exact", _exact),
    ("line endings", _other_line_endings),
    ("trailing blanks", _other_trailing_blanks),
    ("indentation", _other_indentation),
    ("punctuation", _other_punctuation),
)


def _by_pattern(text: str, pattern: str) -> Iterator[Match]:
    return (Match(found.start(), found.end()) for found in re.finditer(pattern, text))


def _shift(wanted: list[str], there: list[str]) -> tuple[str, str] | None:
    """The one change of indentation that turns every wanted line into the one that is there, or None."""
    change: tuple[str, str] | None = None
    for line, real in zip(wanted, there, strict=True):
        if bool(line) != bool(real):
            return None
        if not line:
            continue
        taken, put = line[: len(line) - len(line.lstrip(" \t"))], real[: len(real) - len(real.lstrip(" \t"))]
        common = _shared_tail(taken, put)
        here = (taken[: len(taken) - common], put[: len(put) - common])
        if line.lstrip(" \t") != real.lstrip(" \t") or (here[0] and here[1]):
            return None
        if change is None:
            change = here
        elif change != here:
            return None
    return change


def _shared_tail(one: str, other: str) -> int:
    count = 0
    while count < min(len(one), len(other)) and one[-1 - count] == other[-1 - count]:
        count += 1
    return count


def _indented(line: str, indent: tuple[str, str]) -> str:
    taken, put = indent
    if not line.strip(" \t"):
        return line
    return put + line[len(taken) :] if line.startswith(taken) else put + line.lstrip(" \t")


def _exactly(new: str, old: str, found: str, ending: str) -> str:
    """The new text as it is, but for plain newlines in a file that ends its lines otherwise."""
    if "\r" in new or "\r" in old or ("\n" in found and "\r" not in found):
        return new
    return new.replace("\n", ending)


def _ending_around(text: str, match: Match) -> str:
    """The line ending used in the match, or else after it, or else in most of the file."""
    found = re.search(_NEWLINE, text[match.start : match.end]) or re.compile(_NEWLINE).search(text, match.end)
    return found.group() if found else newline_style(text)


def _same_lines(old: list[str], new: list[str]) -> dict[int, int]:
    """New line → the old line that it repeats."""
    blocks = difflib.SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
    return {block.b + n: block.a + n for block in blocks for n in range(block.size)}


def _most_alike(lines: list[str], wanted: list[str]) -> int | None:
    """The index where most of the wanted lines match, blanks aside; else that of a line similar to the longest of them."""
    stripped = [line.strip() for line in lines]
    places: dict[str, list[int]] = {}
    for n, line in enumerate(stripped):
        if line:
            places.setdefault(line, []).append(n)
    votes = Counter(
        place - offset
        for offset, line in enumerate(wanted)
        for place in places.get(line.strip(), ())[:50]
        if place >= offset
    )
    if votes:
        return max(votes, key=lambda start: (votes[start], -start))
    longest = max(range(len(wanted)), key=lambda n: len(wanted[n].strip()))
    close = difflib.get_close_matches(wanted[longest].strip()[:300], [line[:300] for line in places], 1, 0.6)
    found = next((n for n, line in enumerate(stripped) if close and line[:300] == close[0]), None)
    return None if found is None else max(0, found - longest)
