"""Rows of a table of sessions: what it shows of each, read without the rest of their summaries.

Each project with many sessions has an index, a file with the rows read before. A row counts only while the session's
files have the times in it. An index that does not match its own hash is made anew.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from agentcli.core.codec.fields import amount, table, text, whole
from agentcli.sessions.info import SessionInfo
from agentcli.sessions.storage.records import digest, read_file
from agentcli.sessions.summaries import glance, subfolders
from agentcli.system.disk import DISK, is_temporary, write_file

INDEX = ".rows.json"
"""File in a project's folder: the hash of its second line, then a table of rows by session."""
_MANY = 32
"""Number of rows that are read again each time before the index is written: writing takes longer than reading them."""
_SETTLED = 2 * 10**9  # nanoseconds within which file times do not show a second change, on the coarsest file systems


class Row(NamedTuple):
    """What a table of sessions shows of one."""

    id: str
    project_id: str
    parent: str
    """The id of the session that it comes from; empty if there is none."""
    updated: str
    title: str
    """Its name, or else its title."""
    cost: float | None
    model: str
    records: int


def rows_in(project: str) -> list[Row]:
    """Return the rows of the sessions in a project's folder, in no order. If many are new, write the index."""
    known, rows = dict(_index(project)), list[Row]()
    kept, new = dict[str, Sequence[Any]](), dict[str, Sequence[Any]]()
    start, id, settled = len(project) + 1, os.path.basename(project), time.time_ns() - _SETTLED
    for folder in subfolders(project):
        name, times = folder[start:], _times(folder)
        entry = known.pop(name, None)
        if entry is not None and (entry[0], entry[1]) == times:
            rows.append(Row(name, id, *entry[2:]))
            kept[name] = entry
        elif (found := row(folder)) is not None:
            rows.append(found)
            if min(times) > 0 and max(times) < settled:
                facts = found.parent, found.updated, found.title, found.cost, found.model, found.records
                new[name] = (*times, *facts)
    if len(new) >= _MANY or known:
        _save_index(project, kept | new)
    return rows


def _times(folder: str) -> tuple[int, int]:
    """Return the modification times that change with a session's row, in nanoseconds; zeros if there are none."""
    try:
        return os.stat(f"{folder}/session.json").st_mtime_ns, os.stat(f"{folder}/records").st_mtime_ns
    except OSError:
        return 0, 0


def _index(project: str) -> Mapping[str, Sequence[Any]]:
    with contextlib.suppress(OSError, ValueError):
        head, _, table = read_file(f"{project}{os.sep}{INDEX}").partition(b"\n")
        if head == _hash(table):
            found: Mapping[str, Sequence[Any]] = json.loads(table)
            return found
    return {}


def _save_index(project: str, entries: Mapping[str, Sequence[Any]]) -> None:
    table = json.dumps(entries, separators=(",", ":")).encode()
    with contextlib.suppress(OSError):  # the next list reads all of them again
        for name in os.listdir(project):
            if is_temporary(name) and INDEX in name:  # of a killed process; any other loses its index at most
                os.unlink(os.path.join(project, name))
        write_file(DISK, Path(project, INDEX), _hash(table) + b"\n" + table, durable=False)


def _hash(table: bytes) -> bytes:
    """Return the hash of rows and their fields: those of a version with other fields do not match."""
    return digest(repr(Row._fields).encode() + table).encode()


def row_of(info: SessionInfo) -> Row:
    """Return the row of a session."""
    parent = info.parent.session if info.parent else ""
    title = info.name or info.title
    return Row(info.id, info.project_id, parent, info.time.updated, title, info.cost, info.model, info.records)


def row(folder: str) -> Row | None:
    """Summarise a session like `glance`, in half the time: of most sessions, only what a table shows is checked."""
    try:
        return _row(folder)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        info = glance(folder)
        return row_of(info) if info else None


def _row(folder: str) -> Row | None:
    """Return the row of a session whose `session.json` is up to date. Raises one of several errors for any other."""
    raw = json.loads(read_file(f"{folder}{os.sep}session.json").decode())
    if raw["shelf"] != os.stat(f"{folder}{os.sep}records").st_mtime_ns:
        raise ValueError("there are newer records")
    records = whole(raw, "records")
    _, project, name = folder.rsplit(os.sep, 2)
    parent, updated = text(table(raw, "parent"), "session"), text(table(raw, "time"), "updated")
    title, model = text(raw, "name") or text(raw, "title"), text(raw, "model")
    return Row(name, project, parent, updated, title, amount(raw, "cost"), model, records) if records else None
