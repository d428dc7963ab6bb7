"""Pager: lines in a window that is scrolled and searched. Pure values; `Viewing` reads the keys and paints."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from agentcli.core.dataclass import dataclass
from agentcli.frontends.terminal.render.frame import Size
from agentcli.frontends.terminal.style import Theme
from agentcli.system.cells import ESCAPE, clip, width

AROUND = 2
"""Rows above and below the lines: the title, and the keys."""
ABOVE_MATCH = 3
"""Rows shown above a match that is jumped to."""


@dataclass(frozen=True, slots=True)
class Pager:
    """Lines in a window: `height` of them are shown from `top` on.

    `stops` are the lines of the prompts. `found` are the lines that contain `query`, `at` the current match. `entry` is
    the search being typed, None without one, and `begun` the top line at its start.
    """

    lines: Sequence[str] = ()
    height: int = 1
    top: int = 0
    stops: Sequence[int] = ()
    query: str = ""
    found: Sequence[int] = ()
    at: int = -1
    entry: str | None = None
    begun: int = 0

    @property
    def last(self) -> int:
        """The highest `top`: the last line is at the bottom of the window."""
        return max(len(self.lines) - self.height, 0)

    @property
    def at_end(self) -> bool:
        """True if the last line is shown."""
        return self.top >= self.last

    def to(self, top: int) -> Pager:
        """Scroll to a line, as far as the lines allow."""
        return replace(self, top=min(max(top, 0), self.last))

    def resized(self, height: int) -> Pager:
        """Change the window's height; a pager at the end stays at the end."""
        at_end = self.at_end
        pager = replace(self, height=max(height, 1))
        return pager.to(pager.last if at_end else pager.top)

    def replaced(self, lines: Sequence[str], stops: Sequence[int], above: int = 0) -> Pager:
        """Replace the lines; `above` of them precede the old ones: the same line stays at the top."""
        found = matches(lines, self.query)
        at = self.at + sum(line < above for line in found) if self.found else len(found) - 1
        pager = replace(self, lines=lines, stops=stops, found=found, at=min(at, len(found) - 1))
        return replace(pager, begun=self.begun + above).to(self.top + above)


