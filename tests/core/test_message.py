from __future__ import annotations

import tracemalloc

import pytest

from agentcli.core.message import (
    TYPED,
    Image,
    Message,
    Part,
    Pieces,
    Status,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
    reminder,
    unreadable_call,
    unsigned,
)
from tests.tables import each_row


def test_with_the_thoughts_go_the_signatures_that_they_left_on_words_and_calls() -> None:
    signed = {"google": {"thought_signature": "AAAA"}}
    parts = (
        Thinking("hm", "", signed),
        Text("So.", meta={**signed, "anthropic": {"kept": 1}}),
        ToolCall("c1", "read", {}, signed),
    )
    assert Message("assistant", parts).without_thoughts().parts == (
        Text("So.", meta={"anthropic": {"kept": 1}}),
        ToolCall("c1", "read", {}),
    )


def test_a_result_of_another_program_that_tells_only_the_end_took_no_known_time() -> None:
    assert ToolResult("c", "read", "success", "", ended=1_767_225_600.0).seconds == 0
    assert ToolResult("c", "read", "success", "", started=1.0, ended=3.5).seconds == 2.5
    assert ToolResult("c", "read", "success", "", started=3.0, ended=1.0).seconds == 0


def test_a_part_without_a_signature_stays_the_same_object_and_empty_meta_goes() -> None:
    plain = Text("a", meta={"anthropic": {"kept": 1}, "odd": 5})
    assert unsigned(plain) is plain
    assert unsigned(Text("a")).meta is None
    assert unsigned(Text("a", meta={"google": {"thought_signature": ""}})).meta is None
    both = Text("a", meta={"google": {"thought_signature": "x", "kept": 1}, "odd": 5})
    assert unsigned(both).meta == {"google": {"kept": 1}, "odd": 5}


@each_row(
    ("parts", "text", "typed", "is_prompt"),
    [
        ((), "", "", False),
        ((Text("a"), Text("b")), "ab", "ab", True),
        ((Text("note", True, "reminder"), Text("a")), "a", "a", True),
        ((Text("note", True, "reminder"),), "", "", False),
        ((Image("image/png", ""),), "", "", True),
        ((Text("whole", meta={TYPED: {"line": "/do x"}}),), "whole", "/do x", True),
        ((Text("a"), Text("whole", True, "inline", {TYPED: {"line": "/do x"}})), "a", "/do x", True),
        ((Text("whole", meta={TYPED: {"line": 5}}), Text("b")), "wholeb", "wholeb", True),
        ((Text("whole", meta={"other": {}}),), "whole", "whole", True),
    ],
)
def test_a_prompt_is_what_its_speaker_entered(parts: tuple[Part, ...], text: str, typed: str, is_prompt: bool) -> None:
    message = Message("user", parts)
    assert (message.text, message.typed, message.is_prompt) == (text, typed, is_prompt)
    assert not Message("assistant", parts).is_prompt


def test_calls_stand_in_their_order_and_other_parts_change_nothing_else() -> None:
    first, second = ToolCall("c1", "read", {}), ToolCall("c2", "read", {})
    message = Message("assistant", (Text("x"), first, second), 3, "anthropic", "m", Usage(1), 0.5, "tool_use", "odd")
    assert message.calls == (first, second)
    other = message.with_parts((first,))
    assert (other.parts, other.turn, other.usage, other.cost, other.stop, other.error) == (
        (first,), 3, Usage(1), 0.5, "tool_use", "odd",
    )  # fmt: skip


def test_remarks_add_up_and_arguments_that_cannot_be_read_say_why() -> None:
    call = ToolCall("c", "read", {"a": 1}, {"google": {"x": 1}})
    assert (call.remarks, call.unreadable) == ((), "")
    twice = call.remarked("one").remarked("two")
    assert (twice.remarks, twice.input, twice.meta) == (
        ("one", "two"), {"a": 1}, {"google": {"x": 1}, TYPED: {"remarks": ["one", "two"]}},
    )  # fmt: skip
    broken = unreadable_call("c", "read", "{", "it ends early")
    assert (broken.input, broken.unreadable, broken.remarks) == ({"arguments": "{"}, "it ends early", ())
    assert broken.remarked("x").unreadable == "it ends early"
    for odd in ({TYPED: 5}, {TYPED: {"remarks": "x", "unreadable": None}}):
        assert (ToolCall("c", "r", {}, odd).remarks, ToolCall("c", "r", {}, odd).unreadable) == ((), "")


@each_row(("status", "failed"), [("success", False), ("error", True), ("denied", True), ("interrupted", True)])
def test_a_result_is_failed_unless_it_succeeded(status: Status, failed: bool) -> None:
    assert ToolResult("c", "read", status, "").failed is failed


@each_row(
    ("metadata", "shown"),
    [({}, "a hint"), ({"for_model": " hint"}, "a"), ({"for_model": ""}, "a hint"), ({"for_model": 5}, "a hint")],
)
def test_people_see_a_result_without_the_hint_for_the_model(metadata: dict[str, object], shown: str) -> None:
    assert ToolResult("c", "read", "success", "a hint", metadata=metadata).for_people == shown


def test_usage_is_added_and_taken_away_count_by_count() -> None:
    one, other = Usage(1, 20, 300, 4_000, 50_000), Usage(5, 4, 3, 2, 1)
    assert one + other == Usage(6, 24, 303, 4_002, 50_001)
    assert one - other == Usage(-4, 16, 297, 3_998, 49_999)
    assert (one.prompt, one.total) == (54_001, 54_021)


def test_a_reminder_is_text_of_ours() -> None:
    assert reminder("x") == Text("x", True, "reminder")


@pytest.mark.parametrize("piece", ["a piece of a reply\n", "слова\n", "ü", "😀 and \ud83d", ""])
def test_pieces_are_the_text_at_any_time(piece: str) -> None:
    pieces = Pieces()
    assert (bool(pieces), pieces.text(), [*pieces]) == (False, "", [])
    for count in range(1, 20_001):
        pieces.append(piece)
        if count % 4_999 == 0:
            assert "".join(pieces) == piece * count
            assert count % 2 or pieces.text() == piece * count
    assert "".join(pieces) == pieces.text() == piece * 20_000
    assert bool(pieces) is bool(piece)
    assert max(map(len, pieces), default=0) < 100_000


def test_a_text_of_many_pieces_is_in_memory_once_until_it_is_whole() -> None:
    piece, count = "forty characters of a piece, with an e\n\n", 50_000
    tracemalloc.start()
    pieces = Pieces()
    for _ in range(count):
        pieces.append(piece)
    whole = pieces.text()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.3 * len(whole)
    assert pieces.text() is whole
