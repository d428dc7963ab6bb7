"""Draws the README's pictures from the real program: `python -m tests.picture` plays the demo and writes tests/picture-dark.svg and -light.svg.

Each is one SVG of four screens that follow one another. A reader who wants no motion sees the second.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

import pyte
from rich.console import Console
from rich.style import Style
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from tests.e2e.program import Program
from tests.terminal import Terminal

COLUMNS, ROWS = 84, 30
SECONDS = 4
"""Seconds for which a screen is shown."""
FOLDER = Path(__file__).parent
DARK = TerminalTheme(
    (13, 17, 23),
    (230, 237, 243),
    [(72, 79, 88), (255, 123, 114), (63, 185, 80), (210, 153, 34), (88, 166, 255), (188, 140, 255), (57, 197, 207), (177, 186, 196)],
    [(110, 118, 129), (255, 161, 152), (86, 211, 100), (227, 179, 65), (121, 192, 255), (210, 168, 255), (86, 212, 221), (240, 246, 252)],
)  # fmt: skip
"""Colours on the ground of GitHub's dark pages."""
LIGHT = TerminalTheme(
    (255, 255, 255),
    (36, 41, 47),
    [(36, 41, 47), (164, 14, 38), (17, 99, 41), (125, 78, 0), (5, 80, 174), (130, 80, 223), (27, 124, 131), (110, 119, 129)],
    [(87, 96, 106), (207, 34, 46), (26, 127, 55), (154, 103, 0), (33, 139, 255), (163, 117, 255), (49, 146, 170), (140, 149, 159)],
)  # fmt: skip
"""Colours that are readable on white."""
FONTS = "ui-monospace, SFMono-Regular, Menlo, Consolas, DejaVu Sans Mono, monospace"
THEMES = {"dark": DARK, "light": LIGHT}


def main() -> None:
    """Play the demo once in each theme, and draw its screens."""
    for name, theme in THEMES.items():
        with tempfile.TemporaryDirectory() as folder:
            program = Program(Path(folder), {"COLORTERM": "truecolor", "AGENTCLI_UI__THEME": name})
            with program.terminal("demo", columns=COLUMNS, rows=ROWS) as terminal:
                drawn = moving([svg(screen, "agentcli demo", theme) for screen in played(terminal)])
        (FOLDER / f"picture-{name}.svg").write_text(drawn, encoding="utf-8")


def played(terminal: Terminal) -> Iterator[pyte.Screen]:
    """The screens: the prompt at work, the edit that asks, the end of the turn, and what fills the window after a compaction."""
    terminal.until("goes wrong")
    yield screen_of(terminal)
    terminal.until("1. Yes")
    terminal.settle(1.0)
    yield screen_of(terminal)
    terminal.send("\r")
    terminal.until("Tests: 3 ran", " out")
    yield screen_of(terminal)
    terminal.until("Check:", "1s ·")
    terminal.settle(1.0)
    terminal.send("/context\r")
    terminal.until("Token counts")
    terminal.send("/unc", at_once=True)
    terminal.settle(1.0)
    yield screen_of(terminal)


def screen_of(terminal: Terminal) -> pyte.Screen:
    """The screen with its colours."""
    screen = pyte.Screen(COLUMNS, ROWS)
    pyte.ByteStream(screen).feed(terminal.raw)
    return screen


def moving(drawings: Sequence[str]) -> str:
    """Drawings of one size as one that shows them in turn."""
    size = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', drawings[0])
    assert size is not None
    rules = [
        f"g.screen {{ opacity: 0; animation: screen {SECONDS * len(drawings)}s step-end infinite; }}",
        f"@keyframes screen {{ 0% {{ opacity: 1; }} {100 / len(drawings):g}% {{ opacity: 0; }} }}",
        *(f"g.screen:nth-of-type({n + 1}) {{ animation-delay: {n * SECONDS}s; }}" for n in range(len(drawings))),
        "@media (prefers-reduced-motion) { g.screen { animation: none; } g.screen:nth-of-type(2) { opacity: 1; } }",
    ]
    screens = "\n".join(f'<g class="screen">{each}</g>' for each in drawings)
    opening = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size[1]} {size[2]}">'
    return f"{opening}\n<style>{' '.join(rules)}</style>\n{screens}\n</svg>\n"


def svg(screen: pyte.Screen, title: str, theme: TerminalTheme = DARK) -> str:
    """The screen in a frame as SVG."""
    with open("/dev/null", "w") as nowhere:
        console = Console(
            record=True, width=screen.columns, file=nowhere, force_terminal=True, color_system="truecolor"
        )
        for row in range(screen.lines):
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
