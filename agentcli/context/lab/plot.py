"""Tokens over requests, a line for each policy: as characters, as SVG, as an HTML page that needs nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from agentcli.context.lab.compare import Report, table

MARKS = "agorsxyz"
COLOURS = ("#0969da", "#cf222e", "#1a7f37", "#9a6700", "#8250df", "#57606a")
WIDTH, HEIGHT = 860, 320
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 16, 28, 36

Series = Mapping[str, Sequence[int]]


def text_plot(series: Series, width: int = 76, height: int = 14) -> list[str]:
    """A plot of plain characters: each policy by its letter, where lines meet the later policy hides the earlier."""
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
    return [*lines, f"{'':7} +{'-' * columns}", f"{'':9}tokens of each of {longest:,} requests    {legend}"]


def svg(series: Series, title: str = "", soft: int = 0, hard: int = 0) -> str:
    """The same as an image; dashed lines where `soft` and `hard` marks are given."""
    most = max((max(values, default=0) for values in series.values()), default=0)
    most = max(most, hard, 1)
    longest = max(map(len, series.values()), default=1)
    lines = [
        _curve(values, colour, longest, most)
        for values, colour in zip(series.values(), _cycle(len(series)), strict=True)
    ]
    levels = [_level(value, most, name) for name, value in (("soft", soft), ("hard", hard)) if value]
    legend = [
        f'<text x="{_LEFT + 130 * n}" y="{HEIGHT - 8}" fill="{colour}">{escape(name)}</text>'
        for n, (name, colour) in enumerate(zip(series, _cycle(len(series)), strict=True))
    ]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="13">',
            f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
            f'<text x="{_LEFT}" y="18" fill="#1f2328">{escape(title)}</text>',
            f'<text x="{_LEFT - 6}" y="{_TOP + 10}" text-anchor="end" fill="#57606a">{_short(most)}</text>',
            f'<text x="{_LEFT - 6}" y="{HEIGHT - _BOTTOM}" text-anchor="end" fill="#57606a">0</text>',
            f'<path d="M{_LEFT} {_TOP}V{HEIGHT - _BOTTOM}H{WIDTH - _RIGHT}" fill="none" stroke="#8c959f"/>',
            *levels,
            *lines,
            *legend,
            "</svg>",
        ]
    )


def html(report: Report, soft: int = 0, hard: int = 0) -> str:
    """Tables and plots of a whole comparison on one page."""
    tables = "\n".join(
        f"<h2>{escape(name)}</h2>\n<pre>{escape(chr(10).join(table(by_policy.values())))}</pre>\n"
        + svg({policy: played.sizes for policy, played in by_policy.items()}, "", soft, hard)
        for name, by_policy in report.played.items()
    )
    whole = escape("\n".join(report.lines()[-len(report.policies) - 2 :])) if len(report.played) > 1 else ""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Context policies compared</title>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        "<style>body{font:15px/1.5 system-ui,sans-serif;margin:1rem auto;max-width:60rem;padding:0 1rem}"
        "pre{overflow-x:auto;font-size:12px}svg{max-width:100%;height:auto}</style></head>\n"
        f"<body><h1>Context policies compared</h1>\n<pre>{whole}</pre>\n{tables}\n</body></html>\n"
    )


def _curve(values: Sequence[int], colour: str, longest: int, most: int) -> str:
    points = " ".join(f"{_x(n, longest):.1f},{_y(value, most):.1f}" for n, value in enumerate(values))
    return f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.5"/>'


def _level(value: int, most: int, name: str) -> str:
    height = _y(value, most)
    line = f'<path d="M{_LEFT} {height:.1f}H{WIDTH - _RIGHT}" stroke="#8c959f" stroke-dasharray="4 4"/>'
    return f'{line}<text x="{WIDTH - _RIGHT}" y="{height - 4:.1f}" text-anchor="end" fill="#57606a">{name}</text>'


def _x(number: int, longest: int) -> float:
    return _LEFT + (WIDTH - _LEFT - _RIGHT) * number / max(1, longest - 1)


def _y(value: int, most: int) -> float:
    return HEIGHT - _BOTTOM - (HEIGHT - _TOP - _BOTTOM) * value / most


def _marks(series: Series) -> dict[str, str]:
    """A letter for each policy: its first one that is still free."""
    taken: dict[str, str] = {}
    for name in series:
        free = (letter for letter in (*name, *MARKS) if letter not in taken.values())
        taken[name] = next(free, "?")
    return taken


def _cycle(count: int) -> list[str]:
    return [COLOURS[n % len(COLOURS)] for n in range(count)]


def _short(tokens: int) -> str:
    return f"{tokens / 1000:.0f}k" if tokens >= 1000 else str(tokens)
