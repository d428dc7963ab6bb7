"""A comparison as one HTML page that needs nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from types import MappingProxyType

from agentcli.extras.lab.compare import COLUMNS, TENTHS, Report
from agentcli.extras.lab.plot import svg
from agentcli.extras.lab.points import points, svg_points
from agentcli.extras.lab.tenths import svg_tenths


def html(report: Report, marks: Mapping[str, int] = MappingProxyType({})) -> str:
    """Return tables and plots of a whole comparison on one page, light or dark like the reader's system."""
    parts = []
    for title, rows in report.tables():
        parts.append(f"<h2>{escape(title)}</h2>\n{_table(COLUMNS, rows)}")
        if title in report.played:
            played = report.played[title]
            parts.append(svg({policy: one.sizes for policy, one in played.items()}, "", marks))
            parts.append(_table(TENTHS, report.tenths(title)))
            parts.append(svg_tenths({policy: one.needs.tenths() for policy, one in played.items()}))
    parts.append(svg_points(points(report.totals())))
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
