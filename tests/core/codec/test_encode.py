"""Each kind of record in its file: the fields that it always has, the fields that are written only if set, and how both are read."""

from __future__ import annotations

import dataclasses
import json
import math
import tracemalloc
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcli.core.codec.encode import (
    LONG,
    Damaged,
    LongLine,
    decode,
    dump_line,
    dumps,
    encode,
    encoded,
    line_pieces,
    loads,
    part_from_json,
    part_to_json,
    record_from_json,
    usage_from_json,
    usage_to_json,
)
from agentcli.core.message import (
    File,
    Image,
    Message,
    Part,
    Pieces,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UnfinishedText,
    Usage,
)
from agentcli.core.record import (
    Body,
    Carry,
    Checkpoint,
    Compaction,
    Failure,
    FeatureState,
    InnerCall,
    Kept,
    Pin,
    ProviderSummary,
    Prune,
    Record,
    Retry,
    Settings,
    Title,
    Todo,
    TodoItem,
    Undo,
    Unknown,
    Unpin,
    VerbatimText,
)
from tests.tables import each_row

SPENT = Usage(5, 2, 1, 3, 4)
TOKENS = {"input": 5, "output": 2, "reasoning": 1, "cache_read": 3, "cache_write": 4}
NONE = {"input": 0, "output": 0, "reasoning": 0, "cache_read": 0, "cache_write": 0}


def fields(body: Body) -> dict[str, Any]:
    """The fields of a record without the common ones."""
    raw = json.loads(encode(Record(3, "id", "2026-01-01T00:00:00Z", "ab", body)))
    head = {name: raw.pop(name) for name in ("schema", "seq", "id", "kind", "prev")}
    assert head == {"schema": 1, "seq": 3, "id": "id", "kind": Record(3, "", "", "", body).kind, "prev": "ab"}
    if not isinstance(body, ToolResult):
        assert raw.pop("time") == "2026-01-01T00:00:00Z"
    return dict(raw)


