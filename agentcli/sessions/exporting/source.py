"""Everything of a session that an export may hold, read once."""

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
from agentcli.sessions.info import SessionInfo, note
from agentcli.sessions.storage.records import RecordFolder, Through, digest


@dataclass(frozen=True, slots=True)
class Source:
    """A session at a glance, its records with the bytes of their files, and the whole outputs that were kept, by file name.

    `contents` are states of files by their SHA-256, which `/undo` and `/rewind` need; `left_out`: hash → the reason why one is missing.
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
    """All that a journal holds, with at most so many bytes of file contents. What cannot be read is left out, as it is on resume.

    The records pass `through` a callback that may show progress. Unless it is to be the `whole`, the bytes of the records' files and
    the outputs are left out: only JSON needs them.
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
    """All that was kept, with what no result names: large input lies there, too."""
    if folder is None:
        return {}
    return {path.name: path.name for path in sorted((folder / "outputs").glob("*.txt"))}


def _contents(folder: Path | None, records: list[Record], limit: int) -> tuple[dict[str, bytes], dict[str, str]]:
    """The contents that the records of changes name, newest first as far as the limit goes, and why others are not there."""
    from agentcli.sessions.checkpoints.objects import Objects
    from agentcli.sessions.storage.disk import DISK

    known: dict[str, bytes] = {}
    left_out: dict[str, str] = {}
    if folder is None or not limit:
        return known, left_out
    objects = Objects(folder / "checkpoints" / "objects", DISK)
    left = limit
    for key in dict.fromkeys(_named(records)):
        data = objects.get(key)
        if data is None:
            left_out[key] = "its content is lost"
        elif len(data) > left:
            left_out[key] = f"all contents together are over {limit:,} bytes (checkpoints.export_bytes)"
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
