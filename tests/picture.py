"""Draws the README's pictures from the real program: `python -m tests.picture` plays the demo and writes tests/picture-dark.svg and -light.svg."""

from __future__ import annotations

import re
import tempfile
from itertools import groupby
from pathlib import Path

import pyte
from rich.console import Console
from rich.style import Style
from rich.terminal_theme import SVG_EXPORT_THEME, TerminalTheme
from rich.text import Text

from tests.e2e.program import Program
from tests.terminal import Terminal

COLUMNS, ROWS = 84, 36
FOLDER = Path(__file__).parent
LIGHT = TerminalTheme(
    (255, 255, 255),
    (36, 41, 47),
    [(36, 41, 47), (164, 14, 38), (17, 99, 41), (125, 78, 0), (5, 80, 174), (130, 80, 223), (27, 124, 131), (110, 119, 129)],
    [(87, 96, 106), (207, 34, 46), (26, 127, 55), (154, 103, 0), (33, 139, 255), (163, 117, 255), (49, 146, 170), (140, 149, 159)],
)  # fmt: skip
"""Colours that are readable on white."""
FONTS = "ui-monospace, SFMono-Regular, Menlo, Consolas, DejaVu Sans Mono, monospace"
THEMES = {"dark": SVG_EXPORT_THEME, "light": LIGHT}


def main() -> None:
    """Play the demo up to its first edit, once in each theme, and draw the screen."""
    for name, theme in THEMES.items():
        with tempfile.TemporaryDirectory() as folder:
            program = Program(Path(folder), {"COLORTERM": "truecolor", "AGENTCLI_UI__THEME": name})
            with program.terminal("demo", columns=COLUMNS, rows=ROWS) as terminal:
                terminal.until("1. Yes")
                terminal.settle(1.0)
                drawn = svg(screen_of(terminal), "agentcli demo", theme)
        (FOLDER / f"picture-{name}.svg").write_text(drawn, encoding="utf-8")


def screen_of(terminal: Terminal) -> pyte.Screen:
    """The screen with its colours."""
    screen = pyte.Screen(COLUMNS, ROWS)
    pyte.ByteStream(screen).feed(terminal.raw)
    return screen


def svg(screen: pyte.Screen, title: str, theme: TerminalTheme = SVG_EXPORT_THEME) -> str:
    """The screen in a frame as SVG, down to its last row that is not empty."""
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
        drawn = console.export_svg(title=title, theme=theme)
    # Without the web fonts that rich would have a viewer load.
    drawn = re.sub(r"@font-face \{.*?\}\s*", "", drawn, flags=re.DOTALL)
    drawn = drawn.replace("Fira Code, monospace", FONTS)
    # The frame's line is drawn for a dark page.
    return drawn.replace('stroke="rgba(255,255,255,0.35)"', 'stroke="rgba(127,127,127,0.5)"')


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
