"""Import our own exports (JSON), losslessly except for file states: an external file decides nothing about files here."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from agentcli.core.codec.encode import Damaged, decode, dump_line, record_from_json
from agentcli.core.errors import InputError
from agentcli.core.history import fold
from agentcli.core.record import Record
from agentcli.extras.importers.sessions.jsonl import REASON, reading
from agentcli.sessions.exporting.source import Source
from agentcli.sessions.imported import Imported
from agentcli.sessions.info import decode_info
from agentcli.sessions.storage.records import digest


def read(lines: Iterable[str]) -> Imported:
    """Read the session in an export. If its records are unbroken, `kept` contains their exact bytes.

    Raises InputError with the export's error.
    """
    whole = _json("\n".join(lines))
    notes: list[str] = []
    with reading("the export"):
        source = _source(whole)
        contents = dict(whole.get("contents") or {})
        missing = {int(seq) for seq in whole.get("missing") or ()}
    info, kept = source.info, source.records
    records = [record for record, _ in kept]
    unbroken = _unbroken(kept)
    if not _complete(records, missing if unbroken else set()):
        raise InputError("records are missing from the export: references to them would be wrong")
    if not unbroken:
        notes.append("the export was changed, for example by redaction: its records get a new chain")
    if contents:
        notes.append("the states of files in it are left out: /undo and /rewind reach back to the import")
    history = fold(records)
    return Imported(
        "agentcli",
        info.title,
        info.directory,
        history.model or info.model,
        info.time.created,
        tuple((record.time, record.body) for record in records),
        info.name,
        tuple(notes),
        kept if unbroken else (),
        source.outputs,
        info.parent,
    )


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise InputError(f"line {getattr(error, 'lineno', 1)}: not JSON ({error})") from error


def read_source(text: str) -> Source:
    """Return the session in an export, as a source of other exports.

    Raises InputError for a text that is not an export.
    """
    try:
        with reading("the export"):
            return _source(json.loads(text))
    except ValueError as error:
        raise InputError(f"not JSON ({error})") from error


def _source(whole: Any) -> Source:
    outputs = {str(name): str(output) for name, output in (whole.get("outputs") or {}).items()}
    return Source(decode_info(dump_line(whole["session"])), _records(whole["records"]), outputs)


def _records(given: Iterable[Any]) -> tuple[tuple[Record, bytes], ...]:
    """Return the records with the bytes of their files.

    The export contains a record as text if another program wrote it differently.
    """
    return tuple(_record(raw, where) for where, raw in enumerate(given, 1))


def _record(raw: Any, where: int) -> tuple[Record, bytes]:
    data = raw.encode("utf-8") if isinstance(raw, str) else dump_line(raw)
    try:
        return decode(data) if isinstance(raw, str) else record_from_json(raw), data
    except Damaged as error:
        raise InputError(f"record {where}: {error!s:.{REASON}}") from error


def _complete(records: Sequence[Record], missing: set[int]) -> bool:
    """Return True if all records are present, except records that the export itself lists as lost."""
    there = [record.seq for record in records]
    return there == sorted(there) and sorted([*there, *missing]) == list(range(1, len(there) + len(missing) + 1))


def _unbroken(kept: Sequence[tuple[Record, bytes]]) -> bool:
    """Return True if each record contains the SHA-256 of the previous one, if that is present."""
    before = {record.seq: digest(data) for record, data in kept}
    return all(record.prev == before.get(record.seq - 1, record.prev) for record, _ in kept) and (
        not kept or kept[0][0].seq > 1 or not kept[0][0].prev
    )
