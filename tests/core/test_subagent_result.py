"""The tokens and costs of a subagent, written into the result of its call."""

from agentcli.core.message import ToolResult, Usage
from agentcli.core.subagent_result import CALLS, FILES, SPENT, calls_of, changed_files, purpose, spending, spent
from tests.tables import each_row


def test_what_a_call_spent_is_read_back() -> None:
    usage = Usage(input=5, output=7)
    result = ToolResult("c", "agent", "success", "x", metadata=spending("m", usage, 0.5))
    assert (spent(result), purpose(result)) == (("m", usage, 0.5), "subagents")
    assert purpose(ToolResult("c", "agent", "success", "x", metadata=spending("m", usage, None, "review"))) == "review"
    assert spent(ToolResult("c", "agent", "success", "x", metadata=spending("m", usage, None))) == ("m", usage, None)


def test_a_result_of_another_call_spent_nothing() -> None:
    result = ToolResult("c", "agent", "success", "x")
    assert (spent(result), purpose(result)) == (("", Usage(), None), "")


@each_row("usage", [None, 5, [], {"input": "many", "output": -3, "other": 1}])
def test_invalid_tokens_count_as_none(usage: object) -> None:
    result = ToolResult("c", "agent", "success", "x", metadata={SPENT: {"usage": usage, "cost": "much"}})
    assert (spent(result), purpose(result)) == (("", Usage(), None), "subagents")


def test_files_without_a_path_are_left_out() -> None:
    files = [{"path": "a"}, {"path": 5}, {}, "b", {"path": "c", "created": True}]
    assert list(changed_files({FILES: files})) == [{"path": "a"}, {"path": "c", "created": True}]
    assert list(changed_files({FILES: "a"})) == list(changed_files({})) == []


@each_row(
    ("found", "calls"), [(["Read a", 5, "Edit b"], ("Read a", "Edit b")), (("x",), ("x",)), ("Read a", ()), (None, ())]
)
def test_the_calls_of_a_subagent_are_told_by_their_titles(found: object, calls: tuple[str, ...]) -> None:
    assert calls_of(ToolResult("c", "agent", "success", "x", metadata={CALLS: found})) == calls
    assert calls_of(ToolResult("c", "agent", "success", "x")) == ()


@each_row(
    ("raw", "read"),
    [
        ({"model": "m", "usage": {"input": 2, "output": "3"}, "cost": 1}, ("m", Usage(2), 1.0)),
        ({"model": None, "usage": None, "cost": None}, ("", Usage(), None)),
        ({"usage": {"cache_write": 4, "cache_read": 0}}, ("", Usage(cache_write=4), None)),
        ("m", ("", Usage(), None)),
    ],
)
def test_what_is_missing_or_odd_in_a_record_of_spending_counts_as_none(raw: object, read: object) -> None:
    result = ToolResult("c", "agent", "success", "x", metadata={SPENT: raw})
    assert spent(result) == read
    assert purpose(result) == ("subagents" if isinstance(raw, dict) else "")
