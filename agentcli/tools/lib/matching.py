"""Search for the text that an edit means.

A match is exact, or uses one of a few small, named allowances. It never goes by similarity.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import accumulate
from unicodedata import is_normalized, normalize

from agentcli.core.dataclass import dataclass

NEWLINE = r"(?:\r\n|(?<!\r)\n|\r(?!\n))"
"""One line ending; never a half of `\\r\\n`."""

FOLD = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛′", "'"),
        **dict.fromkeys("“”„‟″", '"'),
        **dict.fromkeys("‐‑‒–—―−", "-"),
        **dict.fromkeys("\u00a0\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000", " "),
    }
)
"""Typographic punctuation and the plain character that models write for it.

The mapping is one to one, so positions stay the same.
"""


@dataclass(frozen=True, slots=True)
class Match:
    """The span of an edit's old text.

    `indent` is the change to the file's indentation: (prefix to remove, prefix to add).
    """

    start: int
    end: int
    indent: tuple[str, str] = ("", "")
    exact: bool = False
    unended: bool = False
    """True at the end of a file without a final newline, if the old text has one."""


def find(text: str, old: str, fits: Callable[[Match], bool] = lambda _: True) -> tuple[list[Match], str]:
    """Return all matches of the first kind that has any, and the kind's name.

    Without a match, the name is "".
    """
    for name, search in _LADDER:
        matches = [match for match in search(text, old) if fits(match)]
        if matches:
            return matches, name
    matches, name = _at_unended_end(text, old)
    matches = [match for match in matches if fits(match)]
    return matches, name if matches else ""


def unescaped(text: str) -> str:
    r"""Replace `\n`, `\t` and escaped quotes, as some models write them, by the characters they stand for."""
    return re.sub(r"\\([nt\"'\\])", lambda found: _ESCAPES[found[1]], text)


def overlaps_itself(text: str, match: Match, old: str) -> bool:
    """Return True if exact matches of the old text overlap, so that its place is ambiguous."""
    return match.exact and text.find(old, match.start + 1, match.end + len(old) - 1) >= 0


_ESCAPES = {"n": "\n", "t": "\t", '"': '"', "'": "'", "\\": "\\"}


def _at_unended_end(text: str, old: str) -> tuple[list[Match], str]:
    """Return the match at the end of a text without a final newline, for an old text with one."""
    if not text or text[-1] in "\r\n" or not old.rstrip("\r\n") or old[-1] not in "\r\n":
        return [], ""
    for _, search in _LADDER:
        for match in search(f"{text}\n", old):
            if match.end > len(text):
                return [replace(match, end=len(text), unended=True)], "final newline"
    return [], ""


def _exact(text: str, old: str) -> Iterator[Match]:
    start = text.find(old)
    while start >= 0:
        end = start + len(old)
        if "\r\n" not in (text[max(0, start - 1) : start + 1], text[end - 1 : end + 1]):  # not half a line ending
            yield Match(start, end, exact=True)
        start = text.find(old, end)


def _other_line_endings(text: str, old: str) -> Iterator[Match]:
    return _by_pattern(text, NEWLINE.join(re.escape(line) for line in re.split(NEWLINE, old)))


def _other_trailing_blanks(text: str, old: str) -> Iterator[Match]:
    """Yield matches of whole lines, except the first one's indentation, that differ by trailing blanks."""
    if not old.strip():
        return
    lines = re.split(NEWLINE, old)
    pattern = f"[ \\t]*{NEWLINE}".join(re.escape(line.rstrip(" \t")) for line in lines)
    if lines[-1] != lines[-1].rstrip(" \t"):
        pattern += r"[ \t]*(?=[\r\n]|\Z)"
    elif lines[-1]:
        pattern += r"(?=[ \t]*(?:[\r\n]|\Z))"
    if not lines[0].strip(" \t"):
        before = r"(?<![ \t])"  # starts only at the first of many blanks; otherwise the time is quadratic
    else:
        before = r"(?:\A|(?<=[\r\n]))" + ("" if lines[0][0] in " \t" else r"[ \t]*")
    for found in re.finditer(f"{before}(?P<old>{pattern})", text):
        yield Match(found.start("old"), found.end("old"))


def _other_indentation(text: str, old: str) -> Iterator[Match]:
    """Yield matches of whole lines that differ by one common change of indentation."""
    wanted = [line.rstrip(" \t") for line in re.split(NEWLINE, old)]
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
    """Yield the indices of the wanted lines, ignoring indentation, with one search in one text, even for many equal
    lines.
    """
    bare = [line.strip(" \t") for line in lines]
    starts = list(accumulate((len(line) + 1 for line in bare), initial=0))
    joined, sought = "\n" + "\n".join(bare) + "\n", "\n" + "\n".join(line.strip(" \t") for line in wanted) + "\n"
    place = joined.find(sought)
    while place >= 0:
        yield bisect_left(starts, place)
        place = joined.find(sought, place + 1)


def _other_punctuation(text: str, old: str) -> Iterator[Match]:
    folded_text, folded_old = text.translate(FOLD), old.translate(FOLD)
    if folded_text == text and folded_old == old:
        return
    for search in (_exact, _other_line_endings, _other_trailing_blanks, _other_indentation):
        matches = list(search(folded_text, folded_old))
        if matches:
            yield from (Match(match.start, match.end, match.indent) for match in matches)
            return


def _other_composition(text: str, old: str) -> Iterator[Match]:
    """Yield matches in which one text has a composed accented letter, and the other a letter and its mark."""
    if is_normalized("NFC", text) and is_normalized("NFC", old):
        return
    composed, places = _composed(text)
    old = normalize("NFC", old)
    for search in (_exact, _other_line_endings, _other_trailing_blanks, _other_indentation, _other_punctuation):
        matches = list(search(composed, old))
        if matches:
            yield from (Match(places[match.start], places[match.end], match.indent) for match in matches)
            return


def _composed(text: str) -> tuple[str, list[int]]:
    """Return a text with composed letters, and the original position of each of its characters and of its end."""
    pieces, places = list[str](), list[int]()
    for cluster in _CLUSTER.finditer(text):
        piece = cluster[0] if cluster[0].isascii() else normalize("NFC", cluster[0])
        pieces.append(piece)
        place = cluster.start()
        for letter in piece:
            places.append(place)
            place += 1 if text[place : place + 1] == letter else len(normalize("NFD", letter))
    return "".join(pieces), [*places, len(text)]


_CLUSTER = re.compile(r"[\x00-\x7f]+(?![^\x00-\x7f])|.[^\x00-\x7f]*", re.DOTALL)
"""Characters that may compose with each other: one, and the following ones outside ASCII."""

_LADDER: tuple[tuple[str, Callable[[str, str], Iterator[Match]]], ...] = (
    ("exact", _exact),
    ("line endings", _other_line_endings),
    ("trailing blanks", _other_trailing_blanks),
    ("indentation", _other_indentation),
    ("punctuation", _other_punctuation),
    ("composition", _other_composition),
)


def _by_pattern(text: str, pattern: str) -> Iterator[Match]:
    return (Match(found.start(), found.end()) for found in re.finditer(pattern, text))


def _shift(wanted: list[str], there: list[str]) -> tuple[str, str] | None:
    """Return the one change of indentation that turns every wanted line into the file's, or None."""
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
