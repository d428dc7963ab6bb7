"""The JSON export: every record as it stands in its file, with the outputs and states of files that belong to it."""

from __future__ import annotations

import base64
from typing import Any

from agentcli.core.codec.encode import dumps, loads
from agentcli.sessions.exporting.source import Source
from agentcli.sessions.exporting.transcript import Clean
from agentcli.sessions.importing.recognise import EXPORT
from agentcli.sessions.info import info_to_json
from agentcli.sessions.storage.records import Through

VERSION = 2
"""Version 1 had no states of files, and refused sessions with a missing record."""
_OPAQUE = frozenset({"schema", "seq", "id", "time", "kind", "prev", "call_id", "data", "signature", "meta", "mime"})
"""Fields without prose: images, signatures and names that something else refers to."""


def to_json(source: Source, clean: Clean | None = None, through: Through = iter) -> str:
    """One JSON object. Without `clean` the import gives back the very same records, outputs and states of files, byte for byte."""
    files = {record.seq: data for record, data in source.records}
    records = [_raw(files[record.seq], clean) for record in through([record for record, _ in source.records])]
    outputs = {name: clean(text) if clean else text for name, text in source.outputs.items()}
    session = info_to_json(source.info)
    if clean:
        session |= {name: clean(session[name]) for name in ("title", "name")}
    head = {
        "format": EXPORT,
        "version": VERSION,
        "redacted": clean is not None,
        "missing": [seq for seq in range(1, source.info.records + 1) if seq not in files],
        "left_out": dict(source.left_out),
        "session": session,
    }
    # A content that is cleaned is another: no change could be undone with it.
    contents = {} if clean else {key: _content(data) for key, data in source.contents.items()}
    return dumps({**head, "records": records, "outputs": outputs, "contents": contents}) + "\n"


def _raw(data: bytes, clean: Clean | None) -> Any:
    """A record as JSON; as text if its file is not written in this program's form."""
    raw = loads(data)
    if clean:
        return _cleaned(raw, clean)
    return raw if (dumps(raw) + "\n").encode("utf-8") == data else data.decode("utf-8")


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
