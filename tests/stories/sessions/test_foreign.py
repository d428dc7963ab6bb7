"""A record in which anything has a wrong type is damaged, or harmless: it never stops what reads it."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from agentcli.core.codec.encode import Damaged, body_to_json, decode, encode
from agentcli.core.history import fold
from agentcli.core.message import Message, Text
from agentcli.core.model import ToolSchema
from agentcli.core.record import Record
from agentcli.sessions.info import Parent, SessionInfo, decode_info, encode_info, note, note_all
from tests.tables import each_row

SAMPLES = Path(__file__).parents[2] / "sessions" / "samples" / "schema-1-features"
RAW = [json.loads(path.read_bytes()) for path in sorted((SAMPLES / "records").iterdir())]
GLANCE = json.loads((SAMPLES / "session.json").read_bytes())
ODD = st.sampled_from([None, True, 5, -1, 1.5, float("inf"), "x", "", [], [5], ["x"], [None], {}, {"x": 5}, [[]], [{}]])


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to everything in a JSON value."""
    inside: list[tuple[Any, ...]] = [at] if at else []
    match value:
        case dict():
            return inside + [way for key, child in value.items() for way in places(child, (*at, key))]
        case list():
            return inside + [way for n, child in enumerate(value) for way in places(child, (*at, n))]
        case _:
            return inside


def changed(raw: Any, way: tuple[Any, ...], odd: Any) -> Any:
    raw = copy.deepcopy(raw)
    here = raw
    for step in way[:-1]:
        here = here[step]
    here[way[-1]] = odd
    return raw


CHANGES = [(raw, way) for raw in RAW for way in places(raw)]


@settings(max_examples=600)
@given(change=st.sampled_from(CHANGES), odd=ODD)
def test_a_record_with_a_wrong_type_anywhere_is_damaged_or_harmless(change: tuple[Any, Any], odd: Any) -> None:
    raw, way = change
    try:
        record = decode(json.dumps(changed(raw, way, odd)).encode())
    except Damaged:
        return
    encode_info(note(SessionInfo("", "", ""), record, ""))
    history = fold([record, Record(99, "", "", "", Message("user", (Text("x"),), 1))])
    assert history.last_seq >= 99
    body = record.body
    if isinstance(body, Message):
        assert isinstance(body.text, str)
        assert all(isinstance(call.name, str) for call in body.calls)
    assert body_to_json(decode(encode(record)).body) == body_to_json(body)


@settings(max_examples=200)
@given(way=st.sampled_from(places(GLANCE)), odd=ODD)
def test_a_session_json_with_a_wrong_type_anywhere_is_lost_or_harmless(way: tuple[Any, ...], odd: Any) -> None:
    try:
        info = decode_info(json.dumps(changed(GLANCE, way, odd)).encode())
    except ValueError:
        return
    encode_info(info)
    sorted([info, info], key=lambda each: (each.time.updated, each.id, each.name.lower(), each.title))
    assert info.usage.total + info.summary.files + info.records >= -1_000
    for raw in RAW:
        info = note(info, decode(json.dumps(raw).encode()), "")
    assert isinstance(info.cost, float | int)


@each_row("parent", [None, Parent("s", 5), Parent("s", 99), Parent("s", 5, "subagent")])
def test_a_summary_of_many_records_is_that_of_one_after_the_other(parent: Parent | None) -> None:
    noted = [(decode(json.dumps(raw).encode()), f"hash {raw['seq']}") for raw in RAW]
    info = SessionInfo("s", "p", "/repo", parent)
    one_by_one = info
    for record, head in noted:
        one_by_one = note(one_by_one, record, head)
    assert note_all(info, noted) == one_by_one
    assert one_by_one.time.created == noted[0][0].time
    assert (one_by_one.records, one_by_one.head) == (len(noted), f"hash {len(noted)}")
    assert note_all(one_by_one, ()) == one_by_one


def test_tools_of_the_first_versions_are_read_by_their_names_alone() -> None:
    [tool] = RAW[0]["tools"]
    assert ToolSchema.recorded(tool) == ToolSchema("read", "Reads", {"type": "object", "properties": {}})
    assert ToolSchema.recorded({"name": "read"}).description == ""
