"""Each kind of record in its file: the fields that it always has, the fields that are written only if set, and how both are read."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentcli.core.codec.encode import decode, dump_line, dumps, encode, part_from_json, part_to_json
from agentcli.core.message import File, Image, Message, Part, Text, Thinking, ToolCall, ToolResult, Usage
from agentcli.core.record import (
    Body,
    Checkpoint,
    Compaction,
    Failure,
    Pin,
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


@pytest.mark.parametrize(
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
        (Failure("no", "there"), {"message": "no", "where": "there"}),
        (Failure("no", "there", SPENT), {"message": "no", "where": "there", "usage": TOKENS, "cost": None}),
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


@pytest.mark.parametrize(
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
