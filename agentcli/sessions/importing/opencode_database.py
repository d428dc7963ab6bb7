"""The database of opencode: its sessions are read while it may be in use."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import InputError
from agentcli.sessions.importing.imported import Imported
from agentcli.sessions.importing.jsonl import Json, reading
from agentcli.sessions.importing.opencode import session_of

if TYPE_CHECKING:
    import sqlite3

_TABLES = {"session", "message", "part"}
NOTHING_SAID = "it holds no session in which anything was said"
NAMED = 20
"""The number of sessions of a database that are named where none fits."""


def is_database(path: Path) -> bool:
    """True if an SQLite file has the tables of opencode. Raises InputError when it cannot be read."""
    with _opened(path) as database:
        return {row["name"] for row in database.execute("SELECT name FROM sqlite_master")} >= _TABLES


@dataclass(frozen=True, slots=True)
class Row:
    """A session of a database at a glance. `updated` changes whenever something is said in it."""

    id: str
    title: str
    folder: str
    updated: str
    subagent: bool


def rows_of(path: Path) -> Sequence[Row]:
    """The sessions of a database in which something was said, oldest first. Raises InputError when it cannot be read."""
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
    """The reason why a database has no session to import, or not the one that is `chosen`."""
    if not chosen:
        return NOTHING_SAID
    with _opened(path) as database:
        rows = [dict(row) for row in database.execute("SELECT * FROM session ORDER BY time_created, id")]
    return f"there is no session {chosen!r} in it. {_listed(rows)}"


def read_database(path: Path, chosen: str = "") -> Iterator[Imported]:
    """The sessions in a database, oldest first, without those of subagents; or the one whose id or title is `chosen`.

    The database is only read, and may be in use. Raises InputError when it cannot be read, when nothing is `chosen`, and, after
    all others, for a session that cannot be taken over.
    """
    failures: list[str] = []
    found = 0
    with _opened(path) as database:
        database.execute("BEGIN")  # what is read belongs together, even while opencode goes on writing
        rows = [dict(row) for row in database.execute("SELECT * FROM session ORDER BY time_created, id")]
        for row in rows:
            if chosen not in (row["id"], row["title"]) if chosen else row.get("parent_id"):
                continue
            messages = _messages(database, row["id"])
            if not (messages or chosen):
                continue  # opened, and left before anything was said
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
    """The database, for reading only; with its write-ahead log where that lies beside it."""
    import sqlite3

    try:
        database = sqlite3.connect(f"file:{quote(str(path.resolve()))}?mode=ro", uri=True)
        try:
            database.row_factory = sqlite3.Row
            yield database
        finally:
            database.close()
    except sqlite3.Error as error:
        raise InputError(f"the database cannot be read: {error}") from error


def _listed(rows: Sequence[Json]) -> str:
    names = [f"{row['id']} ({row['title']})" for row in rows if not row.get("parent_id")]
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"It holds: {', '.join(names[:NAMED])}{more}." if names else "It holds none."


def _info(row: Json) -> Json:
    """The row of a session as an export words it."""
    reverted = json.loads(row["revert"]) if row.get("revert") else None
    return {**row, "time": {"created": row["time_created"]}, "revert": reverted}


def _messages(database: sqlite3.Connection, session: str) -> list[tuple[Any, list[Any]]]:
    parts: dict[str, list[Any]] = {}
    for row in database.execute("SELECT id, message_id, data FROM part WHERE session_id = ? ORDER BY id", (session,)):
        parts.setdefault(row["message_id"], []).append(_data(row))
    query = "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id"
    return [(_data(row), parts.get(row["id"], [])) for row in database.execute(query, (session,))]


def _data(row: sqlite3.Row) -> Any:
    """The JSON of a row, or None where it is damaged."""
    try:
        return {**json.loads(row["data"]), "id": row["id"]}
    except (ValueError, TypeError, RecursionError):
        return None
