"""The input of a call as text, and the ids by which passages are requested."""

from typing import Any

import pytest

from agentcli.core.message import File, Image, Message, Text, Thinking, ToolCall, ToolResult
from agentcli.core.record import Body, Compaction, CompactionStatus, Pin, Record
from agentcli.core.text.passage import Entry, Passage, call_ids, folded, input_text, passages
from tests.tables import each_row


def test_a_short_field_takes_a_line_and_a_long_text_stands_below_its_name() -> None:
    given = {"path": "a.py", "old": "x\ny", "count": 2, "all": True, "tags": ["a", "b"]}
    assert input_text(given) == 'path: a.py\nold:\nx\ny\ncount: 2\nall: true\ntags: ["a","b"]'
    assert input_text({}) == ""


def test_a_passage_is_requested_by_the_id_of_its_call_or_of_its_large_input() -> None:
    notice = 'recall(id="input-3-1") recall(id="input-3-1")'
    assert call_ids(Message("assistant", (ToolCall("c1", "read", {}), Text("x"), ToolCall("c2", "read", {})))) == (
        "c1",
        "c2",
    )
    assert call_ids(Message("user", (Text(notice),))) == ("input-3-1",)
    assert call_ids(Message("user", (Text("x" * 2_000 + notice),))) == ()
    assert call_ids(ToolResult("c1", "read", "success", "x")) == ("c1",)


def test_letters_without_a_single_lower_case_compare_as_i() -> None:
    assert folded("İıIi ÄSS ß") == "iiii äss ss"


def found_in(body: Body, kept: dict[str, str] | None = None) -> list[Passage]:
    return list(passages(Entry(Record(7, "", "", "", body), 3), lambda path: (kept or {}).get(path, "")))


def test_a_message_has_its_texts_then_its_large_inputs_and_then_its_calls() -> None:
    notice = 'See recall(id="input-3-1") and recall(id="input-3-2").'
    parts = (
        Text("first"), Text("  "), Thinking("hm"), Image("image/png", "AA"), File("text/plain", "a.txt", notice),
        ToolCall("c1", "read", {"file_path": "a"}), Text("last"),
    )  # fmt: skip
    assert found_in(Message("user", parts), {"input-3-2.txt": "all of it"}) == [
        Passage(7, 3, "user", "first"),
        Passage(7, 3, "user", f"a.txt\n{notice}"),
        Passage(7, 3, "user", "last"),
        Passage(7, 3, "user", "all of it", "input-3-2", "input", "large input", "success"),
        Passage(7, 3, "input", "file_path: a", "c1", "read"),
    ]


@each_row(
    ("output", "output_file", "metadata", "text", "numbered"),
    [
        ("cut", "", {}, "cut", False),
        ("cut", "kept.txt", {}, "  1\twhole", False),
        ("cut", "kept.txt", {"lines": 1}, "  1\twhole", True),
        ("cut", "gone.txt", {"lines": 1}, "cut", False),
        ("12\tx", "", {"lines": 1}, "12\tx", True),
    ],
)
def test_a_result_is_its_whole_output_if_that_was_kept(
    output: str, output_file: str, metadata: dict[str, Any], text: str, numbered: bool
) -> None:
    result = ToolResult("c", "read", "error", output, True, output_file, "Read a", metadata=metadata)
    expected = Passage(7, 3, "output", text, "c", "read", "Read a", "error", numbered)
    assert found_in(result, {"kept.txt": "  1\twhole"}) == [expected]


@each_row(
    ("status", "snapshot", "found"),
    [("compressed", "so far", ["so far"]), ("compressed", "", []), ("noop", "so far", []), ("failed_summary", "x", [])],
)
def test_a_summary_is_a_passage_if_it_replaced_something(
    status: CompactionStatus, snapshot: str, found: list[str]
) -> None:
    assert [each.text for each in found_in(Compaction("auto", status, "auto", snapshot=snapshot))] == found


def test_other_records_have_no_passage_and_no_call() -> None:
    assert (found_in(Pin(1)), call_ids(Pin(1))) == ([], ())
    assert call_ids(
        Message("user", (File("text/plain", "a", 'recall(id="input-1-2")'), Text("recall(id=input-1)")))
    ) == ("input-1-2",)


@pytest.mark.parametrize(("before", "found"), [(2_000, ("input-1-2",)), (1_999, ())])
def test_the_notice_of_a_large_input_stands_at_the_beginning_of_a_text(before: int, found: tuple[str, ...]) -> None:
    notice = 'recall(id="input-1-2")'
    text = "x" * (2_000 - len(notice) + (2_000 - before)) + notice
    assert call_ids(Message("user", (Text(text),))) == found
