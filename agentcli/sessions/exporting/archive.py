"""The JSON export: every record as it stands in its file."""

from __future__ import annotations

import json
from typing import Any

from agentcli.core.codec import dumps
from agentcli.sessions.exporting.source import Source
from agentcli.sessions.exporting.story import Clean
from agentcli.sessions.importing.recognise import EXPORT
from agentcli.sessions.info import info_to_json

VERSION = 1
_OPAQUE = frozenset({"schema", "seq", "id", "time", "kind", "prev", "call_id", "data", "signature", "meta", "mime"})
"""Fields that hold no words: pictures, signatures and names that something else refers to."""


def to_json(source: Source, clean: Clean | None = None) -> str:
    """One JSON object. Without `clean` the import gives back the very same records, byte for byte."""
    records = [_raw(data, clean) for _, data in source.records]
    outputs = {name: clean(text) if clean else text for name, text in source.outputs.items()}
    session = info_to_json(source.info)
    if clean:
        session |= {name: clean(session[name]) for name in ("title", "name")}
    head = {"format": EXPORT, "version": VERSION, "redacted": clean is not None, "session": session}
    return dumps({**head, "records": records, "outputs": outputs}) + "\n"


def _raw(data: bytes, clean: Clean | None) -> Any:
    raw = json.loads(data)
    return _cleaned(raw, clean) if clean else raw


def _cleaned(value: Any, clean: Clean) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {name: inner if name in _OPAQUE else _cleaned(inner, clean) for name, inner in value.items()}
    if isinstance(value, list):
        return [_cleaned(inner, clean) for inner in value]
    return value
