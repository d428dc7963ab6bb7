"""Everything in a session that an export may contain, read once."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import field
from pathlib import Path

from agentcli.core.codec.encode import encode
from agentcli.core.dataclass import dataclass
from agentcli.core.journal import Journal
from agentcli.core.message import ToolResult
from agentcli.core.record import Checkpoint, Record
from agentcli.sessions.checkpoints.objects import CONTENTS, Objects
from agentcli.sessions.info import SessionInfo, note
from agentcli.sessions.storage.records import RecordFolder, Through, digest
from agentcli.system.disk import DISK


@dataclass(frozen=True, slots=True)
class Source:
    """A session's summary, its records with the bytes of their files, and its whole outputs by file name.

    `contents` are file states by SHA-256; `left_out` maps a hash to the reason why its content is missing.
    """

    info: SessionInfo
    records: tuple[tuple[Record, bytes], ...]
    outputs: Mapping[str, str] = field(default_factory=dict)
    contents: Mapping[str, bytes] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)


def collect(
    journal: Journal,
    contents: int = 0,
    through: Through = iter,
    *,
    whole: bool = True,
) -> Source:
    """Read everything from a journal, with at most `contents` bytes of file contents; skip unreadable records, as on
    resume.

    The records pass `through`, a callback that may show progress. Unless `whole`, the bytes of record files and the
    outputs are omitted: only JSON needs them.
    """
    own = getattr(journal, "info", None)
    info = own if isinstance(own, SessionInfo) else SessionInfo(journal.id, "", "")
    records: list[tuple[Record, bytes]] = []
    names = _names_of_outputs(journal.folder) if whole else {}
    with _records_in(journal.folder) as shelf:
        for record in through(journal.records()):
            data = ((shelf and shelf.read(record.seq)) or encode(record)) if whole or own is None else b""
            records.append((record, data))
            if own is None:
                info = note(info, record, digest(data))
            if whole and isinstance(record.body, ToolResult) and record.body.output_file:
                names[record.body.output_file.rsplit("/", 1)[-1]] = record.body.output_file
    outputs = {name: journal.output(path) for name, path in names.items()}
    known, left_out = _contents(journal.folder, [record for record, _ in records], contents)
    return Source(info, tuple(records), outputs, known, left_out)


def _records_in(folder: Path | None) -> AbstractContextManager[RecordFolder | None]:
    return RecordFolder(folder / "records").held_open() if folder else contextlib.nullcontext()


def _names_of_outputs(folder: Path | None) -> dict[str, str]:
    """Return the names of all stored outputs, including those without a result, such as large input."""
    if folder is None:
        return {}
    return {path.name: path.name for path in sorted((folder / "outputs").glob("*.txt"))}


def _contents(folder: Path | None, records: list[Record], limit: int) -> tuple[dict[str, bytes], dict[str, str]]:
    """Return the contents that records of changes refer to, newest first up to the limit, and why others are missing."""
    known: dict[str, bytes] = {}
    left_out: dict[str, str] = {}
    if folder is None or not limit:
        return known, left_out
    objects = Objects(folder / CONTENTS, DISK)
    left = limit
    for key in dict.fromkeys(_named(records)):
        data = objects.get(key)
        if data is None:
            left_out[key] = "its content is lost"
        elif len(data) > left:
            left_out[key] = f"all contents together are over {limit:,} bytes"
        else:
            known[key] = data
            left -= len(data)
    return known, left_out


def _named(records: list[Record]) -> Iterator[str]:
    for record in reversed(records):
        if not isinstance(record.body, Checkpoint):
            continue
        for side in ("before", "after"):
            with contextlib.suppress(AttributeError, TypeError, KeyError):
                yield from (
                    str(state["sha256"]) for state in record.body.data[side].values() if state and "sha256" in state
                )
