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
    limit = width or shutil.get_terminal_size((120, 24)).columns
    columns = [_column(name, [row[n] for row in rows]) for n, name in enumerate(head)]
    return "\n".join("  ".join(cells).rstrip()[:limit] for cells in zip(*columns, strict=True))


def _column(head: str, values: Sequence[Any]) -> list[str]:
    cells = [head, *map(_cell, values)]
    wide = max(map(len, cells))
    numeric = bool(values) and all(isinstance(value, int | float) for value in values)
    return [cell.rjust(wide) if numeric else cell.ljust(wide) for cell in cells]


def _cell(value: Any) -> str:
    match value:
        case str():
            return safe_line(value)
        case None:
            return ""
        case float():
            return f"{value:,.4f}"
        case int():
            return f"{value:,}"
        case _:
            return safe_line(str(value))
