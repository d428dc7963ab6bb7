"""The input of a call as text, and the ids by which passages are requested."""

from agentcli.core.message import Message, Text, ToolCall, ToolResult
from agentcli.core.text.passage import call_ids, folded, input_text


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
