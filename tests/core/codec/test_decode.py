"""Whatever a record contains when it is written, its reader accepts it: one property over all kinds of records."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcli.core.codec.decode import MANY, expect, loads
from agentcli.core.codec.encode import decode, encode, readable
from agentcli.core.message import Message, Text, ToolCall, ToolResult, Usage
from agentcli.core.record import KINDS, Body, Carry, Compaction, FeatureState, Kept, Record, VerbatimText
from tests.tables import each_row


def nested(levels: int) -> Any:
    value: Any = []
    for _ in range(levels):
        value = {"a": value} if levels % 2 else [value]
    return value


def endless() -> Any:
    value: list[Any] = []
    value.append(value)
    return value


ODD: tuple[Any, ...] = (
    None, True, -5, 1.5, math.nan, math.inf, -math.inf, 1e300, -0.01, 10**400, "x", "half \ud800", b"x", {1, 2}, (), [], (5,), ((),), {}, {"a": 5},
    {("a",): object()}, {5: {"b": math.nan}}, MappingProxyType({"a": 1}), nested(399), nested(600), nested(2001), endless(), Usage(), Usage(-1, 1.5), Text(None),
    ToolCall("c", "n", []), (Text("x"), Text(5), "x"), ({"a": 1}, 5), (VerbatimText(1, 2, 3),), Carry(cost=math.nan), {"a": Kept("x", {})},
)  # fmt: skip
"""Values that a field of a record must not have, from servers, extensions and our own faults."""
PLAIN: Mapping[Any, Any] = {
    int: 7, float: 0.5, str: "x", Usage: Usage(5, 2), Mapping[str, Any]: {"a": 1},
    ToolCall: ToolCall("c", "n", {}), ToolResult: ToolResult("c", "n", "success", "x"),
}  # fmt: skip


def sound(kind: type[Any]) -> Any:
    """A record of a kind with a value in each field that has no default."""
    hints = get_type_hints(kind)
    needed = [
        each.name for each in dataclasses.fields(kind) if each.default is each.default_factory is dataclasses.MISSING
    ]
    return kind(**{name: _plain(hints[name]) for name in needed})


def _plain(hint: Any) -> Any:
    if get_origin(hint) is Literal:
        return get_args(hint)[0]
    return () if get_origin(hint) is tuple else PLAIN[hint]


@given(kind=st.sampled_from(list(KINDS)), data=st.data())
def test_the_writer_never_writes_what_the_reader_refuses(kind: type[Any], data: st.DataObject) -> None:
    names = st.sampled_from([each.name for each in dataclasses.fields(kind)])
    drawn = data.draw(
        st.dictionaries(names, st.integers(0, len(ODD) - 1), max_size=3)
    )  # no values: hypothesis would print them
    changes = {name: ODD[place] for name, place in drawn.items()}
    body = dataclasses.replace(sound(kind), **changes)
    back = decode(encode(Record(3, "id", "2026-01-01T00:00:00Z", "ab", body)))
    assert (back.seq, type(back.body)) == (3, kind)
    kept = readable(body)
    for each in dataclasses.fields(kind):
        if each.name not in changes:
            assert getattr(back.body, each.name) == getattr(kept, each.name) == getattr(body, each.name)


@pytest.mark.parametrize("kind", list(KINDS), ids=lambda kind: kind.__name__)
def test_what_is_as_declared_is_written_as_it_is(kind: type[Any]) -> None:
    body = sound(kind)
    assert readable(body) == body
    assert decode(encode(Record(3, "id", "2026-01-01T00:00:00Z", "ab", body))).body == body


@each_row("cost", [math.nan, math.inf, -0.5, 1e30, "0.5", True])
def test_a_bad_cost_is_unknown_in_memory_and_in_the_file(cost: Any) -> None:
    reply = Message("assistant", (Text("done"),), 1, "p", "m", Usage(5), cost, "end_turn")
    bodies: tuple[Body, ...] = (
        reply,
        Compaction("auto", "noop", "auto", cost=cost, carry=Carry(cost=cost)),
        FeatureState("f", {}, "m", Usage(1), cost),
    )
    for body in bodies:
        kept: Any = readable(body)
        assert kept.cost is None
        assert kept == dataclasses.replace(
            body, cost=None, **({"carry": Carry()} if isinstance(body, Compaction) else {})
        )


def test_what_a_tool_put_into_its_metadata_and_json_lacks_is_text() -> None:
    result = ToolResult("c", "bash", "success", "out", metadata={"set": {1}, "deep": nested(600), 5: b"x"})
    back = decode(encode(Record(3, "id", "t", "ab", result))).body
    assert isinstance(back, ToolResult)
    assert (back.output, back.metadata["set"], back.metadata["5"]) == ("out", [1], "(bytes)")


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters()),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(st.dictionaries(st.text(), _VALUES), st.booleans())
def test_the_parser_for_many_records_reads_the_same_as_the_standard_library(raw: dict[str, Any], ascii: bool) -> None:
    expect(MANY)
    data = json.dumps(raw, ensure_ascii=ascii).encode("utf-8", "surrogatepass") + b"\n"
    text = data.decode("utf-8", "surrogatepass")
    assert repr(loads(data)) == repr(json.loads(text)), text


@pytest.mark.parametrize(
    "text",
    ['{"a": -0}', '{"a": -0.0}', '{"a": 1E400}', '{"a": [NaN, -Infinity]}', '{"a": 1, "a": 2}', '{"a": "\\udc00\\ud800"}',
     '{"a": 18446744073709551616}', '{"a": ' + "[" * 250 + "]" * 250 + "}"],
)  # fmt: skip
def test_odd_json_is_read_the_same_by_the_parser_for_many_records(text: str) -> None:
    expect(MANY)
    assert repr(loads(text.encode() + b"\n")) == repr(json.loads(text))


@pytest.mark.parametrize(
    "text", ['{"a": 01}', '{"a": "\x01"}', '{"a": 1}x}', '{"a": tru}', '{"a": 1,}', '{"a": ' + "9" * 5000 + "}"]
)
def test_what_is_no_json_is_refused_by_the_parser_for_many_records(text: str) -> None:
    expect(MANY)
    with pytest.raises(ValueError, match=r"char|digits"):
        loads(text.encode() + b"\n")
