"""The share of the needed names in view over the tenths of a session, a line for each policy, as SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from agentcli.extras.lab.demand import PARTS
from agentcli.extras.lab.plot import COLOURS, STYLE

WIDTH, HEIGHT = 960, 280
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 96, 28, 40
_LINE = 14
"""Height of a name at the end of a line."""


def svg_tenths(shares: Mapping[str, Sequence[float]]) -> str:
    """Return the lines as an SVG image, light or dark like the reader's system; its foot is a tenth below the lowest share."""
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
