"""Plain tables and JSON for the commands that report something."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Sequence
from typing import Any

from agentcli.core.sanitise import safe, safe_line


def say(text: str = "") -> None:
    """Print text that may come from outside."""
    print(safe(text))


def say_json(value: Any) -> None:
    """Print a value for scripts; on a terminal all that is not ASCII is spelled out."""
    print(json.dumps(value, indent=2, ensure_ascii=sys.stdout.isatty()))


def table(head: Sequence[str], rows: Sequence[Sequence[Any]], width: int | None = None) -> str:
    """Rows under a head, columns aligned; the last column is cut where the terminal ends. Numbers go to the right."""
    cells = [[_cell(value) for value in row] for row in rows]
    widths = [max(len(row[n]) for row in [list(head), *cells]) for n in range(len(head))]
    numeric = [bool(rows) and all(isinstance(row[n], int | float) for row in rows) for n in range(len(head))]
    limit = width or shutil.get_terminal_size((120, 24)).columns
    lines = []
    for row in [list(head), *cells]:
        fields = [
            cell.rjust(w) if right else cell.ljust(w) for cell, w, right in zip(row, widths, numeric, strict=True)
        ]
        lines.append("  ".join(fields).rstrip()[:limit])
    return "\n".join(lines)


def _cell(value: Any) -> str:
    match value:
        case None:
            return ""
        case float():
            return f"{value:,.4f}"
        case int():
            return f"{value:,}"
        case _:
            return safe_line(str(value))
