"""Our own export (JSON), taken back without loss."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from agentcli.core.codec.encode import Damaged, decode, dump_line, record_from_json
from agentcli.core.errors import InputError
from agentcli.core.history import fold
from agentcli.core.record import Record
from agentcli.sessions.exporting.source import Source
from agentcli.sessions.importing.imported import Imported
from agentcli.sessions.importing.jsonl import REASON, reading
from agentcli.sessions.info import decode_info
from agentcli.sessions.storage.records import digest


def read(lines: Iterable[str]) -> Imported:
    """The session in an export. Where its records are unbroken, `kept` holds their very bytes.

    Raises InputError naming what is wrong with it.
    """
    text = "\n".join(lines)
    try:
        whole = json.loads(text)
    except ValueError as error:
        raise InputError(f"line {getattr(error, 'lineno', 1)}: not JSON ({error})") from error
    notes: list[str] = []
    with reading("the export"):
        info = decode_info(dump_line(whole["session"]))
        kept = _records(whole["records"])
        outputs = {str(name): str(output) for name, output in (whole.get("outputs") or {}).items()}
        contents = dict(_contents(whole.get("contents") or {}, notes))
        missing = {int(seq) for seq in whole.get("missing") or ()}
    records = [record for record, _ in kept]
    unbroken = _unbroken(kept)
    if not _complete(records, missing if unbroken else set()):
        raise InputError("records are missing from the export: references to them would be wrong")
    if not unbroken:
        notes.append("the export was changed, for one by redaction: its records are chained anew")
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
        outputs,
        contents,
        info.parent,
    )


def read_source(text: str) -> Source:
    """An export as what another can be made of: a page, say. Raises InputError for a text that is none."""
    try:
        with reading("the export"):
            whole = json.loads(text)
            info = decode_info(dump_line(whole["session"]))
            kept = _records(whole["records"])
            outputs = {str(name): str(output) for name, output in (whole.get("outputs") or {}).items()}
    except ValueError as error:
        raise InputError(f"not JSON ({error})") from error
    return Source(info, kept, outputs)


def _records(given: Iterable[Any]) -> tuple[tuple[Record, bytes], ...]:
    """The records with the bytes of their files. One that is not written in this program's form stands there as text."""
    return tuple(_record(raw, where) for where, raw in enumerate(given, 1))


def _record(raw: Any, where: int) -> tuple[Record, bytes]:
    data = raw.encode("utf-8") if isinstance(raw, str) else dump_line(raw)
    try:
        return decode(data) if isinstance(raw, str) else record_from_json(raw), data
    except Damaged as error:
        raise InputError(f"record {where}: {error!s:.{REASON}}") from error


def _contents(raw: Mapping[str, Mapping[str, str]], notes: list[str]) -> Iterator[tuple[str, bytes]]:
    """States of files by their SHA-256; one that is something else is left out with a note."""
    for key, held in raw.items():
        data = base64.b64decode(held["base64"]) if "base64" in held else held["text"].encode("utf-8", "surrogatepass")
        if digest(data) == key:
            yield key, data
        else:
            notes.append(f"the state of a file ({key:.12}) is not what was exported: it is left out")


def _complete(records: Sequence[Record], missing: set[int]) -> bool:
    """True if all records are there except those that the export itself lists as lost before."""
    there = [record.seq for record in records]
    return there == sorted(there) and sorted([*there, *missing]) == list(range(1, len(there) + len(missing) + 1))


def _unbroken(kept: Sequence[tuple[Record, bytes]]) -> bool:
    """True if each record names the SHA-256 of the one before it, as far as that one is there."""
    before = {record.seq: digest(data) for record, data in kept}
    return all(record.prev == before.get(record.seq - 1, record.prev) for record, _ in kept) and (
        not kept or kept[0][0].seq > 1 or not kept[0][0].prev
    )