def press(pager: Pager, key: str) -> Pager | None:
    """Return the pager after a key (its name, or the character); None once it is closed."""
    if pager.entry is not None:
        return _typed(pager, pager.entry, key)
    match key:
        case "escape" | "c-c" | "q" | "Q" | "close":
            return None
        case "up" | "k":
            return pager.to(pager.top - 1)
        case "down" | "j" | "enter":
            return pager.to(pager.top + 1)
        case "pageup" | "b":
            return pager.to(pager.top - max(pager.height - 1, 1))
        case "pagedown" | " " | "f":
            return pager.to(pager.top + max(pager.height - 1, 1))
        case "c-u" | "u":
            return pager.to(pager.top - max(pager.height // 2, 1))
        case "c-d" | "d":
            return pager.to(pager.top + max(pager.height // 2, 1))
        case "home" | "g":
            return pager.to(0)
        case "end" | "G":
            return pager.to(pager.last)
        case "[":
            return pager.to(max((stop for stop in pager.stops if stop < pager.top), default=0))
        case "]":
            return pager.to(min((stop for stop in pager.stops if stop > pager.top), default=pager.last))
        case "/":
            return replace(pager, entry="", begun=pager.top)
        case "n":
            return _jumped(pager, pager.at + 1)
        case "N" | "p":
            return _jumped(pager, pager.at - 1)
        case _:
            return pager


def _typed(pager: Pager, entry: str, key: str) -> Pager | None:
    """Apply a key to the search being typed.

    Every letter jumps to a match. Esc returns to where the search began.
    """
    match key:
        case "enter":
            return replace(pager, entry=None)
        case "escape" | "c-c":
            return replace(pager, entry=None, query="", found=(), at=-1).to(pager.begun)
        case "backspace" if not entry:
            return replace(pager, entry=None)
        case "backspace":
            return _sought(pager, entry[:-1])
        case _ if key.isprintable() and len(key) == 1:
            return _sought(pager, entry + key)
        case _:
            return pager


def _sought(pager: Pager, query: str) -> Pager:
    """Jump to the first match at or below the start of the search, else to the nearest one above."""
    found = matches(pager.lines, query)
    below = next((n for n, line in enumerate(found) if line >= pager.begun), len(found) - 1)
    pager = replace(pager, entry=query, query=query, found=found, at=below)
    return _jumped(pager, below) if found else pager.to(pager.begun)


def _jumped(pager: Pager, at: int) -> Pager:
    """Jump to another match, wrapping around at the ends."""
    if not pager.found:
        return pager
    at %= len(pager.found)
    line = pager.found[at]
    seen = pager.top <= line < pager.top + pager.height
    return replace(pager, at=at) if seen else replace(pager, at=at).to(line - ABOVE_MATCH)


def matches(lines: Sequence[str], query: str) -> Sequence[int]:
    """Return the indices of the lines that contain the query; case counts only if the query has a capital letter."""
    if not query:
        return ()
    pattern = _pattern(query)
    return tuple(n for n, line in enumerate(lines) if pattern.search(ESCAPE.sub("", line)))


def _pattern(query: str) -> re.Pattern[str]:
    return re.compile(re.escape(query), 0 if query != query.lower() else re.IGNORECASE)


def highlighted(line: str, query: str) -> str:
    """Return the line with every match in reverse video."""
    spans = [match.span() for match in _pattern(query).finditer(ESCAPE.sub("", line))] if query else []
    if not spans:
        return line
    edges = {start: _REVERSE for start, _ in spans} | {end: _NORMAL for _, end in spans if _not_begun(end, spans)}
    pieces, place, inside = [], 0, False
    for part in re.split(f"({ESCAPE.pattern})", line):
        if part.startswith("\x1b"):
            # A colour that begins inside a match ends the reversal with its reset.
            pieces.append(part + _REVERSE * inside)
            continue
        for char in part:
            if place in edges:
                inside = edges[place] == _REVERSE
                pieces.append(edges[place])
            pieces.append(char)
            place += 1
    return "".join(pieces) + _NORMAL * inside


_REVERSE, _NORMAL = "\x1b[7m", "\x1b[27m"


def _not_begun(end: int, spans: Sequence[tuple[int, int]]) -> bool:
    return all(start != end for start, _ in spans)


def draw(
    pager: Pager, size: Size, theme: Theme, title: str, notice: str = ""
) -> tuple[list[str], tuple[int, int] | None]:
    """Return the rows of the whole screen, and the cursor's position if there is an entry."""
    columns = size.columns - 1
    shown = [
        highlighted(clip(line, columns), pager.query) for line in pager.lines[pager.top : pager.top + pager.height]
    ]
    blank = [""] * (pager.height - len(shown))
    if pager.entry is not None:
        entry = clip(f"/{pager.entry}", columns - 12)
        below = entry + theme.paint("dim", f"  {_count(pager)}" if pager.query else "")
        cursor: tuple[int, int] | None = (pager.height + 1, width(entry))
    else:
        below, cursor = _footer(pager, columns, theme, notice), None
    return [_header(pager, columns, theme, title), *shown, *blank, below], cursor


def _header(pager: Pager, columns: int, theme: Theme, title: str) -> str:
    total = len(pager.lines)
    place = f" {min(pager.top + pager.height, total):,} of {total:,} lines ─"
    left = f"─ {title} "
    free = columns - width(left) - width(place)
    if free < 1:
        return theme.paint("strong", clip(title, columns))
    return theme.paint("dim", "─ ") + theme.paint("strong", title) + theme.paint("dim", f" {'─' * free}{place}")


def _footer(pager: Pager, columns: int, theme: Theme, notice: str) -> str:
    if notice:
        return theme.paint("warn", clip(notice, columns))
    search = [f"{_count(pager)} · n N next, previous"] if pager.query else ["/ search"]
    prompts = ["[ ] prompts"] if pager.stops else []
    scrolling = ["↑↓ PgUp PgDn scroll", *prompts, "g G start, end"] if pager.last or prompts else []
    keys = ["q close", *search, *scrolling]
    while len(keys) > 1 and width(" · ".join(keys)) > columns:
        keys.pop()
    return theme.paint("dim", clip(" · ".join(keys), columns))


def _count(pager: Pager) -> str:
    if not pager.found:
        return "no match"
    return f"{pager.at + 1} of {len(pager.found)}"
