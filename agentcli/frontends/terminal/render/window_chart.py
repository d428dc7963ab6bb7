"""The context window as a chart: a bar in the colours of its parts, their sizes, and the largest messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from agentcli.frontends.terminal.style import Theme, count
from agentcli.system.cells import clip, fit, width, wrap

if TYPE_CHECKING:
    from agentcli.context.window_report import Row, WindowReport

LARGEST = 10
"""Messages that are listed unless all are asked for."""
WIDEST = 120
"""Maximal width of the bar, in cells."""
_PARTS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "system": ("█", "34"), "tools": ("▓", "36"), "snapshot": ("▦", "31"), "user": ("▥", "32"), "assistant": ("▒", "33"),
        "tool results": ("▤", "35"), "pinned": ("▣", "1;32"), "free": ("░", "2"),
    }
)  # fmt: skip
"""Sign of each part without colours, and its colour (SGR)."""


def chart(report: WindowReport, model: str, columns: int, theme: Theme, every: bool) -> list[str]:
    """Return lines of at most `columns` cells, with `every` message or the largest ones."""
    return [*overview(report, model, columns, theme), *_messages(report, min(columns, WIDEST), theme, every)]


def listing(report: WindowReport, model: str, every: bool) -> list[str]:
    """Return plain lines of any width: the sizes of the parts, and `every` message."""
    shares = {"used": report.used, **{kind: size for kind, size in report.shares.items() if size}}
    wide = max(map(len, shares))
    sizes = [f"{kind.ljust(wide)}  {size:>9,}" for kind, size in shares.items()]
    rows = [
        f"{f'#{row.seq}':>6} {row.tokens:>9,}  {row.text}{'' if row.fate == 'kept' else f'  {row.fate}'}"
        for row in report.rows
    ]
    return [f"Context window of {model}, in tokens", *sizes, *(["", *rows] if every and rows else [])]


def overview(report: WindowReport, model: str, columns: int, theme: Theme) -> list[str]:
    """Return the bar and the sizes of its parts, without the messages."""
    columns = min(columns, WIDEST)
    share = f" ({_share(report.used / report.usable)})" if report.usable else ""
    head = f"Context  {count(report.used)} of {count(report.usable)} usable{share}"
    window = f"{model} · {count(report.window)} window"
    gap = columns - width(head) - width(window)
    top = (
        [theme.paint("strong", head) + " " * gap + theme.paint("dim", window)]
        if gap >= 2
        else [theme.paint("strong", clip(head, columns))]
    )
    lines = [*top, f"▏{_bar(report, columns - 2, theme)}▕", *_legend(report, columns, theme)]
    if marks := _marks(report):
        lines += [theme.paint("dim", row) for row in wrap(f"╎ {marks}", columns)]
    return lines


def _share(used: float) -> str:
    """Return a share in percent, with a digit after the point below one percent."""
    return f"{used:.1%}" if 0 < used < 0.01 else f"{used:.0%}"


def _bar(report: WindowReport, cells: int, theme: Theme) -> str:
    total = max(report.usable, report.used, 1)
    parts = [kind for kind, tokens in report.shares.items() for _ in range(_cells(kind, tokens, cells, total))]
    parts = [*parts, *["free"] * cells][:cells]
    marked = {min(cells - 1, cells * at // total) for at in report.marks.values() if 0 < at <= report.usable}
    return "".join(
        theme.paint("strong", "╎") if n in marked and kind == "free" else _sign(kind, theme)
        for n, kind in enumerate(parts)
    )


def _cells(kind: str, tokens: int, cells: int, total: int) -> int:
    """Return the number of cells for one part; at least one for a part that is not empty."""
    if kind == "free":
        return 0
    return max(round(cells * tokens / total), 1) if tokens else 0


def _sign(kind: str, theme: Theme) -> str:
    sign, colour = _PARTS[kind]
    if not theme.tokens:
        return sign
    return f"\x1b[{colour}m{'█' if kind != 'free' else sign}\x1b[0m"


def _legend(report: WindowReport, columns: int, theme: Theme) -> list[str]:
    """Return the parts with their sizes, as many in a row as fit."""
    rows: list[str] = []
    used = columns
    for kind, tokens in report.shares.items():
        if not tokens:
            continue
        text = f"{kind} {count(tokens)}"
        wide = width(text) + 2
        if used + 3 + wide > columns:
            rows.append("")
            used = -3
        rows[-1] += ("   " if rows[-1] else "") + f"{_sign(kind, theme)} {text}"
        used += 3 + wide
    return rows


def _marks(report: WindowReport) -> str:
    """Return the thresholds of pruning and compaction.

    `auto` prunes from its threshold on only if that pays. Compaction has a range: it may begin at the first threshold
    if it pays, and always begins at the last.
    """
    shares = {name: f"{100 * at / report.usable:.0f}" for name, at in report.marks.items() if 0 < at <= report.usable}
    early, always = shares.get("compacts early from"), shares.get("compacts at")
    facts = [f"{name} {share}%" for name, share in shares.items() if name.startswith("prunes")]
    if always:
        facts.append(f"compacts at {f'{early}–' if early else ''}{always}%")
    return " · ".join(facts)


def _messages(report: WindowReport, columns: int, theme: Theme, every: bool) -> list[str]:
    rows: Sequence[Row] = report.rows
    if not rows:
        return []
    hidden = 0 if every else max(0, len(rows) - LARGEST)
    if hidden:
        rows = sorted(sorted(rows, key=lambda row: row.tokens)[-LARGEST:], key=lambda row: -row.tokens)
    title = "Messages" if not hidden else "Largest messages"
    more = f"/context all lists all {len(report.rows)}" if hidden else ""
    gap = columns - width(title) - width(more)
    heading = theme.paint("strong", title) + (" " * gap + theme.paint("dim", more) if more and gap >= 2 else "")
    return ["", heading, *(_row(row, columns, theme) for row in rows)]


def _row(row: Row, columns: int, theme: Theme) -> str:
    state = "" if row.fate == "kept" else f"  {row.fate}"
    left = f"{f'#{row.seq}':>6} {count(row.tokens):>5}  "
    text = fit(row.text, max(columns - width(left) - width(state), 8))
    return clip(theme.paint("dim", left) + (text if state else text.rstrip()) + theme.paint("dim", state), columns)
