"""How wide text is on a terminal, and how to wrap and cut it; lines may carry colours (SGR sequences) and nothing else."""

from __future__ import annotations

import re
from functools import lru_cache

ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
RESET = "\x1b[0m"
TAB = 4


def width(line: str) -> int:
    """Cells that a line takes; colours take none."""
    if "\x1b" in line:
        line = ESCAPE.sub("", line)
    if line.isascii():
        return len(line)
    return _wide(line)


def certain(line: str) -> bool:
    """Whether all terminals agree on this width: nothing that joins, varies or combines."""
    return line.isascii() or not _UNCERTAIN.search(line)


def expand(text: str) -> str:
    """Tabs as spaces: a tab's width depends on where it stands, which the painter would have to follow."""
    return text.expandtabs(TAB) if "\t" in text else text


def clip(line: str, columns: int, mark: str = "…") -> str:
    """The line cut to `columns` cells, ending in `mark` where something was cut."""
    if width(line) <= columns:
        return line
    kept, used = [], width(mark)
    for piece in _pieces(line):
        if piece.startswith("\x1b"):
            kept.append(piece)
            continue
        used += _cell(piece)
        if used > columns:
            break
        kept.append(piece)
    return "".join(kept) + mark + (RESET if "\x1b" in line else "")


def wrap(text: str, columns: int) -> list[str]:
    """Plain text as rows of at most `columns` cells, broken at spaces where there are any; every character is kept."""
    return [row for line in text.split("\n") for row in _wrap_line(line, max(columns, 2))]


def chop(text: str, columns: int) -> list[str]:
    """One line of plain text as rows of at most `columns` cells, broken exactly where they are full."""
    rows: list[str] = []
    row: list[str] = []
    used = 0
    for char in text:
        size = _cell(char)
        if used + size > columns:
            rows.append("".join(row))
            row, used = [], 0
        row.append(char)
        used += size
    return [*rows, "".join(row)]


def fit(text: str, columns: int) -> str:
    """Plain text cut or padded to exactly `columns` cells."""
    text = clip(text, columns)
    return text + " " * (columns - width(text))


_UNCERTAIN = re.compile("[\u0300-\u036f\u200b-\u200f\ufe00-\ufe0f\U0001f1e6-\U0001f1ff\U0001f3fb-\U0001f3ff]")


def _wrap_line(line: str, columns: int) -> list[str]:
    rows, row, used = [], "", 0
    for word in re.findall(r"\S+\s*|\s+", line) or [""]:
        size, bare = width(word), width(word.rstrip())
        if used and used + bare > columns:
            rows.append(row)
            row, used = "", 0
        if bare > columns:
            *full, word = chop(word, columns)
            rows += full
            size = width(word)
        row, used = row + word, used + size
    return [*(piece.rstrip() if width(piece) > columns else piece for piece in rows), row[: _fitting(row, columns)]]


def _fitting(row: str, columns: int) -> int | None:
    return None if width(row) <= columns else len(chop(row, columns)[0])


def _pieces(line: str) -> list[str]:
    return re.findall(r"\x1b\[[0-9;]*m|.", line, re.DOTALL)


@lru_cache(4096)
def _cell(char: str) -> int:
    from wcwidth import wcwidth  # its tables take 30 ms: not before the first paint

    return max(wcwidth(char), 0)


@lru_cache(4096)
def _wide(line: str) -> int:
    from wcwidth import wcswidth

    whole = wcswidth(line)
    return whole if whole >= 0 else sum(map(_cell, line))
