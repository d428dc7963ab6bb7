"""Makes the README's picture from the real program: plays the demo in a real terminal and draws what stands on its screen.

python scripts/picture.py [docs/demo.svg]
"""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

import pyte
from rich.console import Console
from rich.style import Style
from rich.text import Text

REPOSITORY = Path(__file__).parents[1]
sys.path.insert(0, str(REPOSITORY))

from tests.terminal import Terminal  # noqa: E402 - the harness of the tests, which is not installed

COLUMNS, ROWS = 96, 44
SECONDS = 60.0


def main(target: Path) -> None:
    """Play the demo up to its second approval and write the screen as SVG."""
    with tempfile.TemporaryDirectory() as home:
        folders = {f"XDG_{kind}_HOME": f"{home}/{kind}" for kind in ("CONFIG", "DATA", "STATE", "CACHE")}
        command = [sys.executable, "-m", "agentcli", "demo"]
        with Terminal(command, columns=COLUMNS, rows=ROWS, env=folders, cwd=str(REPOSITORY)) as terminal:
            terminal.until("Yes, once", SECONDS)
            terminal.settle()
            picture = _picture(terminal)
    console = Console(width=COLUMNS, record=True, file=open("/dev/null", "w"), force_terminal=True)  # noqa: SIM115
    console.print(picture)
    target.parent.mkdir(exist_ok=True)
    svg = console.export_svg(title="agentcli")
    # Nobody who reads the README should load a font from elsewhere.
    target.write_text(re.sub(r"\s*(@font-face \{.*?\}|<!--.*?-->)", "", svg, flags=re.DOTALL), encoding="utf-8")


def _picture(terminal: Terminal) -> Text:
    screen = terminal.picture()
    lines = [_line(screen.buffer[row], COLUMNS) for row in range(ROWS)]
    while lines and not lines[-1].plain.strip():
        lines.pop()
    return Text("\n").join(lines)


def _line(cells: dict[int, pyte.screens.Char], columns: int) -> Text:
    line = Text(no_wrap=True)
    for column in range(columns):
        cell = cells[column]
        line.append(cell.data, _style(cell))
    return line


def _style(cell: pyte.screens.Char) -> Style:
    names = {"brown": "yellow", "brightbrown": "bright_yellow"}
    colour = None if cell.fg == "default" else names.get(cell.fg, cell.fg.replace("bright", "bright_"))
    return Style(color=colour, bold=cell.bold, italic=cell.italics, reverse=cell.reverse)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else REPOSITORY / "docs" / "demo.svg")
