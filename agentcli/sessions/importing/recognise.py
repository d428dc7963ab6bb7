"""Tells by its content which program wrote a session file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from agentcli.core.errors import InputError
from agentcli.sessions.importing.imported import Format

EXPORT = "agentcli-session"
"""What our own export calls itself in its field `format`."""
HEAD_LINES = 50
"""How many lines may pass before one that shows the format must have come."""


def recognise(path: Path) -> Format:
    """The format of a file. Raises InputError when it cannot be read or is none that we know."""
    text = load(path)
    for value in _objects(text):
        found = _format(value)
        if found:
            return found
    raise InputError(
        f"{path} is not a session that can be imported: expected an export of agentcli, "
        "or a session file of pi, Claude Code, Gemini CLI or Codex."
    )


def load(path: Path) -> str:
    """The text of a file. Raises InputError naming the file, and the line where it is not UTF-8."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from error
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: line {data[: error.start].count(10) + 1}: not UTF-8 text") from error


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """The objects of the first lines, or the whole text where it is one object over many lines."""
    lines = [line for line in text.split("\n", HEAD_LINES)[:HEAD_LINES] if line.strip()]
    values = [value for value in map(_json, lines) if value is not None]
    yield from values or filter(None, [_json(text)])


def _json(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _format(value: dict[str, Any]) -> Format | None:
    if value.get("format") == EXPORT:
        return "agentcli"
    if value.get("type") == "session" and "timestamp" in value:
        return "pi"
    if value.get("type") == "session_meta" or {"id", "timestamp", "instructions"} <= set(value):
        return "codex"
    if "sessionId" in value and ("messages" in value or "startTime" in value):
        return "gemini-cli"
    if value.get("type") in ("user", "assistant", "system") and {"sessionId", "uuid"} <= set(value):
        return "claude-code"
    return None