@each_row(
    ("body", "raw"),
    [
        (Message("user", (Text("a"),), 2), {"role": "user", "turn": 2, "parts": [{"type": "text", "text": "a", "synthetic": False}]}),
        (
            Message("assistant", (), 1, "p", "m", SPENT, 0.5, "end_turn", "odd"),
            {"role": "assistant", "turn": 1, "parts": [], "provider": "p", "model": "m", "usage": TOKENS, "cost": 0.5, "stop": "end_turn", "error": "odd"},
        ),
        (
            Message("assistant", (), 1),
            {"role": "assistant", "turn": 1, "parts": [], "provider": "", "model": "", "usage": None, "cost": None, "stop": None, "error": None},
        ),
        (
            ToolResult("c", "read", "error", "out", True, "f.txt", "Read", 1.0, 2.5, {"a": 1}, (Image("image/png", "AA"),)),
            {
                "call_id": "c", "name": "read", "status": "error", "output": "out", "truncated": True, "output_file": "f.txt", "title": "Read",
                "time": {"start": 1.0, "end": 2.5, "recorded": "2026-01-01T00:00:00Z"}, "metadata": {"a": 1},
                "images": [{"type": "image", "mime": "image/png", "data": "AA"}],
            },
        ),
        (
            ToolResult("c", "read", "success", ""),
            {
                "call_id": "c", "name": "read", "status": "success", "output": "", "truncated": False, "output_file": None, "title": "",
                "time": {"start": 0.0, "end": 0.0, "recorded": "2026-01-01T00:00:00Z"}, "metadata": {},
            },
        ),
        (Prune(("a",), 5, "why"), {"call_ids": ["a"], "tokens": 5, "reason": "why", "drop_thinking_before": 0}),
        (
            Prune(("a",), 5, "why", 7, ("b",), {"a": "ok"}, "provider", ("c",)),
            {"call_ids": ["a"], "tokens": 5, "reason": "why", "drop_thinking_before": 7, "inputs": ["b"], "outcomes": {"a": "ok"}, "by": "provider", "restored": ["c"]},
        ),
        (Undo(2), {"undoes": 2, "target": "compaction"}),
        (Undo(2, "rewind", SPENT, 0.5), {"undoes": 2, "target": "rewind", "usage": TOKENS, "cost": 0.5}),
        (Pin(2), {"pins": 2}),
        (Unpin(2), {"pins": 2}),
        (Retry(1, 0.5, "busy"), {"attempt": 1, "delay": 0.5, "reason": "busy"}),
        (Title("t", "n"), {"title": "t", "name": "n"}),
        (Title("t", "n", "m", SPENT, 0.5), {"title": "t", "name": "n", "model": "m", "usage": TOKENS, "cost": 0.5}),
        (Todo((TodoItem("a"),)), {"items": [{"content": "a", "status": "pending", "active_form": ""}]}),
        (Checkpoint({"a": 1}), {"data": {"a": 1}}),
        (Settings("m"), {"model": "m", "mode": "", "policy": ""}),
        (
            Settings("m", "ask", "auto", ("s",), ({"name": "x"},), "why", "/f"),
            {"model": "m", "mode": "ask", "policy": "auto", "why": "why", "folder": "/f", "system": ["s"], "tools": [{"name": "x"}]},
        ),
        (Settings(tools=({"name": "x"},)), {"model": "", "mode": "", "policy": "", "system": [], "tools": [{"name": "x"}]}),
        (FeatureState("goal", {"a": 1}), {"feature": "goal", "data": {"a": 1}}),
        (FeatureState("goal", {}, "m", SPENT, 0.5), {"feature": "goal", "data": {}, "model": "m", "usage": TOKENS, "cost": 0.5}),
        (Settings("m", system=("s",)), {"model": "m", "mode": "", "policy": "", "system": ["s"], "tools": []}),
        (Prune(("a",), 5, "why", restored=("c",)), {"call_ids": ["a"], "tokens": 5, "reason": "why", "drop_thinking_before": 0, "restored": ["c"]}),
        (Failure("no", "there"), {"message": "no", "where": "there"}),
        (Failure("no", "there", SPENT), {"message": "no", "where": "there", "usage": TOKENS, "cost": None}),
        (
            InnerCall("s", ToolCall("s-1", "read", {"file_path": "a"}), ToolResult("s-1", "read", "success", "text")),
            {
                "within": "s",
                "call": {"type": "tool_call", "call_id": "s-1", "name": "read", "input": {"file_path": "a"}},
                "result": {
                    "call_id": "s-1", "name": "read", "status": "success", "output": "text", "truncated": False, "output_file": None,
                    "title": "", "time": {"start": 0.0, "end": 0.0}, "metadata": {},
                },
            },
        ),
        (Unknown("new", {"kind": "new", "seq": 9, "x": 1}), {"x": 1}),
    ],
)  # fmt: skip
def test_a_record_has_its_fields_and_comes_back(body: Body, raw: dict[str, Any]) -> None:
    assert fields(body) == raw
    record = Record(3, "id", "2026-01-01T00:00:00Z", "ab", body)
    back = decode(encode(record))
    if not isinstance(body, Unknown):
        assert back == record
    assert encode(back) == encode(record)


SAMPLES: Mapping[Any, Any] = {
    int: 7, float: 0.5, float | None: 0.5, str: "x", Usage: SPENT, tuple[str, ...]: ("x",), Mapping[str, str]: {"a": "b"},
    Mapping[str, Any]: {"a": 1}, tuple[Mapping[str, Any], ...]: ({"a": 1},),
}  # fmt: skip
"""A value for a field of each type."""


def filled(kind: type[Any]) -> dict[str, Any]:
    """A value for each field of a record, other than its default."""
    values = {
        name: get_args(hint)[-1] if get_origin(hint) is Literal else SAMPLES.get(hint)
        for name, hint in get_type_hints(kind).items()
    }
    return {
        each.name: values[each.name]
        for each in dataclasses.fields(kind)
        if values[each.name] not in (None, each.default)
    }


