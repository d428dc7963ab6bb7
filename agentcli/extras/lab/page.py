"""A comparison as one self-contained HTML page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from types import MappingProxyType

from agentcli.extras.lab.compare import COLUMNS, TENTHS, Report
from agentcli.extras.lab.demand import PARTS
from agentcli.extras.lab.plot import COLOURS, STYLE, svg
from agentcli.extras.lab.points import points, svg_bars


def html(report: Report, marks: Mapping[str, int] = MappingProxyType({})) -> str:
    """Return a whole comparison's tables and plots on one page, light or dark like the reader's system."""
    parts = []
    for title, rows in report.tables():
        parts.append(f"<h2>{escape(title)}</h2>\n{_table(COLUMNS, rows)}")
        if title in report.played:
            played = report.played[title]
            parts.append(svg({policy: one.sizes for policy, one in played.items()}, "", marks))
            parts.append(_table(TENTHS, report.tenths(title)))
            parts.append(svg_tenths({policy: one.needs.tenths() for policy, one in played.items()}))
    parts.append(svg_bars(points(report)))
    body = "\n".join(parts)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Context policies compared</title>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<style>{_PAGE}</style></head>\n"
        f"<body><h1>Context policies compared</h1>\n{body}\n</body></html>\n"
    )


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    body = "\n".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<div><table><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table></div>"


_PAGE = (
    ":root{color-scheme:light dark}"
    "body{font:15px/1.5 system-ui,sans-serif;margin:1rem auto;max-width:80rem;padding:0 1rem;color:#1f2328;background:#fff}"
    "div{overflow-x:auto}table{border-collapse:collapse;font-size:13px}th,td{padding:.25rem .6rem;text-align:right;white-space:nowrap}"
    "th:first-child,td:first-child{text-align:left}tr{border-bottom:1px solid #d8dee4}svg{max-width:100%;height:auto}"
    "@media(prefers-color-scheme:dark){body{color:#e6edf3;background:#0d1117}tr{border-color:#30363d}}"
)


WIDTH, HEIGHT = 960, 280
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 96, 28, 40
_LINE = 14
"""Height of a name at the end of a line."""


def svg_tenths(shares: Mapping[str, Sequence[float]]) -> str:
    """Return the lines as an SVG image, light or dark like the reader's system. Its bottom is a tenth below the lowest
    share.
    """
    lowest = min((share for line in shares.values() for share in line), default=1.0)
    low = max(0.0, int(lowest * 10) / 10 - 0.1)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="13">',
        f"<style>{STYLE}</style>",
        f'<rect class="page" width="{WIDTH}" height="{HEIGHT}"/>',
        f'<path d="M{_LEFT} {_TOP}V{HEIGHT - _BOTTOM}H{WIDTH - _RIGHT}" class="axis"/>',
        f'<text x="{_LEFT - 6}" y="{_TOP + 5}" text-anchor="end" class="faint">100%</text>',
        f'<text x="{_LEFT - 6}" y="{HEIGHT - _BOTTOM}" text-anchor="end" class="faint">{low:.0%}</text>',
        f'<text x="{_LEFT}" y="{HEIGHT - 10}" class="faint">tenths of the session · upwards: needed names in view</text>',
    ]
    drawn = {name: [_place(n, share, low) for n, share in enumerate(line)] for name, line in shares.items()}
    for number, places in enumerate(drawn.values()):
        joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        lines.append(f'<polyline class="c{number % len(COLOURS)}" points="{joined}" fill="none" stroke-width="1.5"/>')
    below = 0.0
    for end, number, name in sorted((places[-1][1], n, name) for n, (name, places) in enumerate(drawn.items())):
        below = max(end, below + _LINE)
        at = f'x="{WIDTH - _RIGHT + 6}" y="{below + 4:.1f}"'
        lines.append(f'<text class="n{number % len(COLOURS)}" {at}>{escape(name)}</text>')
    return "\n".join([*lines, "</svg>"])


def _place(tenth: int, share: float, low: float) -> tuple[float, float]:
    x = _LEFT + (WIDTH - _LEFT - _RIGHT) * tenth / (PARTS - 1)
    return x, HEIGHT - _BOTTOM - (HEIGHT - _TOP - _BOTTOM) * (share - low) / (1 - low)
