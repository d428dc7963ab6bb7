"""Recognise the program that wrote a session file, by the file's content."""

from __future__ import annotations

import collections
import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from agentcli.core.errors import InputError
from agentcli.extras.importers.sessions import opencode_database
from agentcli.extras.importers.sessions.compressed import opened
from agentcli.extras.importers.sessions.jsonl import MOST_BAD
from agentcli.sessions.exporting.archive import EXPORT
from agentcli.sessions.imported import Format

DATABASE = b"SQLite format 3\0"
"""The first bytes of an SQLite database."""
DAMAGED = "\0"
"""Replacement for a line that is not UTF-8: not JSON, so that it is skipped like any damaged line."""
HEAD_LINES = 50
"""Number of first lines of which one must reveal the format."""


def recognise(path: Path) -> Format:
    """Return the format of a file. Raises InputError if it is unreadable or its format is unknown."""
    if holds_database(path):
        found: Format | None = "opencode" if opencode_database.is_database(path) else None
    else:
        found = next(filter(None, map(format_of, first_objects(path))), None)
    if found:
        return found
    raise not_recognised(path)


def not_recognised(path: Path) -> InputError:
    """Return the error for a file that no known program wrote; it mentions if the file is not text."""
    try:
        collections.deque(() if holds_database(path) else lines(path), maxlen=0)
    except InputError as error:
        return InputError(f"{path}: {error}")
    return InputError(
        f"{path} is not a session that can be imported: expected an export of agentcli, "
        "or a session file of pi, Claude Code, Gemini CLI, Codex or opencode."
    )


def holds_database(path: Path) -> bool:
    """Return True if a file is an SQLite database. Raises InputError if it is unreadable."""
    try:
        with path.open("rb") as file:
            return file.read(len(DATABASE)) == DATABASE
    except OSError as error:
        raise InputError(f"Can't read {path}: {error.strerror}.") from error


def lines(path: Path) -> Iterator[str]:
    """Yield the lines of a text file, without line breaks; `DAMAGED` for a line that is not UTF-8.

    Raises InputError if the file is unreadable. If most lines are not UTF-8, it raises at the end, with the first such
    line.
    """
    damaged: list[int] = []
    number = 0
    with opened(path) as file:
        for number, line in enumerate(file, 1):
            try:
                yield _text(line, first=number == 1)
            except UnicodeDecodeError:
                damaged.append(number)
                yield DAMAGED
    if len(damaged) > number * MOST_BAD:
        raise InputError(f"line {damaged[0]}: not UTF-8 text")


def first_objects(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the objects in the first lines, one per line, or the one object that spans many lines."""
    first: dict[str, Any] | None = None
    with opened(path) as file:
        for number, line in enumerate(itertools.islice(file, HEAD_LINES), 1):
            value = _object(line, first=number == 1)
            first = value if number == 1 else first
            if value is not None:
                yield value
        if first is None:  # otherwise no object spans several lines
            file.seek(0)
            whole = _json(file.read().decode("utf-8-sig", "replace"))
            if whole is not None:
                yield whole


def _text(line: bytes, first: bool) -> str:
    return line.removesuffix(b"\n").decode("utf-8-sig" if first else "utf-8")


def _object(line: bytes, first: bool) -> dict[str, Any] | None:
    try:
        return _json(_text(line, first))
    except UnicodeDecodeError:
        return None


def _json(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def format_of(value: dict[str, Any]) -> Format | None:
    """Return the format that one of a file's first objects reveals."""
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
