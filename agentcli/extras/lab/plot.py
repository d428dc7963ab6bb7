"""Tokens over requests, a line for each policy: as characters and as SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from types import MappingProxyType

MARKS = "agorsxyz"
COLOURS = (
    ("#0969da", "#4493f8"), ("#cf222e", "#f85149"), ("#1a7f37", "#3fb950"), ("#9a6700", "#d29922"), ("#8250df", "#ab7df8"),
    ("#57606a", "#9198a1"), ("#bf3989", "#db61a2"), ("#1b7c83", "#39c5cf"),
)  # fmt: skip
"""Colours of the lines on a light page and on a dark one."""
WIDTH, HEIGHT = 960, 320
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 96, 28, 40
_INNER = WIDTH - _LEFT - _RIGHT
_LINE = 14
"""Height of a name at the end of a line."""
_TICKS = 6

Series = Mapping[str, Sequence[int]]


def text_plot(series: Series, width: int = 76, height: int = 14) -> list[str]:
    """Return a plot of plain characters: each policy by its letter; if lines meet, the later policy hides the earlier."""
    most = max((max(values, default=0) for values in series.values()), default=0)
    longest = max(map(len, series.values()), default=0)
    if not most:
        return ["Nothing to plot."]
    columns = max(10, width - 9)
    rows = [[" "] * columns for _ in range(height)]
    marks = _marks(series)
    for name, values in series.items():
        for column in range(columns):
            at = column * longest // columns
            if at < len(values):
                rows[height - 1 - (values[at] * (height - 1)) // most][column] = marks[name]
    labels = {0: _short(most), height - 1: "0"}
    lines = [f"{labels.get(n, ''):>7} |{''.join(row).rstrip()}" for n, row in enumerate(rows)]
    legend = "  ".join(f"{mark} {name}" for name, mark in marks.items())
    return [*lines, f"{'':7} +{'-' * columns}", f"{'':9}tokens of each of {longest:,} requests", f"{'':9}{legend}"]


def svg(series: Series, title: str = "", marks: Mapping[str, int] = MappingProxyType({})) -> str:
    """Return the plot as an SVG image, light or dark like the reader's system.

    `marks` are thresholds in tokens by name, drawn as dashed lines. Above `window` is a band that no request may reach.
    """
    window = marks.get("window", 0)
    levels = {name: at for name, at in marks.items() if at and name != "window"}
    most = max((max(values, default=0) for values in series.values()), default=0)
    most = max(most, *levels.values(), 1) if levels else max(most, 1)
    # The whole window is shown only if the lines come near it.
    most = round(window * 1.04) if window and most > window / 2 else round(most * 1.04)
    longest = max(map(len, series.values()), default=1)
    curves = [_curve(values, n, longest, most) for n, values in enumerate(series.values())]
    band = f'<rect class="band" x="{_LEFT}" y="{_TOP}" width="{_INNER}" height="{_y(window, most) - _TOP:.1f}"/>'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="13">',
            f"<style>{STYLE}</style>",
            f'<rect class="page" width="{WIDTH}" height="{HEIGHT}"/>',
            *([band] if 0 < window < most else []),
            f'<text class="ink" x="{_LEFT}" y="18">{escape(title)}</text>',
            *(_tick(value, most) for value in _ticks(most)),
            f'<path class="axis" d="M{_LEFT} {_TOP}V{HEIGHT - _BOTTOM}H{_LEFT + _INNER}"/>',
            f'<text class="faint" x="{_LEFT + _INNER / 2}" y="{HEIGHT - 10}" text-anchor="middle">requests (1 to {longest:,})</text>',
            *(_level(value, most, name) for name, value in levels.items()),
            *curves,
            *_names(series, longest, most),
            "</svg>",
        ]
    )


STYLE = (
    ".page{fill:#fff}.ink{fill:#1f2328}.faint{fill:#57606a}.axis{fill:none;stroke:#8c959f}.grid{stroke:#d8dee4}"
    ".level{stroke:#8c959f;stroke-dasharray:4 4}.band{fill:#ffebe9}"
    + "".join(f".c{n}{{stroke:{light}}}.n{n}{{fill:{light}}}" for n, (light, _) in enumerate(COLOURS))
    + "@media(prefers-color-scheme:dark){.page{fill:#0d1117}.ink{fill:#e6edf3}.faint{fill:#9198a1}.axis{stroke:#6e7681}"
    ".grid{stroke:#21262d}.level{stroke:#6e7681}.band{fill:#3a1a1a}"
    + "".join(f".c{n}{{stroke:{dark}}}.n{n}{{fill:{dark}}}" for n, (_, dark) in enumerate(COLOURS))
    + "}"
)
"""Colours of a plot, on a light page and on a dark one. `c` and `n` with a number are a policy's line and name."""


def _curve(values: Sequence[int], number: int, longest: int, most: int) -> str:
    points = " ".join(f"{_x(n, longest):.1f},{_y(value, most):.1f}" for n, value in enumerate(values))
    return f'<polyline class="c{number % len(COLOURS)}" points="{points}" fill="none" stroke-width="1.5"/>'


def _names(series: Series, longest: int, most: int) -> list[str]:
    """Return the name of each line at its end; names that would overlap are moved apart."""
    ends = [(_y(values[-1], most), n, name, len(values)) for n, (name, values) in enumerate(series.items()) if values]
    names, lowest = [], 0.0
    for at, n, name, count in sorted(ends):
        lowest = max(at, lowest + _LINE)
        x = min(_x(count - 1, longest), _LEFT + _INNER) + 6
        names.append(f'<text class="n{n % len(COLOURS)}" x="{x:.1f}" y="{lowest + 4:.1f}">{escape(name)}</text>')
    return names


def _ticks(most: int) -> list[int]:
    """Return round numbers from 0 on, at most six."""
    step = 10 ** max(0, len(str(most)) - 2)
    while most / step > _TICKS:
        step *= 5 if str(step)[0] == "2" and most / step > 2 * _TICKS else 2
    return list(range(0, most + 1, step))


def _tick(value: int, most: int) -> str:
    height = _y(value, most)
    line = f'<path class="grid" d="M{_LEFT} {height:.1f}H{_LEFT + _INNER}"/>'
    return f'{line}<text class="faint" x="{_LEFT - 6}" y="{height + 4:.1f}" text-anchor="end">{_short(value)}</text>'


def _level(value: int, most: int, name: str) -> str:
    height = _y(value, most)
    line = f'<path class="level" d="M{_LEFT} {height:.1f}H{_LEFT + _INNER}"/>'
    return f'{line}<text class="faint" x="{_LEFT + 6}" y="{height - 4:.1f}">{name}</text>'


def _x(number: int, longest: int) -> float:
    return _LEFT + _INNER * number / max(1, longest - 1)


def _y(value: int, most: int) -> float:
    return HEIGHT - _BOTTOM - (HEIGHT - _TOP - _BOTTOM) * value / most


def _marks(series: Series) -> dict[str, str]:
    """Return a letter for each policy: its first one that is still free."""
    taken: dict[str, str] = {}
    for name in series:
        free = (letter for letter in (*name, *MARKS) if letter not in taken.values())
        taken[name] = next(free, "?")
    return taken


def _short(tokens: int) -> str:
    return f"{tokens / 1000:.0f}k" if tokens >= 1000 else str(tokens)
