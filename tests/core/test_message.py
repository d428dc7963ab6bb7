from __future__ import annotations

from agentcli.core.message import Message, Text, Thinking, ToolCall, ToolResult


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