@pytest.mark.parametrize(
    "kind", [Undo, Pin, Unpin, Retry, Title, FeatureState, Failure, Prune, Settings], ids=lambda kind: kind.__name__
)
def test_every_field_of_a_record_is_written_and_read(kind: type[Any]) -> None:
    given = filled(kind)
    assert given.keys() == {each.name for each in dataclasses.fields(kind)}
    back = decode(encode(Record(3, "id", "2026-01-01T00:00:00Z", "ab", kind(**given))))
    assert back.body == kind(**given)


def test_a_compaction_has_what_it_says_and_comes_back() -> None:
    words = VerbatimText(1, 2, "text")
    whole = Compaction(
        "auto", "compressed", "auto", (1, 2), 3, "s", {"a": 1}, (words,), (words,), 10, 5, "m", SPENT, 0.5, (1,), {"c": "r"}, 4, True, "n",
        cleared=("d",), answer=words, stands_for=(1, 9), cleared_inputs=("e",), skills=(words,),
    )  # fmt: skip
    record = Record(3, "id", "2026-01-01T00:00:00Z", "ab", whole)
    assert decode(encode(record)) == record
    said = {"seq": 1, "turn": 2, "text": "text"}
    raw = fields(whole)
    assert (raw["answer"], raw["pins"], raw["user_words"], raw["skills"]) == (said, [said], [said], [said])
    assert (raw["stands_for"], raw["cleared_inputs"], raw["covers"], raw["kept"]) == ([1, 9], ["e"], [1, 2], [1])
    bare = fields(Compaction("manual", "noop", "auto"))
    assert not {"answer", "stands_for", "cleared_inputs", "skills", "by_provider"} & set(bare)
    assert (bare["usage"], bare["continues"], bare["cost"], bare["carry"]["usage"]) == (NONE, False, None, NONE)


@each_row(
    ("part", "raw"),
    [
        (Text(""), {"type": "text", "text": ""}),
        (
            Text("a", True, "hook", {"p": {}}),
            {"type": "text", "text": "a", "synthetic": True, "source": "hook", "meta": {"p": {}}},
        ),
        (Thinking("a"), {"type": "thinking", "text": "a"}),
        (Thinking("", "s", {"p": {}}), {"type": "thinking", "text": "", "signature": "s", "meta": {"p": {}}}),
        (Image("", ""), {"type": "image", "mime": "", "data": ""}),
        (Image("m", "d", "p"), {"type": "image", "mime": "m", "data": "d", "path": "p"}),
        (File("m", "", ""), {"type": "file", "mime": "m", "text": ""}),
        (File("m", "p", "t", None, "ab"), {"type": "file", "mime": "m", "path": "p", "text": "t", "sha256": "ab"}),
        (ToolCall("c", "n", {}), {"type": "tool_call", "call_id": "c", "name": "n", "input": {}}),
    ],
)
def test_a_part_has_what_says_something_and_comes_back(part: Part, raw: dict[str, Any]) -> None:
    assert part_to_json(part) == raw
    assert part_from_json(raw) == part


def test_text_that_is_no_unicode_is_written_in_ascii() -> None:
    assert (dumps({"a": "é"}), dump_line({"a": "é"})) == ('{"a":"é"}', '{"a":"é"}\n'.encode())
    assert (dumps(["é\ud800"]), dump_line(["é\ud800"])) == ('["\\u00e9\\ud800"]', b'["\\u00e9\\ud800"]\n')


