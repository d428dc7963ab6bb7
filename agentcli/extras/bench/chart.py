"""Charts of results: bars with intervals as SVG, and a page with the table."""

from __future__ import annotations

from html import escape
from pathlib import Path

from agentcli.extras.batch.comparison import Side
from agentcli.extras.bench.results import Result, causes_by_side, of_task, passes
from agentcli.system.paths import replace_file

_LEFT, _WIDE, _ROW = 220, 520, 34
"""Pixels: the column of names, the width of a share of 1, the height of a row."""


def write_pictures(result: Result, out: Path) -> Path:
    """Write `chart.svg` and `bench.html` into a folder; return the path of the page."""
    picture = svg(result)
    replace_file(out / "chart.svg", picture)
    page = out / "bench.html"
    replace_file(page, html(result, picture))
    return page


def svg(result: Result) -> str:
    """Return the variants' rates as bars, each with its 95 % interval as a line. The mean cost of a run is added."""
    height = 40 + _ROW * len(result.sides) + 30
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_LEFT + _WIDE + 130} {height}" font-family="sans-serif" font-size="13">',
        f'<rect width="100%" height="100%" fill="white"/><text x="8" y="22" font-weight="bold">{escape(_title(result))}</text>',
    ]
    bottom = 40 + _ROW * len(result.sides)
    for share in range(0, 101, 20):
        x = _LEFT + _WIDE * share / 100
        parts.append(f'<line x1="{x}" y1="36" x2="{x}" y2="{bottom}" stroke="#ddd"/>')
        parts.append(f'<text x="{x}" y="{bottom + 18}" text-anchor="middle" fill="#555">{share} %</text>')
    for number, side in enumerate(result.sides):
        parts += _bar(side, 40 + _ROW * number)
    return "\n".join((*parts, "</svg>\n"))


def _bar(side: Side, top: int) -> list[str]:
    rate, middle = side.rate, top + _ROW / 2
    low, value, high = (_LEFT + _WIDE * share for share in (rate.low, rate.value, rate.high))
    return [
        f'<text x="{_LEFT - 10}" y="{middle + 4}" text-anchor="end">{escape(side.name[:28])}</text>',
        f'<rect x="{_LEFT}" y="{top + 7}" width="{value - _LEFT:.1f}" height="{_ROW - 14}" fill="#7aa6d8"/>',
        f'<line x1="{low:.1f}" y1="{middle}" x2="{high:.1f}" y2="{middle}" stroke="#1c3f66" stroke-width="2"/>',
        *(
            f'<line x1="{end:.1f}" y1="{middle - 5}" x2="{end:.1f}" y2="{middle + 5}" stroke="#1c3f66" stroke-width="2"/>'
            for end in (low, high)
        ),
        f'<text x="{_LEFT + _WIDE + 10}" y="{middle + 4}">{passes(side)}  ${side.mean("cost"):.4f}</text>',
    ]


def html(result: Result, picture: str) -> str:
    """Return a page with the chart, a row for each task, and the causes of failures."""
    heads = "".join(f"<th>{escape(side.name)}</th>" for side in result.sides)
    body = ""
    for task in result.tasks:
        body += f"<tr><td>{escape(task)}</td>{''.join(_cell(of_task(side, task)) for side in result.sides)}</tr>\n"
    body += f"<tr><th>all</th>{''.join(_cell(side) for side in result.sides)}</tr>\n"
    causes = "".join(
        f"<tr><td>{escape(cause)}</td>{''.join(f'<td>{number}</td>' for number in numbers)}</tr>\n"
        for cause, numbers in causes_by_side(result).items()
    )
    failed = "".join(f"<li>{escape(id)}: {escape(cause)}</li>" for id, cause in result.causes.items())
    return (
        f'<!doctype html><meta charset="utf-8"><title>{escape(_title(result))}</title>'
        "<style>body{font:14px sans-serif;margin:2em}td,th{padding:3px 12px;text-align:left}svg{max-width:900px}</style>"
        f"{picture}<table><tr><th>task</th>{heads}</tr>\n{body}</table>"
        f"{f'<h2>Causes of failures</h2><table><tr><th>cause</th>{heads}</tr>{causes}</table><ul>{failed}</ul>' if causes else ''}\n"
    )


def _cell(side: Side) -> str:
    if not side.ended:
        return "<td>–</td>"
    rate = side.rate
    shade = f"hsl({120 * rate.value:.0f} 60% 88%)"
    about = f"{rate.low:.0%} – {rate.high:.0%}, ${side.mean('cost'):.4f}, {side.mean('tokens'):,.0f} tokens, {side.mean('steps'):.1f} steps, {side.mean('seconds'):.1f} s"
    return f'<td style="background:{shade}">{passes(side)} <small>{about}</small></td>'


def _title(result: Result) -> str:
    return f"agentcli bench: {Path(result.set).name}, share of runs that pass"
