"""Recognises by its content the program that wrote a session file."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from agentcli.core.errors import InputError
from agentcli.sessions.importing import opencode_database
from agentcli.sessions.importing.compressed import read_file
from agentcli.sessions.importing.imported import Format
from agentcli.sessions.importing.jsonl import MOST_BAD

EXPORT = "agentcli-session"
"""The value of the field `format` in our own export."""
DATABASE = b"SQLite format 3\0"
"""The first bytes of an SQLite database."""
DAMAGED = "\0"
"""Replacement for a line that is not UTF-8: not JSON, so that it is left out like any damaged line."""
HEAD_LINES = 50
"""The number of lines within which one must show the format."""


def recognise(path: Path) -> Format:
    """The format of a file. Raises InputError when it cannot be read or is none that we know."""
    if holds_database(path):
        found: Format | None = "opencode" if opencode_database.is_database(path) else None
    else:
        found = next(filter(None, map(_format, _objects(load(path)))), None)
    if found:
        return found
    raise InputError(
        f"{path} is not a session that can be imported: expected an export of agentcli, "
        "or a session file of pi, Claude Code, Gemini CLI, Codex or opencode."
    )


def holds_database(path: Path) -> bool:
    """True if a file is an SQLite database. Raises InputError when it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(len(DATABASE)) == DATABASE
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from error


def load(path: Path) -> str:
    """The text of a file; a line that is not UTF-8 is empty of all but a NUL. Raises InputError naming the file.

    A file that is no text in its greater part is refused with the first such line.
    """
    data = read_file(path)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        lines = [*map(_decoded, data.removeprefix(codecs.BOM_UTF8).split(b"\n"))]
        if lines.count(DAMAGED) > len(lines) * MOST_BAD:
            raise InputError(f"{path}: line {data[: error.start].count(10) + 1}: not UTF-8 text") from error
        return "\n".join(lines)


def _decoded(line: bytes) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        return DAMAGED


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """The objects of the first lines, then the whole text where it is one object over many lines."""
    lines = [line for line in text.split("\n", HEAD_LINES)[:HEAD_LINES] if line.strip()]
    yield from filter(None, map(_json, lines))
    yield from filter(None, [_json(text)])


def _json(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _format(value: dict[str, Any]) -> Format | None:
    if value.get("format") == EXPORT:
        return "agentcli"
    if isinstance(value.get("info"), dict) and isinstance(value.get("messages"), list):
        return "opencode"
    if value.get("type") == "session" and "timestamp" in value:
        return "pi"
    if value.get("type") == "session_meta" or {"id", "timestamp", "instructions"} <= set(value):
        return "codex"
    if "sessionId" in value and ("messages" in value or "startTime" in value):
        return "gemini-cli"
    if value.get("type") in ("user", "assistant", "system") and {"sessionId", "uuid"} <= set(value):
        return "claude-code"
    return None
