"""Tables whose columns share the width of the terminal; a table that does not fit is listed row by row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from agentcli.frontends.terminal.render.spans import Row, Run, indented, lines, size, wrap
from agentcli.system.cells import at_most

Align = Literal["left", "right", "center"]
Cells = Sequence[Row]

GAP = 2
"""Blanks between two columns."""
NARROWEST = 8
"""Minimum width of a column that must wrap; without room for it, the table is listed row by row."""


def columns(rows: Sequence[Cells], room: int) -> list[int] | None:
    """Return the width of each column, the widest shrunk first; None if they do not fit side by side."""
    count = max(map(len, rows), default=0)
    wanted = [max((_natural(row[n]) for row in rows if n < len(row)), default=1) for n in range(count)]
    room -= GAP * (count - 1)
    if sum(wanted) <= room:
        return wanted
    cap = _cap(wanted, room)
    return [min(one, cap) for one in wanted] if cap >= NARROWEST else None


def drawn(
    head: Cells, rows: Sequence[Cells], aligns: Sequence[Align], wide: Sequence[int], dim: str, strong: str
) -> list[Row]:
    """Draw a table with a rule under its head; a faint rule separates rows of several lines. Without a head, only rows."""
    bold = [[run.also(strong) for run in cell] for cell in head]
    top = [*_beside(bold, aligns, wide), [Run((" " * GAP).join("─" * one for one in wide), dim)]] if head else []
    bodies = [_beside(row, aligns, wide) for row in rows]
    if all(len(body) == 1 for body in bodies):
        return [*top, *(body[0] for body in bodies)]
    rule = [Run((" " * GAP).join("┈" * one for one in wide), dim)]
    return [*top, *_parted(bodies, rule, again=not head)]


def listed(head: Cells, rows: Sequence[Cells], room: int, dim: str, strong: str, again: bool = False) -> list[Row]:
    """Return each row as `name: value` lines; `again` if other rows are above."""
    bodies: list[list[Row]] = []
    for row in rows:
        body: list[Row] = []
        for n, cell in enumerate(row):
            name = [run.also(strong) for run in head[n]] if n < len(head) else []
            label = [*name, Run(": ", strong)] if name else []
            body += indented(wrap([*label, *cell], room - 2), Run(""), Run("  "))
        bodies.append(body)
    return _parted(bodies, [Run("─" * min(room, 20), dim)], again)


def _parted(bodies: Sequence[list[Row]], rule: Row, again: bool) -> list[Row]:
    return [row for n, body in enumerate(bodies) for row in (*([rule] if n or again else []), *body)]


def _beside(cells: Cells, aligns: Sequence[Align], wide: Sequence[int]) -> list[Row]:
    """Return one row of the table, as many lines high as its highest cell."""
    wrapped: list[list[Row]] = [wrap(cells[n], one) if n < len(cells) else [[]] for n, one in enumerate(wide)]
    high = max(map(len, wrapped), default=0)
    found: list[Row] = []
    for line in range(high):
        row: Row = []
        for n, rows in enumerate(wrapped):
            cell = rows[line] if line < len(rows) else []
            left, right = _margins(wide[n] - size(cell), aligns[n] if n < len(aligns) else "left")
            last = n == len(wrapped) - 1
            row += [Run(" " * left), *cell, Run("" if last else " " * (right + GAP))]
        found.append(row)
    return found


def _margins(free: int, align: Align) -> tuple[int, int]:
    free = max(free, 0)
    left = {"left": 0, "right": free, "center": free // 2}[align]
    return left, free - left


def _natural(cell: Row) -> int:
    return max(1, *(at_most("".join(run.text for run in line)) for line in lines(cell)))


def _cap(wanted: Sequence[int], room: int) -> int:
    """Return the greatest common limit of the columns' widths that fits; narrower columns give their rest to the
    others.
    """
    left, narrow = room, sorted(wanted)
    for n, one in enumerate(narrow):
        share = left // (len(narrow) - n)
        if one > share:
            return share
        left -= one
    return narrow[-1]
