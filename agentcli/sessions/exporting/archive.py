"""JSON export: each record as in its file, with its outputs and file states."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from agentcli.core.codec.encode import dumps, loads
from agentcli.sessions.exporting.redactor import Redactor
from agentcli.sessions.exporting.source import Source
from agentcli.sessions.exporting.transcript import Clean
from agentcli.sessions.info import info_to_json
from agentcli.sessions.storage.records import Through

EXPORT = "agentcli-session"
"""The value of the field `format` of an export as JSON."""
VERSION = 2
"""Version of the format. Version 1 had no file states, and did not export sessions with a missing record."""
_OPAQUE = frozenset({"schema", "seq", "id", "time", "kind", "prev", "call_id", "data", "signature", "meta", "mime"})
"""Fields without prose: images, signatures and names that other fields refer to."""
_UNPRINTABLE = re.compile(r"[^ -~\n]+")
_compact = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
"""Encoder of compact JSON with lone surrogates unchanged.

It is created once: that takes as long as encoding a short record.
"""


def to_json(source: Source, redactor: Redactor | None = None, through: Through = iter) -> Iterator[str]:
    """Yield one JSON object, in pieces.

    Without a redactor, an import restores the same records and outputs, byte for byte, but not the file states. If
    there are lone surrogates, they become escapes and the whole text is ASCII.
    """
    pieces = list(_pieces(source, redactor, through))
    return map(_in_ascii, pieces) if any(map(_has_surrogates, pieces)) else iter(pieces)


def _pieces(source: Source, redactor: Redactor | None, through: Through) -> Iterator[str]:
    clean: Clean = redactor or str
    files = {record.seq: data for record, data in source.records}
    session = dict(info_to_json(source.info))
    head = {
        "format": EXPORT,
        "version": VERSION,
        "redacted": redactor is not None,
        "missing": [seq for seq in range(1, source.info.records + 1) if seq not in files],
        "left_out": dict(source.left_out),
        "session": session if redactor is None else _cleaned(session, redactor),
    }
    # Without its secrets a content is a different one, with which no change could be undone.
    contents = {} if redactor else source.contents
    records = through([record for record, _ in source.records])
    yield f'{_compact(head)[:-1]},"records":['
    yield from _with_commas(_record(files[record.seq], redactor) for record in records)
    yield '],"outputs":{'
    yield from _with_commas(f"{_compact(name)}:{_compact(clean(text))}" for name, text in source.outputs.items())
    yield '},"contents":{'
    yield from _with_commas(f"{_compact(key)}:{_compact(_content(data))}" for key, data in contents.items())
    yield "}}\n"


def _with_commas(items: Iterable[str]) -> Iterator[str]:
    between = ""
    for item in items:
        yield f"{between}{item}"
        between = ","


def _record(data: bytes, redactor: Redactor | None) -> str:
    """Return a record's JSON, or the file's text as a JSON string if only that preserves it byte for byte."""
    if redactor is None:
        raw = loads(data)
        return _compact(raw if (dumps(raw) + "\n").encode("utf-8") == data else data.decode("utf-8"))
    return _compact(_cleaned(loads(data), redactor))


def _has_surrogates(text: str) -> bool:
    try:
        return not text.isascii() and not text.encode("utf-8")
    except UnicodeEncodeError:
        return True


def _in_ascii(piece: str) -> str:
    return _UNPRINTABLE.sub(lambda found: json.dumps(found[0])[1:-1], piece)


def _content(data: bytes) -> dict[str, str]:
    try:
        return {"text": data.decode("utf-8")}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode("ascii")}


def _cleaned(value: Any, clean: Clean) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {name: inner if name in _OPAQUE else _cleaned(inner, clean) for name, inner in value.items()}
    if isinstance(value, list):
        return [_cleaned(inner, clean) for inner in value]
    return value
