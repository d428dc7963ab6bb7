"""Cell width of text on a terminal; wrapping and clipping. Lines may carry colours and links (SGR, OSC 8) and nothing else."""

from __future__ import annotations

import re
from functools import lru_cache

_SEQUENCE = r"\x1b(?:\[[0-9;]*m|\]8;[^;\x1b\x07]*;[^\x1b\x07]*\x1b\\)"
ESCAPE = re.compile(_SEQUENCE)
RESET = "\x1b[0m"
NO_LINK = "\x1b]8;;\x1b\\"
"""Ends a link."""
TAB = 4


def width(line: str) -> int:
    """Return the number of cells that a line takes; colours and links take none."""
    if "\x1b" in line:
        line = ESCAPE.sub("", line)
    if line.isascii():
        return len(line)
    return _wide(line)


def at_most(text: str) -> int:
    """Return the width on a terminal that joins no clusters."""
    if text.isascii():
        return len(text)
    return width(text) if certain(text) else sum(size for _, size in _clusters(text))


def certain(line: str) -> bool:
    """Return True if all terminals agree on the width: no joiners, variation selectors or combining marks."""
    return line.isascii() or not re.search(_UNCERTAIN, line)


def before(line: str, column: int) -> tuple[str, int]:
    """Return the whole clusters of a line before a column, and the cells from their end to the column.

    Cells are counted without joining.
    """
    pieces, used = [], 0
    for piece in _pieces(line):
        size = 0 if piece.startswith("\x1b") else _cell(piece)
        if used + size > column:
            break
        pieces.append(piece)
        used += size
    found = "".join(pieces)
    if len(found) == len(line):
        return found, column - used
    end = max(start for start, _ in _clusters(line) if start <= len(found))
    return found[:end], column - used if end == len(found) else 0


def expand(text: str) -> str:
    """Expand tabs to spaces: the width of a tab depends on its column."""
    return text.expandtabs(TAB) if "\t" in text else text


def clip(line: str, columns: int, mark: str = "…") -> str:
    """Truncate the line to `columns` cells; `mark` ends a truncated line."""
    if width(line) <= columns:
        return line
    pieces, used = [], width(mark)
    for piece in _pieces(line):
        if piece.startswith("\x1b"):
            pieces.append(piece)
            continue
        used += _cell(piece)
        if used > columns:
            break
        pieces.append(piece)
    if "\x1b" not in line:
        return "".join(pieces) + mark
    return "".join(pieces) + (NO_LINK if "\x1b]8;" in line else "") + mark + RESET


def wrap(text: str, columns: int) -> list[str]:
    """Break plain text into rows of at most `columns` cells, at word boundaries; no character is lost."""
    return [line[start:end] for line in text.split("\n") for start, end in breaks(line, columns)]


def hanging(line: str, columns: int) -> list[str]:
    """Wrap a list item with a hanging indent.

    Later rows begin below the first word after a gap, unless that is too far right.
    """
    rows = wrap(line, columns)
    column = re.match(_FIRST_COLUMN, line)
    if len(rows) < 2 or column is None or column.end() > columns // 3:
        return rows
    indent = column.end()
    return [
        line[:indent] + first if not n else " " * indent + first
        for n, first in enumerate(wrap(line[indent:], columns - indent))
    ]


def breaks(line: str, columns: int) -> list[tuple[int, int]]:
    """Return start and end of each wrapped row of a line. Scripts without spaces are broken between letters.

    Blanks between two rows belong to neither if they do not fit.
    """
    columns = max(columns, 2)
    if line.isascii() and len(line) <= columns:
        return [(0, len(line))]
    rows: list[tuple[int, int]] = []
    start = used = 0
    for match in re.finditer(_WORD, line):
        word, at = match.group(), match.start()
        bare = at_most(word.rstrip())
        if used and used + bare > columns:
            rows.append((start, at))
            start, used = at, 0
        if bare > columns and word.isascii():
            ends = range(at + columns, at + bare, columns)
            rows += zip([start, *ends[:-1]], ends, strict=False)
            start, used = ends[-1], at + len(word) - ends[-1]
        elif bare > columns:
            for n, size in _clusters(word):
                if used + size > columns and at + n > start and line[at + n] not in " \t":
                    rows.append((start, at + n))
                    start, used = at + n, 0
                used += size
        else:
            used += at_most(word)
    rows.append((start, len(line)))
    return [(start, _trimmed(line, start, end, columns)) for start, end in rows]


