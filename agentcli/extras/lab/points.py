"""Price of each policy as bars, with the share in view as a number: as characters, and as SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from agentcli.core.dataclass import dataclass
from agentcli.extras.lab.compare import ORACLE, Report
from agentcli.extras.lab.plot import COLOURS, STYLE

WIDTH = 720
CAPTION = (
    "A short bar is cheap: the price of the same work under each policy.",
    "Kept: of the names that the next replies used, the share the model still saw.",
    "Each reply that misses one is charged a call that brings it back.",
    "The oracle knows what will be needed, so no policy reaches it.",
)
_LEFT, _RIGHT, _TOP, _ROW, _BAR, _LINE = 120, 170, 40, 28, 18, 18


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


def points(report: Report) -> list[Point]:
    """Return the point of each policy, in their order, and that of the oracle; none for models without a price."""
    drawn = [Point(name, each.charged, each.needs.in_view) for name, each in report.totals().items() if each.priced]
    known = drawn and len(report.oracle) == len(report.played)
    return [*drawn, Point(ORACLE, sum(report.oracle.values()), 1.0)] if known else drawn


def text_bars(drawn: Sequence[Point], width: int = 76) -> list[str]:
    """Draw the prices as bars of characters, each with its name and figures."""
    most = max((point.cost for point in drawn), default=0.0)
    if not most:
        return ["Nothing to draw."]
    names, told = (max(map(len, each)) for each in ([point.name for point in drawn], [point.told for point in drawn]))
    room = max(10, width - names - told - 4)
    bars = [f"{point.name:{names}}  {'#' * max(1, round(point.cost / most * room))} {point.told}" for point in drawn]
    return [*bars, "", *CAPTION]


def svg_bars(drawn: Sequence[Point], title: str = "") -> str:
    """Return the bars as an SVG image, one colour a policy; the oracle's bar is grey."""
    most = max((point.cost for point in drawn), default=0.0) or 1.0
    colours = numbers(drawn)
    foot = _TOP + _ROW * len(drawn)
    height = foot + _LINE * len(CAPTION) + 16
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="13">',
        f"<style>{STYLE}.bar{{fill:#8c959f}}</style>",
        f'<rect class="page" width="{WIDTH}" height="{height}"/>',
        f'<text x="16" y="22" class="ink">{escape(title)}</text>',
    ]
    for number, point in enumerate(drawn):
        shade = "bar" if point.name == ORACLE else f"n{colours[point.name] % len(COLOURS)}"
        y, long = _TOP + _ROW * number, (WIDTH - _LEFT - _RIGHT) * point.cost / most
        lines += [
            f'<text x="{_LEFT - 8}" y="{y + 14}" text-anchor="end" class="ink">{escape(point.name)}</text>',
            f'<rect x="{_LEFT}" y="{y}" width="{long:.1f}" height="{_BAR}" class="{shade}"/>',
            f'<text x="{_LEFT + long + 8:.1f}" y="{y + 14}" class="ink">{point.told}</text>',
        ]
    lines += [f'<text x="16" y="{foot + 16 + _LINE * n}" class="faint">{line}</text>' for n, line in enumerate(CAPTION)]
    return "\n".join([*lines, "</svg>\n"])


def numbers(drawn: Sequence[Point]) -> Mapping[str, int]:
    """Return the number of each point's policy, from 0, by the point's name: policies differ in colour, horizons do not."""
    policies = list(dict.fromkeys(_policy(point) for point in drawn))
    return {point.name: policies.index(_policy(point)) for point in drawn}


def _policy(point: Point) -> str:
    return point.name.partition("@")[0]
