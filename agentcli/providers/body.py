"""The bytes of a request's body. What was sent before is not written again."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from agentcli.providers.wire import sendable_json


class BodyWriter:
    """Writes bodies as JSON in UTF-8, without lone surrogates. The bytes of the newest body's messages are kept for the next."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, bytes]] = {}

    def write(self, fields: Mapping[str, Any], name: str, messages: Sequence[Any]) -> bytes:
        """A body of these fields, and of messages under a name. A message that is the same object as in the body before must not have changed."""
        kept: dict[int, tuple[Any, bytes]] = {}
        written = []
        for message in messages:
            known = self._known.get(id(message))
            text = known[1] if known and known[0] is message else _written(message)
            kept[id(message)] = message, text
            written.append(text)
        self._known = kept
        head = _written(dict(fields))[:-1]
        return b"".join((head, b"," if fields else b"", _written(name), b":[", b",".join(written), b"]}"))


def _written(value: Any) -> bytes:
    try:
        return _ENCODER.encode(value).encode("utf-8")
    except UnicodeEncodeError:
        return _ENCODER.encode(sendable_json(value)).encode("utf-8")


_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