@pytest.mark.parametrize("word", ["plain ", 'a "quote"\n\t\\', "日本語", "half \ud83d", "\x00\x7f\u2028"])
@pytest.mark.parametrize("make", [Text, Thinking, lambda text: ToolCall("c", "write", {"a": 1, "content": text})])
def test_a_record_with_a_long_text_is_written_like_a_short_one(word: str, make: Callable[[str], Part]) -> None:
    text = word * (2 * LONG // len(word))
    record = Record(
        1, "i", "t", "p", Message("assistant", (Text("short"), make(text)), 1, usage=Usage(1, 2), stop="end_turn")
    )
    written, parts = encode(record), json.loads(encode(Record(1, "i", "t", "p", Message("assistant", (make("x"),), 1))))
    assert decode(written) == record
    assert json.loads(written)["parts"][1] == json.loads(json.dumps(parts["parts"][0]).replace('"x"', json.dumps(text)))
    if "\ud83d" not in word:
        assert written == dump_line(json.loads(written))


def test_an_unfinished_text_is_written_as_one_and_any_value_in_short_pieces() -> None:
    value = {
        "a": [1, 2.5, None, True, {}, []],
        "ü": {"b": "c"},
        "text": UnfinishedText(map(Pieces, ["one", " two", "x" * 200_000])),
    }
    pieces = list(line_pieces(value))
    assert json.loads(b"".join(pieces)) == {**value, "text": "one two" + "x" * 200_000}
    assert max(map(len, pieces)) < 140_000


def test_a_long_record_is_encoded_in_pieces_that_are_the_line_and_take_no_copy_of_its_text() -> None:
    text = "forty characters of a piece, with an ü\n\n" * 50_000
    record = Record(1, "i", "t", "p", Message("assistant", (Text("Hm."), ToolCall("c", "write", {"content": text}))))
    line = encoded(record)
    assert isinstance(line, LongLine)
    assert b"".join(line) == bytes(line) == encode(record) == dump_line(json.loads(bytes(line)))
    assert line.digest == sha256(encode(record)).hexdigest()
    assert decode(bytes(line)) == record
    tracemalloc.start()
    assert sum(map(len, encoded(record))) > len(text)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < len(text) / 2


def test_a_compaction_carries_the_whole_state_and_the_summary_of_a_provider() -> None:
    carry = Carry(
        SPENT, 0.5, 3, "m", "plan", "auto", "title", "name", (TodoItem("a", "completed", "doing a"),), ("s",), ({"name": "x"},),
        {"c": 1}, (4, 5), {"d": 6}, {"e": 7}, "/f", {"goal": Kept(8, {"g": 1})}, "work",
    )  # fmt: skip
    summary = ProviderSummary("anthropic", "m", "so far", {"anthropic": {"x": 1}})
    body = Compaction("auto", "compressed", "auto", carry=carry, by_provider=summary)
    record = Record(3, "id", "2026-01-01T00:00:00Z", "ab", body)
    assert decode(encode(record)) == record
    raw = fields(body)
    assert raw["by_provider"] == {
        "provider": "anthropic",
        "model": "m",
        "text": "so far",
        "meta": {"anthropic": {"x": 1}},
    }
    assert raw["carry"] == {
        "usage": TOKENS, "cost": 0.5, "turn": 3, "model": "m", "mode": "plan", "policy": "auto", "title": "title", "name": "name",
        "todo": [{"content": "a", "status": "completed", "active_form": "doing a"}], "system": ["s"], "tools": [{"name": "x"}],
        "calibration": {"c": 1}, "pins": [4, 5], "cleared": {"d": 6}, "cleared_inputs": {"e": 7}, "folder": "/f",
        "features": {"goal": {"seq": 8, "data": {"g": 1}}}, "account": "work",
    }  # fmt: skip
    bare = fields(Compaction("auto", "noop", "auto"))["carry"]
    assert (bare["pins"], bare["cleared"]) == (None, None)
    assert not {"cleared_inputs", "folder", "features", "account"} & set(bare)
    part = summary.part
    assert (part.text, part.synthetic, part.source, part.meta) == ("so far", True, "compactor", summary.meta)


NEWER: Any = "newer"
"""A value that no field of a fixed set of values knows."""


@each_row(
    "body",
    [
        Message("user", (Text("a", True, NEWER),)),
        Message("assistant", (), stop=NEWER),
        Compaction(NEWER, "compressed", "auto"),
        Compaction("auto", NEWER, "auto"),
        Compaction("auto", "noop", "auto", carry=Carry(mode=NEWER, todo=(TodoItem("a", NEWER),))),
        Undo(2, NEWER),
    ],
)
def test_a_value_that_only_a_newer_version_writes_is_kept(body: Body) -> None:
    record = Record(3, "id", "2026-01-01T00:00:00Z", "ab", body)
    assert decode(encode(record)) == record


@each_row("odd", ["half \ud800", math.nan, math.inf, -math.inf])
def test_a_record_may_contain_text_and_numbers_that_strict_json_has_not(odd: object) -> None:
    data = encode(
        Record(3, "id", "2026-01-01T00:00:00Z", "ab", ToolResult("c", "bash", "error", "", metadata={"a": odd}))
    )
    back = decode(data).body
    assert isinstance(back, ToolResult)
    assert repr(back.metadata) == repr({"a": odd})
    assert encode(decode(data)) == data


HEAD = {"seq": 1, "id": "x", "time": "t", "prev": ""}
COMPACTION = {"kind": "compaction", "trigger": "auto", "status": "noop", "policy": "auto"}


@each_row(
    "raw",
    [
        {"kind": "message", "role": "system", "parts": []},
        {"kind": "message", "role": "user"},
        {"kind": "message", "role": "user", "parts": ["a"]},
        {"kind": "message", "role": "user", "parts": [{"type": "text"}]},
        {"kind": "message", "role": "user", "parts": [{"type": "text", "text": "a", "meta": 5}]},
        {"kind": "tool_result", "call_id": "c", "name": "r", "status": "success"},
        {"kind": "compaction", "trigger": "auto", "status": "noop"},
        {**COMPACTION, "covers": [1]},
        {**COMPACTION, "covers": [1, 2, 3]},
        {**COMPACTION, "replaced": {"c": 5}},
        {**COMPACTION, "carry": {"pins": ["a"]}},
        {**COMPACTION, "carry": {"cleared": {"c": "a"}}},
        {**COMPACTION, "carry": {"features": {"goal": 5}}},
        {**COMPACTION, "carry": {"features": {"goal": {"data": {}}}}},
        {"kind": "prune", "tokens": 1},
        {"kind": "prune", "call_ids": ["a"], "outcomes": {"a": 1}},
        {"kind": "undo"},
        {"kind": "pin"},
        {"kind": "unpin"},
        {"kind": "todo"},
        {"kind": "retry", "reason": "busy"},
        {"kind": "retry", "attempt": 1},
        {"kind": "feature"},
        {"kind": "error"},
        {"kind": 5},
        {},
    ],
)
def test_a_record_without_a_field_that_it_needs_or_with_another_type_is_damaged(raw: dict[str, Any]) -> None:
    with pytest.raises(Damaged, match=r"not a record: \w+: "):
        record_from_json(HEAD | raw)


@each_row(
    ("raw", "body"),
    [
        ({"kind": "message", "role": "user", "parts": [{"type": "new"}, {"type": "text", "text": "a"}, {}]}, Message("user", (Text("a"),))),
        ({"kind": "message", "role": "assistant", "parts": [], "usage": None, "stop": ""}, Message("assistant", ())),
        ({"kind": "message", "role": "assistant", "parts": [], "usage": {"input": 2}}, Message("assistant", (), usage=Usage(2))),
        ({"kind": "tool_result", "call_id": "c", "name": "r", "status": "odd", "output": ""}, ToolResult("c", "r", "error", "")),
        (
            {
                "kind": "tool_result", "call_id": "c", "name": "r", "status": "denied", "output": "", "time": {"start": 1, "end": 2, "recorded": "t"},
                "images": [{"type": "text", "text": "a"}, {"type": "image", "mime": "m", "data": "d"}],
            },
            ToolResult("c", "r", "denied", "", started=1.0, ended=2.0, images=(Image("m", "d"),)),
        ),
        (COMPACTION, Compaction("auto", "noop", "auto")),
        ({**COMPACTION, "covers": [], "stands_for": None, "carry": None}, Compaction("auto", "noop", "auto")),
        ({**COMPACTION, "carry": {"pins": [], "cleared": {}}}, Compaction("auto", "noop", "auto", carry=Carry(pins=(), cleared={}))),
        ({"kind": "prune", "call_ids": []}, Prune((), 0, "")),
        ({"kind": "prune", "call_ids": [], "by": "somebody"}, Prune((), 0, "")),
        ({"kind": "undo", "undoes": 3}, Undo(3)),
        ({"kind": "todo", "items": [{"content": "a"}]}, Todo((TodoItem("a"),))),
        ({"kind": "retry", "attempt": 1, "reason": "busy", "delay": None}, Retry(1, 0.0, "busy")),
        ({"kind": "checkpoint"}, Checkpoint({})),
        ({"kind": "title"}, Title()),
        ({"kind": "feature", "feature": "goal"}, FeatureState("goal", {})),
        ({"kind": "error", "message": "no"}, Failure("no", "")),
    ],
)  # fmt: skip
def test_a_field_that_is_missing_or_null_has_its_default(raw: dict[str, Any], body: Body) -> None:
    assert record_from_json(HEAD | raw).body == body


@pytest.mark.parametrize(("time", "read"), [("t", "t"), ({"recorded": "t", "start": 1}, "t"), ({"start": 1}, "")])
def test_the_time_of_a_record_stands_by_itself_or_in_the_span_of_a_call(time: object, read: str) -> None:
    assert record_from_json(HEAD | {"kind": "pin", "pins": 1, "time": time}).time == read


@each_row("name", ["seq", "id", "time", "prev"])
def test_a_record_without_its_head_is_damaged(name: str) -> None:
    with pytest.raises(Damaged, match=name):
        record_from_json({key: value for key, value in HEAD.items() if key != name} | {"kind": "pin", "pins": 1})


def test_usage_has_a_name_for_each_count_and_a_missing_one_is_none() -> None:
    assert (usage_to_json(SPENT), usage_from_json(TOKENS)) == (TOKENS, SPENT)
    assert usage_from_json(None) == usage_from_json({}) == Usage()
    assert usage_from_json({"output": 2.0, "new": 9}) == Usage(output=2)


@each_row("body", [Title("t", "n", "m"), FeatureState("goal", {}, "m"), Undo(2, "undo"), Failure("no", "there")])
def test_a_record_for_which_no_model_was_asked_names_no_model_and_no_cost(body: Body) -> None:
    assert not {"model", "usage", "cost"} & set(fields(body))


# Reading the JSON of a record file: quicker than the standard library, and never otherwise.


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def outcome(read: Callable[[bytes], Any], data: bytes) -> Any:
    """The value that is read, or the error in words."""
    try:
        return read(data)
    except (ValueError, RecursionError) as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.full
@given(st.dictionaries(st.text(max_size=5), VALUES, max_size=4), st.binary(max_size=3), st.integers(0, 200))
def test_every_file_is_read_as_by_the_standard_library(value: dict[str, Any], noise: bytes, at: int) -> None:
    whole = (dumps(value) + "\n").encode("utf-8")
    assert loads(whole) == value
    for data in (whole[:at], whole[:at] + noise + whole[at:], whole + noise, noise + whole, whole[:at] + b"}\n"):
        assert outcome(loads, data) == outcome(json.loads, data)


@each_row(
    "data",
    [
        b'\xef\xbb\xbf{"a": 1}\n',
        '{"a": "\u00e9"}\n'.encode("utf-16-le"),
        '{"a": "\u00e9"}\n'.encode("utf-16"),
        b'{"a": 1}  \n}\n',
        b'{"a": 1}\n\n}\n',
        b'{"a": "\xed\xa0\x80"}\n',
        b'{"a": NaN, "a": 2}\n',
        b"{}\n",
        b"}\n",
        b"{" * 100_000 + b"}\n",
        b"",
    ],
)
def test_odd_files_are_read_as_by_the_standard_library(data: bytes) -> None:
    assert repr(outcome(loads, data)) == repr(outcome(json.loads, data))


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
