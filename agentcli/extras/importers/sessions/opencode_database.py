"""The database of opencode, which may be in use while its sessions are read."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import InputError
from agentcli.extras.importers.sessions.jsonl import Json, reading
from agentcli.extras.importers.sessions.opencode import session_of
from agentcli.sessions.imported import Imported

_TABLES = {"session", "message", "part"}
NOTHING_SAID = "it has no session with messages"
NAMED = 20
"""Maximum sessions of a database that an error lists."""


def is_database(path: Path) -> bool:
    """Return True if an SQLite file has the tables of opencode. Raises InputError if it cannot be read."""
    with _opened(path) as database:
        return {row["name"] for row in database.execute("SELECT name FROM sqlite_master")} >= _TABLES


@dataclass(frozen=True, slots=True)
class Row:
    """A session's row in the database. `updated` changes with each message."""

    id: str
    title: str
    folder: str
    updated: str
    subagent: bool


def rows_of(path: Path) -> Sequence[Row]:
    """Return a database's sessions with messages, oldest first. Raises InputError if it is unreadable."""
    spoken = "EXISTS (SELECT 1 FROM message WHERE session_id = session.id)"
    with _opened(path) as database:
        rows = [
            dict(row) for row in database.execute(f"SELECT * FROM session WHERE {spoken} ORDER BY time_created, id")
        ]
    return [
        Row(
            str(row["id"]),
            str(row.get("title") or ""),
            str(row.get("directory") or ""),
            str(row.get("time_updated")),
            bool(row.get("parent_id")),
        )
        for row in rows
    ]


def nothing_found(path: Path, chosen: str) -> str:
    """Return why a database has no session to import, or lacks the `chosen` one."""
    if not chosen:
        return NOTHING_SAID
    with _opened(path) as database:
        rows = [dict(row) for row in database.execute("SELECT * FROM session ORDER BY time_created, id")]
    return f"there is no session {chosen!r} in it. {_listed(rows)}"


def read_database(path: Path, chosen: str = "") -> Iterator[Imported]:
    """Yield the sessions in a database, oldest first, except subagents'; or the one whose id or title is `chosen`.

    The database is only read, and may be in use. Raises InputError if it is unreadable or has no such session. After all
    others, it raises for sessions that cannot be imported.
    """
    failures: list[str] = []
    found = 0
    with _opened(path) as database:
        database.execute("BEGIN")  # one consistent state, even while opencode continues to write
        rows = [dict(row) for row in database.execute("SELECT * FROM session ORDER BY time_created, id")]
        for row in rows:
            if chosen not in (row["id"], row["title"]) if chosen else row.get("parent_id"):
                continue
            messages = _messages(database, row["id"])
            if not (messages or chosen):
                continue  # opened, and left before the first prompt
            found += 1
            try:
                with reading("its row"):
                    imported = session_of(_info(row), messages)
            except InputError as error:
                failures.append(f"session {row['id']}: {error}")
            else:
                yield imported
    if chosen and not found:
        raise InputError(f"there is no session {chosen!r} in it. {_listed(rows)}")
    if failures or not found:
        raise InputError("; ".join(failures) or NOTHING_SAID)


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    """Open the database read-only, with its write-ahead log if there is one."""
    try:
        database = sqlite3.connect(f"file:{quote(str(path.resolve()))}?mode=ro", uri=True)
        try:
            database.row_factory = sqlite3.Row
            yield database
        finally:
            database.close()
    except sqlite3.Error as error:
        raise InputError(f"can't read the database: {error}") from error


def _listed(rows: Sequence[Json]) -> str:
    names = [f"{row['id']} ({row['title']})" for row in rows if not row.get("parent_id")]
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"It has: {', '.join(names[:NAMED])}{more}." if names else "It has none."


def _info(row: Json) -> Json:
    """Return the row of a session in the form of an export."""
    reverted = json.loads(row["revert"]) if row.get("revert") else None
    return {**row, "time": {"created": row["time_created"]}, "revert": reverted}


def _messages(database: sqlite3.Connection, session: str) -> list[tuple[Any, list[Any]]]:
    parts: dict[str, list[Any]] = {}
    for row in database.execute("SELECT id, message_id, data FROM part WHERE session_id = ? ORDER BY id", (session,)):
        parts.setdefault(row["message_id"], []).append(_data(row))
    query = "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id"
    return [(_data(row), parts.get(row["id"], [])) for row in database.execute(query, (session,))]


def _data(row: sqlite3.Row) -> Any:
    """Return the JSON of a row, or None if it is damaged."""
    try:
        return {**json.loads(row["data"]), "id": row["id"]}
    except (ValueError, TypeError, RecursionError):
        return None
