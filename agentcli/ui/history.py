"""What was typed in earlier sessions, in all projects: one JSON line each, shared by all running programs."""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass
from pathlib import Path

from agentcli.core.errors import StoreError
from agentcli.sessions.shared_file import add_line, lines

KEPT = 5_000
"""Prompts that are read back; the file is cut down to them when it has grown a tenth over."""
PATIENCE = 1.0
"""Seconds that a prompt waits for another program to be done with the file."""


@dataclass(frozen=True, slots=True)
class Typed:
    """One prompt and the folder it was typed in."""

    text: str
    folder: str = ""


def load_history(file: Path, kept: int = KEPT) -> list[Typed]:
    """The newest prompts, oldest first; lines that cannot be read are passed over."""
    return [typed for line in lines(file)[-kept:] if (typed := _parse(line)) is not None]


def append_history(file: Path, typed: Typed, kept: int = KEPT) -> None:
    """Remember one more. A history that cannot be written is not worth an error: nothing happens then."""
    line = json.dumps({"text": typed.text, "folder": typed.folder}, ensure_ascii=False)
    with contextlib.suppress(StoreError):
        add_line(file, line, limit=kept, patience=PATIENCE)


def _parse(line: str) -> Typed | None:
    try:
        value = json.loads(line)
    except ValueError:
        return None
    if not isinstance(value, dict) or not isinstance(value.get("text"), str):
        return None
    return Typed(value["text"], str(value.get("folder", "")))
