from __future__ import annotations

import json

import pytest

from agentcli.core.codec.encode import Damaged, decode, encode
from agentcli.core.message import ToolResult
from agentcli.core.record import Record, Unknown
from tests.tables import each_row


def test_a_tool_result_keeps_the_time_of_its_record_beside_that_of_its_call() -> None:
    result = ToolResult("a", "bash", "success", "ok", started=1.5, ended=2.5)
    record = Record(7, "id", "2026-01-01T00:00:00.000Z", "", result)
    assert decode(encode(record)) == record
    time = json.loads(encode(record))["time"]
    assert (time["start"], time["end"]) == (1.5, 2.5)


def test_a_known_kind_in_the_words_of_a_newer_schema_is_skipped_and_not_refused() -> None:
    raw = {"schema": 99, "seq": 1, "id": "x", "time": "t", "prev": "", "kind": "message", "speech": []}
    body = decode(json.dumps(raw).encode()).body
    assert isinstance(body, Unknown)
    assert body.raw["speech"] == []
    with pytest.raises(Damaged):
        decode(json.dumps(raw | {"schema": 1}).encode())


@each_row("data", [b"", b"\0" * 300, b"{}", b"[]", b"null", b"{" * 100_000, b'{"seq":1e999}', b"\xff"])
def test_what_is_no_record_is_damaged_and_nothing_worse(data: bytes) -> None:
    with pytest.raises(Damaged):
        decode(data)
