"""Draws the README's picture from the real program: `python -m tests.picture` plays the demo and writes tests/picture.svg."""

from __future__ import annotations

import re
import tempfile
from itertools import groupby
from pathlib import Path

import pyte
from rich.console import Console
from rich.style import Style
from rich.text import Text

from tests.e2e.program import Program
from tests.terminal import Terminal

COLUMNS, ROWS = 92, 46
TARGET = Path(__file__).with_name("picture.svg")


def main() -> None:
    """Play the demo up to the second test run, and draw what stands on the screen."""
    with tempfile.TemporaryDirectory() as name:
        program = Program(Path(name))
        with program.terminal("demo", columns=COLUMNS, rows=ROWS) as terminal:
            terminal.until("1. Yes, once")
            terminal.settle()
            draw(terminal)


def draw(terminal: Terminal) -> None:
    """Write the screen into the README's picture."""
    screen = pyte.Screen(COLUMNS, ROWS)
    pyte.ByteStream(screen).feed(terminal.raw)
    TARGET.write_text(svg(screen, "agentcli demo"), encoding="utf-8")


def svg(screen: pyte.Screen, title: str) -> str:
    """The screen as SVG, down to its last row that is not empty."""
    with open("/dev/null", "w") as nowhere:
        console = Console(
            record=True, width=screen.columns, file=nowhere, force_terminal=True, color_system="truecolor"
        )
        used = max((number for number, row in enumerate(screen.display) if row.strip()), default=0)
        for row in range(used + 1):
            line = Text()
            for look, cells in groupby((screen.buffer[row][column] for column in range(screen.columns)), style):
                line.append("".join(cell.data for cell in cells), look)
            console.print(line, no_wrap=True, overflow="crop")
        drawn = console.export_svg(title=title)
    # Without the web fonts that rich would have a viewer load.
    return re.sub(r"@font-face \{.*?\}\s*", "", drawn, flags=re.DOTALL)


def style(cell: pyte.screens.Char) -> Style:
    """A cell's look."""
    return Style(
        color=colour(cell.fg),
        bgcolor=colour(cell.bg),
        bold=cell.bold,
        italic=cell.italics,
        underline=cell.underscore,
        reverse=cell.reverse,
    )


def colour(name: str) -> str | None:
    """pyte's name of a colour as rich knows it."""
    if name == "default":
        return None
    if len(name) == 6 and all(letter in "0123456789abcdef" for letter in name.lower()):
        return f"#{name}"
    known = {"brown": "yellow", "brightbrown": "bright_yellow", "brightblack": "bright_black"}
    return known.get(name) or name.replace("bright", "bright_")


if __name__ == "__main__":
    main()
