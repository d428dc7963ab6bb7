"""Price of each policy as bars, with the share in view as a number: as characters, and as SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from agentcli.core.dataclass import dataclass
from agentcli.extras.lab.plot import COLOURS, STYLE
from agentcli.extras.lab.replay import Played

WIDTH = 720
CAPTION = "Price of the session with one recall for each miss, and the share of the needed names kept"
_LEFT, _RIGHT, _TOP, _ROW, _BAR = 120, 170, 40, 28, 18


@dataclass(frozen=True, slots=True)
class Point:
    """Price of a policy in USD with a recall for each miss, and the share of needed names in view."""

    name: str
    cost: float
    in_view: float

    @property
    def told(self) -> str:
        """The price and the share as text."""
        return f"${self.cost:.2f} · {self.in_view:.1%} kept"


def points(played: Mapping[str, Played]) -> list[Point]:
    """Return the point of each policy, in their order; none for a model without a price."""
    return [Point(name, each.charged, each.needs.in_view) for name, each in played.items() if each.priced]


def text_bars(drawn: Sequence[Point], width: int = 76) -> list[str]:
    """Draw the prices as bars of characters, each with its name and figures."""
    most = max((point.cost for point in drawn), default=0.0)
    if not most:
        return ["Nothing to draw."]
    names, told = (max(map(len, each)) for each in ([point.name for point in drawn], [point.told for point in drawn]))
    room = max(10, width - names - told - 4)
    bars = [f"{point.name:{names}}  {'#' * max(1, round(point.cost / most * room))} {point.told}" for point in drawn]
    return [*bars, "", f"{CAPTION}."]


def svg_bars(drawn: Sequence[Point], title: str = "", oracle: Point | None = None) -> str:
    """Return the bars as an SVG image, one colour a policy; the bar of an `oracle` is grey."""
    most = max((point.cost for point in drawn), default=0.0) or 1.0
    colours = numbers(drawn)
    rows = [*drawn, *([oracle] if oracle else ())]
    height = _TOP + _ROW * len(rows) + 30
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="13">',
        f"<style>{STYLE}.bar{{fill:#8c959f}}</style>",
        f'<rect class="page" width="{WIDTH}" height="{height}"/>',
        f'<text x="16" y="22" class="ink">{escape(title)}</text>',
    ]
    for number, point in enumerate(rows):
        shade = "bar" if point is oracle else f"n{colours[point.name] % len(COLOURS)}"
        y, long = _TOP + _ROW * number, (WIDTH - _LEFT - _RIGHT) * point.cost / most
        lines += [
            f'<text x="{_LEFT - 8}" y="{y + 14}" text-anchor="end" class="ink">{escape(point.name)}</text>',
            f'<rect x="{_LEFT}" y="{y}" width="{long:.1f}" height="{_BAR}" class="{shade}"/>',
            f'<text x="{_LEFT + long + 8:.1f}" y="{y + 14}" class="ink">{point.told}</text>',
        ]
    lines.append(f'<text x="16" y="{height - 10}" class="faint">{CAPTION}</text>')
    return "\n".join([*lines, "</svg>\n"])


def numbers(drawn: Sequence[Point]) -> Mapping[str, int]:
    """Return the number of each point's policy, from 0, by the point's name: policies differ in colour, horizons do not."""
    policies = list(dict.fromkeys(_policy(point) for point in drawn))
    return {point.name: policies.index(_policy(point)) for point in drawn}


def _policy(point: Point) -> str:
    return point.name.partition("@")[0]
