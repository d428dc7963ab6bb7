"""The status line: the facts that a person has chosen, as many as fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentcli.ui.cells import width
from agentcli.ui.theme import Theme

if TYPE_CHECKING:
    from agentcli.ui.view import Status

MARKS_FROM = 100
"""Columns from which on the status line names the marks of the window in words, and not by a letter each."""
PROVIDER_FROM = 60
"""Columns from which on the status line names the model's provider."""


def status_line(status: Status, columns: int, theme: Theme) -> str:
    """The facts that `status.shown` names, in that order; what does not fit is left out."""
    line = ""
    for fact in filter(None, (_fact(status, name, columns) for name in status.shown)):
        longer = f"{line} · {fact}" if line else fact
        if width(longer) < columns:
            line = longer
    return theme.paint("dim", line)


def _fact(status: Status, name: str, columns: int) -> str:
    match name:
        case "context" if status.usable:
            return f"ctx {100 * status.used / status.usable:.0f}%{_marks(status, columns)}"
        case "cost" if status.cost is not None:
            return f"${status.cost:.2f}"
        case "model" if columns < PROVIDER_FROM:
            return status.model.rpartition("/")[2]
        case "budget" if status.budget is not None:
            return f"budget {100 * status.budget:.0f}%"
        case "cache" if status.hit_rate is not None:
            return f"cache {100 * status.hit_rate:.0f}%"
        case "jobs" if status.jobs:
            return f"{status.jobs} job{'s' if status.jobs > 1 else ''}"
        case "model" | "mode" | "branch" | "session" | "extra" | "sandbox":
            return str(getattr(status, name))
        case _:
            return ""


def _marks(status: Status, columns: int) -> str:
    """Where pruning begins, and compaction: from where it pays up to where it is made in any case."""
    prunes, early, compacts = (
        f"{100 * size / status.usable:.0f}" if size else "" for size in (status.prunes, status.early, status.soft)
    )
    marks = {"prunes": prunes, "compacts": f"{early}-{compacts}" if early else compacts}
    if columns < PROVIDER_FROM:
        return ""
    if columns < MARKS_FROM:
        words = " ".join(what[0] + share for what, share in marks.items() if share)
    else:
        words = ", ".join(f"{what} {share}%" for what, share in marks.items() if share)
    return f" ({words})" if words else ""
