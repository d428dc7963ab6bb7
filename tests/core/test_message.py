from __future__ import annotations

from agentcli.core.message import Message, Text, Thinking, ToolCall


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
