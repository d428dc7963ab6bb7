"""Unified diffs as numbered, coloured lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import PurePath

from agentcli.core.dataclass import dataclass
from agentcli.core.sanitise import safe
from agentcli.core.text.unified_diff import Kind, parsed
from agentcli.frontends.terminal.render.spans import Row, Run, cut, size, written
from agentcli.frontends.terminal.render.syntax import coloured
from agentcli.frontends.terminal.style import Role, Theme
from agentcli.system.cells import chop, clip, expand

MARGIN = 8
"""Cells before a line's text: its number, its sign, and blanks between them."""


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of the diff with its number; its runs if it is coloured."""

    kind: Kind
    number: int
    text: str
    runs: Sequence[Run] = ()

    @property
    def row(self) -> Row:
        """The line as runs."""
        return [*self.runs] or [Run(self.text)]


def lines(diff: str, width: int, theme: Theme, named: str = "") -> list[str]:
    """Return the lines of the diff like `rows`, in a list."""
    return list(rows(diff, width, theme, named))


def rows(diff: str, width: int, theme: Theme, named: str = "") -> Iterator[str]:
    """Yield the lines of the diff with their line numbers; removed lines have their old number.

    Long lines are wrapped, not truncated, because the diff may await approval. A file that `named` ends with is not
    repeated.
    """
    return _numbered(safe(diff), max(width - MARGIN, 8), theme, named)


def _numbered(diff: str, columns: int, theme: Theme, named: str) -> Iterator[str]:
    removed: list[_Line] = []
    added: list[_Line] = []
    for line in _coloured(diff, theme, named):
        if line.kind == "+" and removed:
            added.append(line)
            continue
        if line.kind == "+":  # without a pair, it waits for no other line
            yield from _rows(line, columns, (0, 0), theme)
            continue
        if line.kind == "-" and not added:
            removed.append(line)
            continue
        yield from _changed(removed, added, columns, theme)
        removed, added = [], []
        match line.kind:
            case "-":
                removed.append(line)
            case " ":
                for n, row in enumerate(_chopped(line.row, columns)):
                    margin = theme.paint("dim", f"{line.number:>5}" if n == 0 else "     ")
                    yield f"{margin}   {written(row)}" if any(run.text.strip() for run in row) else margin
            case "gap":
                yield theme.paint("dim", "     ⋮")
            case "file" if line.text and not named.endswith(line.text):
                yield theme.paint("strong", clip(line.text, columns))
    yield from _changed(removed, added, columns, theme)


def _coloured(diff: str, theme: Theme, named: str) -> Iterator[_Line]:
    """Yield the lines of the diff.

    On a theme with bands, their code is highlighted. Each side of a hunk, old and new, is highlighted as one text.
    """
    hunk: list[_Line] = []
    suffix = _suffix(named)
    for kind, number, text in parsed(diff):
        if kind in ("-", "+", " "):
            line = _Line(kind, number, expand(text))
            if theme.bands and suffix:
                hunk.append(line)
            else:
                yield line
            continue
        yield from _highlighted(hunk, suffix, theme)
        hunk = []
        if kind == "file" and text:
            suffix = _suffix(text)
        yield _Line(kind, number, text)
    yield from _highlighted(hunk, suffix, theme)


def _highlighted(hunk: Sequence[_Line], suffix: str, theme: Theme) -> Sequence[_Line]:
    if not hunk:
        return hunk
    found = list(hunk)
    for side in ("-", "+"):
        places = [n for n, line in enumerate(hunk) if line.kind in (side, " ")]
        rows = coloured("\n".join(hunk[n].text for n in places), suffix, theme)
        for n, row in zip(places, rows, strict=False):
            found[n] = replace(hunk[n], runs=row)
    return found


def _suffix(path: str) -> str:
    """Return the suffix of a file's name, which is also a name of its language."""
    return PurePath(path).suffix.removeprefix(".")


def _changed(removed: Sequence[_Line], added: Sequence[_Line], columns: int, theme: Theme) -> Iterator[str]:
    """Yield the rows of replaced lines; differences are highlighted within each pair."""
    pairs = len(removed) == len(added)
    for side, others in ((removed, added), (added, removed)):
        for n, line in enumerate(side):
            span = _differs(line.text, others[n].text) if pairs else (0, 0)
            yield from _rows(line, columns, span, theme)


def _differs(text: str, other: str) -> tuple[int, int]:
    """Return the span that differs from the other text; empty if they have too little in common."""
    start = _common(text, other)
    end = _common(text[start:][::-1], other[start:][::-1])
    alike = start + end
    blank = not text[:start].strip() and not text[len(text) - end :].strip()
    return (start, len(text) - end) if not blank and 2 * alike >= max(len(text), len(other)) else (0, 0)


def _common(text: str, other: str) -> int:
    """Return the length of the common prefix."""
    pairs = zip(text, other, strict=False)
    return next((n for n, (one, another) in enumerate(pairs) if one != another), min(len(text), len(other)))


def _rows(line: _Line, columns: int, span: tuple[int, int], theme: Theme) -> Iterator[str]:
    role: Role = "added" if line.kind == "+" else "removed"
    changed: Role = "changed" if not theme.bands else "added changed" if role == "added" else "removed changed"
    sgr, start, end = theme.sgr(role), *span
    # A background band keeps the colours of the code; without a band the whole line is coloured.
    whole = line.row
    runs = [
        *cut(whole, 0, start),
        *(run.also(theme.sgr(changed)) for run in cut(whole, start, end)),
        *cut(whole, end, len(line.text)),
    ]
    for n, row in enumerate(_chopped(runs, columns)):
        margin = f"{line.number:>5} {line.kind} " if n == 0 else " " * MARGIN
        full = [Run(margin), *row, Run(" " * (columns - size(row)) if theme.bands else "")]
        yield written(run.also(sgr) for run in full)


def _chopped(runs: Row, columns: int) -> Iterator[Row]:
    """Split a line into rows of exactly `columns` cells; the last may be shorter."""
    at = 0
    for text in chop("".join(run.text for run in runs), columns):
        yield cut(runs, at, at + len(text))
        at += len(text)
