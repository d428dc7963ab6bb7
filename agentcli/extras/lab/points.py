"""Price against share in view, a point for each policy and horizon: as characters, and as SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from agentcli.core.dataclass import dataclass
from agentcli.extras.lab.plot import COLOURS, STYLE
from agentcli.extras.lab.replay import Played

WIDTH, HEIGHT = 720, 400
_LEFT, _RIGHT, _TOP, _BOTTOM = 72, 120, 40, 48
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True, slots=True)
class Point:
    """Price of a policy in USD with a recall for each miss, and the share of needed names in view."""

    name: str
    cost: float
    in_view: float


def points(played: Mapping[str, Played]) -> list[Point]:
    """Return the point of each policy, in their order; none for a model without a price."""
    return [Point(name, each.charged, each.needs.in_view) for name, each in played.items() if each.priced]


def text_points(drawn: Sequence[Point], width: int = 76, height: int = 12) -> list[str]:
    """Draw the points as letters, cheap on the left and much in view at the top; then list each letter's figures."""
    most = max((point.cost for point in drawn), default=0.0)
    if not most:
        return ["Nothing to draw."]
    low, columns = _lowest(drawn), max(10, width - 9)
    rows = [[" "] * columns for _ in range(height)]
    for letter, point in zip(_LETTERS, drawn, strict=False):
        row = round((1 - _up(point.in_view, low)) * (height - 1))
        rows[row][round(point.cost / most * (columns - 1))] = letter
    labels = {0: "100%", height - 1: f"{low:.0%}"}
    lines = [f"{labels.get(n, ''):>7} |{''.join(row).rstrip()}" for n, row in enumerate(rows)]
    axis = [f"{'':7} +{'-' * columns}", f"{'':9}needed names in view over price with recalls: $0 to ${most:.2f}"]
    legend = [
        f"{'':9}{letter} {point.name:12} ${point.cost:.2f}  {point.in_view:.1%} in view"
        for letter, point in zip(_LETTERS, drawn, strict=False)
    ]
    return [*lines, *axis, *legend]


def svg_points(drawn: Sequence[Point], title: str = "") -> str:
    """Return the points as an SVG image; points of one policy under several horizons are joined."""
    most, low = max((point.cost for point in drawn), default=0.0) or 1.0, _lowest(drawn)
    policies = list(dict.fromkeys(_policy(point) for point in drawn))
    numbers = {policy: n % len(COLOURS) for n, policy in enumerate(policies)}
    places = {point.name: _place(point, most, low) for point in drawn}
    labels = _labels(places)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="13">',
        f"<style>{STYLE}</style>",
        f'<rect class="page" width="{WIDTH}" height="{HEIGHT}"/>',
        f'<text x="{_LEFT}" y="22" class="ink">{escape(title)}</text>',
        f'<path d="M{_LEFT} {_TOP}V{HEIGHT - _BOTTOM}H{WIDTH - _RIGHT}" class="axis"/>',
        f'<text x="{_LEFT - 6}" y="{_TOP + 5}" text-anchor="end" class="faint">100%</text>',
        f'<text x="{_LEFT - 6}" y="{HEIGHT - _BOTTOM}" text-anchor="end" class="faint">{low:.0%}</text>',
        f'<text x="{_LEFT}" y="{HEIGHT - _BOTTOM + 18}" text-anchor="middle" class="faint">$0</text>',
        f'<text x="{WIDTH - _RIGHT}" y="{HEIGHT - _BOTTOM + 18}" text-anchor="middle" class="faint">${most:.2f}</text>',
        f'<text x="{_LEFT}" y="{HEIGHT - 8}" class="faint">price of the session with a recall for each miss · upwards: needed names in view</text>',
    ]
    for policy in policies:
        own = sorted((point.cost, point.name) for point in drawn if _policy(point) == policy)
        joined = " ".join(f"{places[name][0]:.1f},{places[name][1]:.1f}" for _, name in own)
        lines.append(f'<polyline points="{joined}" class="c{numbers[policy]}" fill="none" stroke-opacity="0.4"/>')
    for point in drawn:
        (x, y), colour = places[point.name], f'class="n{numbers[_policy(point)]}"'
        lines.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" {colour}/>')
        if point.name in labels:
            lines.append(f'<text x="{x + 8:.1f}" y="{y + 4:.1f}" {colour}>{escape(labels[point.name])}</text>')
    return "\n".join([*lines, "</svg>\n"])


def _labels(places: Mapping[str, tuple[float, float]]) -> dict[str, str]:
    """Return all names at each place by the first one; places closer than a point's width count as one."""
    names: dict[tuple[int, int], list[str]] = {}
    for name, (x, y) in places.items():
        names.setdefault((round(x / 10), round(y / 10)), []).append(name)
    return {there[0]: ", ".join(there) for there in names.values()}


def _policy(point: Point) -> str:
    return point.name.partition("@")[0]


def _lowest(drawn: Sequence[Point]) -> float:
    """Return the share at the bottom of the drawing: a tenth below the lowest point."""
    return max(0.0, int(min((point.in_view for point in drawn), default=0.0) * 10) / 10 - 0.1)


def _up(share: float, low: float) -> float:
    return (share - low) / (1 - low)


def _place(point: Point, most: float, low: float) -> tuple[float, float]:
    x = _LEFT + (WIDTH - _LEFT - _RIGHT) * point.cost / most
    return x, HEIGHT - _BOTTOM - (HEIGHT - _TOP - _BOTTOM) * _up(point.in_view, low)
