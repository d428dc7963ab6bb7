"""Warnings that are shown once a day: a file of the state folder lists today's."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

from agentcli.system.paths import replace_file

FILE = "told-today.json"


def first_today(path: Path, text: str, today: str) -> bool:
    """Return True if a warning was not shown yet today, an ISO date, and remember it.

    If the file is unusable, it counts as not shown.
    """
    try:
        known: Any = json.loads(path.read_text(encoding="utf-8"))
        told = list(known["told"]) if known["day"] == today else []
    except (OSError, ValueError, KeyError, TypeError):
        told = []
    if text in told:
        return False
    with contextlib.suppress(OSError):
        replace_file(path, json.dumps({"day": today, "told": [*told, text]}), mode=0o600)
    return True