def chop(text: str, columns: int) -> list[str]:
    """Break a line of plain text into rows of at most `columns` cells, each as full as possible."""
    if text.isascii():
        return [text[start : start + columns] for start in range(0, max(len(text), 1), columns)]
    rows: list[str] = []
    start = used = 0
    for n, size in _clusters(text):
        if used + size > columns and n > start:
            rows.append(text[start:n])
            start, used = n, 0
        used += size
    return [*rows, text[start:]]


def fit(text: str, columns: int) -> str:
    """Cut or pad plain text to exactly `columns` cells."""
    text = clip(text, columns)
    return text + " " * (columns - width(text))


_UNCERTAIN = "[\u0300-\u036f\u200b-\u200f\ufe00-\ufe0f\U0001f1e6-\U0001f1ff\U0001f3fb-\U0001f3ff]"
_IDEOGRAPHS = "\u2e80-\u2fff\u3003-\u3007\u3012-\u3013\u3020-\u31ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_OPENING = "\u2018\u201c\u3008\u300a\u300c\u300e\u3010\u3014\u3016\u3018\uff08\uff3b\uff5b"
_CLOSING = "\u2019\u201d\u3001\u3002\u3009\u300b\u300d\u300f\u3011\u3015\u3017\u3019\u30fc\uff01\uff09\uff0c\uff0e\uff1a\uff1b\uff1f\uff3d\uff5d"
_OTHER = f"[^\\s{_IDEOGRAPHS}]+"
_FIRST_COLUMN = r" *\S+(?: \S+)* {2,}(?=\S)| +(?=\S)"
_WORD = (
    f"[{_OPENING}]{{0,4}}[{_IDEOGRAPHS}][\ufe00-\ufe0f]*[{_CLOSING}]*[^\\S\\n]*"
    f"|{_OTHER}?(?=[{_OPENING}]{{0,4}}[{_IDEOGRAPHS}])|{_OTHER}\\s*|\\s+"
)
"""A word with the blanks after it, or one ideograph with the marks that must follow it."""
_JOINER = "\u200d"


def _trimmed(line: str, start: int, end: int, columns: int) -> int:
    while end > start and line[end - 1] in " \t" and width(line[start:end]) > columns:
        end -= 1
    return end


def _clusters(text: str) -> list[tuple[int, int]]:
    """Return the grapheme clusters: start and maximal width of each."""
    if text.isascii():
        return [(n, 1) for n in range(len(text))]
    found: list[tuple[int, int]] = []
    joined = flag = False
    for n, char in enumerate(text):
        size, letter = _cell(char), "\U0001f1e6" <= char <= "\U0001f1ff"
        if found and (joined or size == 0 or "\U0001f3fb" <= char <= "\U0001f3ff" or (letter and flag)):
            start, before = found[-1]
            # A variation selector may widen the character before it.
            found[-1] = (start, max(before + size, 2 if char == "\ufe0f" else 0))
            flag = False
        else:
            found.append((n, size))
            flag = letter
        joined = char == _JOINER
    return found


def _pieces(line: str) -> list[str]:
    return _PIECE.findall(line)


_PIECE = re.compile(_SEQUENCE + "|.", re.DOTALL)


@lru_cache(4096)
def _cell(char: str) -> int:
    from wcwidth import wcwidth  # its tables take 30 ms: not before the first paint

    return max(wcwidth(char), 0)


@lru_cache(4096)
def _wide(line: str) -> int:
    from wcwidth import wcswidth

    whole = wcswidth(line)
    return whole if whole >= 0 else sum(map(_cell, line))
