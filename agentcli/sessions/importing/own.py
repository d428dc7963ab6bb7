"""Our own export (JSON), taken back without loss."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from agentcli.core.codec import Damaged, decode, dumps
from agentcli.core.errors import InputError
from agentcli.core.history import fold
from agentcli.core.record import Record
from agentcli.sessions.importing.imported import Imported
from agentcli.sessions.importing.jsonl import reading
from agentcli.sessions.info import decode_info
from agentcli.sessions.records import digest


def read(lines: Iterable[str]) -> Imported:
    """The session in an export. Where its records are unbroken, `raw` holds their very bytes.

    Raises InputError naming what is wrong with it.
    """
    text = "\n".join(lines)
    try:
        whole = json.loads(text)
    except ValueError as error:
        raise InputError(f"line {getattr(error, 'lineno', 1)}: not JSON ({error})") from error
    with reading("the export"):
        info = decode_info(dumps(whole["session"]).encode("utf-8"))
        files = [_bytes(raw) for raw in whole["records"]]
        outputs = {str(name): str(output) for name, output in (whole.get("outputs") or {}).items()}
    records = [_record(data, place) for place, data in enumerate(files, 1)]
    if not _gapless(records):
        raise InputError("records are missing from the export: what refers to them would mean others")
    unbroken = _unbroken(records, files)
    history = fold(records)
    return Imported(
        "agentcli",
        info.title,
        info.directory,
        history.model or info.model,
        info.time.created,
        tuple((record.time, record.body) for record in records),
        info.name,
        () if unbroken else ("the export was changed, for one by redaction: its records are chained anew",),
        tuple(files) if unbroken else (),
        outputs,
    )


def _bytes(raw: Any) -> bytes:
    return (dumps(raw) + "\n").encode("utf-8")


def _record(data: bytes, place: int) -> Record:
    try:
        return decode(data)
    except Damaged as error:
        raise InputError(f"record {place}: {error}") from error


def _gapless(records: Sequence[Record]) -> bool:
    return [record.seq for record in records] == list(range(1, len(records) + 1))


def _unbroken(records: Sequence[Record], files: Sequence[bytes]) -> bool:
    """Whether each record names the SHA-256 of the one before it."""
    claims = [record.prev for record in records]
    return claims == ["", *map(digest, files[:-1])]
