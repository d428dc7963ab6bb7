"""Tables and lists that are printed once: drawn by rich on a terminal, plain and complete otherwise.

Rich is slow to import, so it is imported only to draw. `agentcli.frontends.terminal.render` draws a session's replies.
Rich's Markdown would drop words of a reply (HTML tags, link addresses), and cannot print blocks as they arrive.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from agentcli.core.dataclass import dataclass
from agentcli.core.sanitise import safe, safe_line
from agentcli.system.cells import clip, width

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

GAP = 2
"""Cells between two columns."""
NARROWEST = 12
"""Minimum cells of a column that takes the rest of the line."""
STYLED_ROWS = 1_000
"""Rows above which a table on a terminal is printed without styles and wrapping.

Rich takes a millisecond for each row.
"""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table. Everything but `head` and `numeric` concerns a terminal only."""

    head: str
    style: str = ""
    """Style of rich."""
    numeric: bool = False
    """If true, cells are aligned right."""
    fills: bool = False
    """If true, it takes the rest of the line and is cut with `…`."""
    wraps: bool = False
    """If true, it continues on the next line."""
    from_width: int = 0
    """Cells of the terminal below which the column is dropped."""


def on_terminal(stream: TextIO) -> bool:
    """Return True if the stream is a terminal that can do more than print lines."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def print_table(
    columns: Sequence[Column], rows: Sequence[Sequence[Any]], stream: TextIO | None = None, cells: int = 0
) -> None:
    """Print rows below a head. `cells`: width of the terminal, if it is known."""
    out = sys.stdout if stream is None else stream
    texts = [_cells(column) for column in zip(*rows, strict=True)]
    if on_terminal(out):
        import shutil

        each = [*zip(*texts, strict=True)]
        _print_drawn(columns, each, out, cells or shutil.get_terminal_size((80, 24)).columns)
    else:
        print("\n".join(_aligned(columns, texts)), file=out)


def plain_table(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> list[str]:
    """Align the rows below a head, as lines; nothing is cut."""
    return _aligned(columns, [*zip(*rows, strict=True)])


def _aligned(columns: Sequence[Column], cells: Sequence[Sequence[str]]) -> list[str]:
    """Align the cells of each column below its head, as lines."""
    padded = []
    for n, column in enumerate(columns):
        texts = [column.head, *(cells[n] if cells else ())]
        # Trailing blanks of a line would be stripped again.
        ends_line = n == len(columns) - 1 and not column.numeric
        padded.append(texts if ends_line else _padded(texts, column))
    return [(" " * GAP).join(line).rstrip() for line in zip(*padded, strict=True)]


def _padded(texts: Sequence[str], column: Column) -> Sequence[str]:
    """Pad the texts of a column to the width of the widest."""
    joined = "".join(texts)
    if joined.isascii() and "\x1b" not in joined:  # the width of each is its length
        widest = max(map(len, texts))
        return [text.rjust(widest) if column.numeric else text.ljust(widest) for text in texts]
    cells = [width(text) for text in texts]
    widest = max(cells)
    blanks = [" " * (widest - taken) for taken in cells]
    return [blank + text if column.numeric else text + blank for text, blank in zip(texts, blanks, strict=True)]


def _print_drawn(columns: Sequence[Column], rows: Sequence[Sequence[str]], out: TextIO, cells: int) -> None:
    from rich.table import Table
    from rich.text import Text

    places = [n for n, column in enumerate(columns) if column.from_width <= cells]
    wide = {n: max(width(text) for text in (columns[n].head, *(row[n] for row in rows))) for n in places}
    flexible = {n for n in places if columns[n].fills or columns[n].wraps}
    others = sum(wide[n] + GAP for n in places if n not in flexible)
    room = max(cells - others, NARROWEST)
    if len(rows) > STYLED_ROWS:
        shortened = [[clip(row[n], room) if n in flexible else row[n] for n in places] for row in rows]
        print("\n".join(plain_table([columns[n] for n in places], shortened)), file=out)
        return
    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold")
    for n in places:
        column = columns[n]
        limit = min(room, wide[n]) if n in flexible else None
        table.add_column(
            Text(column.head),
            style=column.style,
            justify="right" if column.numeric else "left",
            no_wrap=not column.wraps,
            overflow="fold" if column.wraps else "ellipsis",
            max_width=limit,
        )
    for row in rows:
        table.add_row(*(_shortened(row[n], columns[n], room) for n in places))
    console(out, cells).print(table)


def _shortened(text: str, column: Column, room: int) -> Text:
    from rich.text import Text

    return Text(clip(text, room) if column.fills else text)


def console(stream: TextIO | None = None, cells: int = 0) -> Console:
    """Make rich's console for a stream. Texts stay as they are: no markup, no emoji codes, no guessed colours."""
    from rich.console import Console

    return Console(
        file=sys.stdout if stream is None else stream,
        width=cells or None,
        force_terminal=True if stream is None or on_terminal(stream) else None,
        highlight=False,
        markup=False,
        emoji=False,
    )


def print_styled(pieces: Iterable[tuple[str, str]], stream: TextIO | None = None, cells: int = 0) -> None:
    """Print a line of pieces of text, each with a rich style.

    Only a terminal shows the styles. There the line wraps at words.
    """
    out = sys.stdout if stream is None else stream
    if not on_terminal(out):
        print(safe("".join(text for text, _ in pieces)), file=out)
        return
    from rich.text import Text

    console(out, cells).print(Text.assemble(*((safe(text), style) for text, style in pieces)))


_HELP_STYLES = (
    (r"^(Usage|Arguments|Options|Commands):", "bold"),
    (r"(?<=^  )[a-z]+(?=  )|(?<![\w-])--?[a-zA-Z][\w-]*", "cyan"),
    (r"`[^`]+`", "bold"),
    (r"\[(?:default: [^]]*|required)\]", "dim"),
)
"""Highlighted parts of a help text: patterns and their styles."""


def print_help(text: str) -> None:
    """Print the help of a command, on a terminal in colours."""
    if not on_terminal(sys.stdout):
        print(text, end="")
        return
    from rich.text import Text

    styled = Text(text)
    for pattern, style in _HELP_STYLES:
        styled.highlight_regex(re.compile(pattern, re.MULTILINE), style)
    console().print(styled, end="", soft_wrap=True)


def _cells(values: Sequence[Any]) -> Sequence[str]:
    """Return the values of a column as text, safe for one line."""
    match [*{*map(type, values)}]:  # one look at a column is faster than one at each value
        case [kind] if kind is str and (joined := "".join(values)).isascii() and joined.isprintable():
            return values
        case [kind] if kind in (int, float):
            return [*map(("{:,}" if kind is int else "{:,.4f}").format, values)]
        case _:
            return [*map(_cell, values)]


def _cell(value: Any) -> str:
    match value:
        case str():
            return safe_line(value)
        case None:
            return ""
        case float():
            return f"{value:,.4f}"
        case int():
            return f"{value:,}"
        case _:
            return safe_line(str(value))
