"""Markers in place of what was cleared."""

from __future__ import annotations

from typing import Any

from agentcli.context.cleared import CLEARED, cleared_input, cleared_result, forget_markers, keeps_input
from agentcli.core.message import ToolCall, ToolResult
from tests.tables import each_row


def test_a_cleared_output_keeps_its_outcome_and_says_how_to_see_it() -> None:
    again = '[recall(id="c1") shows it again]'
    assert cleared_result("c1", "bash", "error") == ToolResult("c1", "bash", "error", f"{CLEARED}\n{again}")
    told = cleared_result("c1", "bash", "success", "exit code 0")
    assert told == ToolResult("c1", "bash", "success", f"{CLEARED}\nexit code 0\n{again}")


@each_row(
    ("given", "shown", "lines"),
    [
        ({}, {}, 0),
        ({"content": ""}, {}, 1),
        ({"content": "a\nb"}, {}, 2),
        ({"content": "a\nb\n"}, {}, 3),
        ({"file_path": "a.py", "content": "x"}, {"file_path": "a.py"}, 2),
        ({"file_path": 3, "content": "x"}, {}, 1),
        ({"edits": [{"old": "a", "new": "b\nc"}, {"old": "d"}]}, {}, 4),
        ({"edits": ("a", "b"), "count": 3, "all": True}, {}, 2),
    ],
)
def test_a_cleared_input_keeps_its_path_and_counts_its_lines(
    given: dict[str, Any], shown: dict[str, Any], lines: int
) -> None:
    marker = f'[edit of {lines} lines cleared: recall(id="c1", role="input") shows it again]'
    assert cleared_input(ToolCall("c1", "edit", given)) == ToolCall("c1", "edit", {**shown, "cleared": marker})


def test_a_marker_is_the_same_object_until_the_markers_are_forgotten() -> None:
    def markers() -> tuple[ToolResult, ToolCall]:
        return cleared_result("c1", "edit", "success"), cleared_input(ToolCall("c1", "edit", {"content": "x"}))

    first, again = markers(), markers()
    assert [one is other for one, other in zip(first, again, strict=True)] == [True, True]
    forget_markers()
    assert [one is other for one, other in zip(first, markers(), strict=True)] == [False, False]
    assert first == markers()


@each_row(
    ("meta", "keeps"),
    [
        (None, False),
        ({}, False),
        ({"anthropic": {}}, False),
        ({"anthropic": {"caller": "x"}}, False),
        ({"google": {"signature": "x"}}, True),
        ({"google": {"caller": "x", "signature": "x"}}, True),
        ({"anthropic": {"caller": "x"}, "google": {"signature": "x"}}, True),
    ],
)
def test_a_call_that_its_provider_signed_keeps_its_input(meta: Any, keeps: bool) -> None:
    assert keeps_input(ToolCall("c1", "edit", {}, meta)) is keeps
