"""Event lines of runs as messages and events of Inspect AI."""

from __future__ import annotations

import json
from typing import Any

from agentcli.extras.harnesses.inspect_ai.transcript import transcript, usage


def at(second: int, **event: Any) -> str:
    return json.dumps({"timestamp": f"2026-01-01T00:00:{second:02}.000000Z", **event})


CALL = at(2, type="tool_call", id="c1", name="bash", input={"command": "ls"})
USED = at(3, type="usage", kind="reply", input=10, output=5, cache_read=100, cache_write=20, reasoning=2, cost=0.5)
FIRST = [
    at(0, type="init", model="anthropic/claude-sonnet-4-5"),
    at(0, type="message", role="user", text="List the files."),
    at(1, type="message", role="assistant", text="I l", delta=True),
    at(1, type="thinking", text="They want files."),
    at(2, type="message", role="assistant", text="I look."),
    CALL,
    USED,
    at(3, type="permission", id="c1", name="bash", decision="allow"),
    at(5, type="tool_result", id="c1", name="bash", status="denied", output="a rule forbids it"),
]
LAST = [
    at(6, type="compaction", trigger="auto", tokens_before=9, tokens_after=4),
    at(7, type="usage", kind="summary", input=1, output=1),
    at(8, type="message", role="assistant", text="Done."),
    at(8, type="usage", kind="reply", input=1, output=1),
    at(9, type="result", text="Done.", exit_code=0, usage={"input": 11, "output": 6}, cost=0.6),
]


def test_a_reply_has_its_thoughts_calls_and_tokens_and_a_result_the_kind_of_its_error() -> None:
    found = transcript([*FIRST, *LAST])
    assert (found.model, found.prompt, found.result["exit_code"]) == (
        "anthropic/claude-sonnet-4-5",
        "List the files.",
        0,
    )
    assert [each["role"] for each in found.messages] == ["user", "assistant", "tool", "assistant"]
    _, reply, result, _ = found.messages
    assert reply["content"] == [
        {"type": "reasoning", "reasoning": "They want files."},
        {"type": "text", "text": "I look."},
    ]
    assert reply["tool_calls"] == [{"id": "c1", "function": "bash", "arguments": {"command": "ls"}, "type": "function"}]
    assert (result["tool_call_id"], result["error"]) == ("c1", {"type": "approval", "message": "a rule forbids it"})
    assert [each["event"] for each in found.events] == ["model", "tool", "compaction", "model"]
    model, tool, compaction, _ = found.events
    assert model["output"]["usage"] == {
        "input_tokens": 10, "output_tokens": 5, "total_tokens": 135, "input_tokens_cache_write": 20,
        "input_tokens_cache_read": 100, "reasoning_tokens": 2, "total_cost": 0.5,
    }  # fmt: skip
    assert (model["output"]["choices"][0]["stop_reason"], model["working_start"]) == ("tool_calls", 3)
    assert (tool["working_start"], tool["arguments"]) == (2, {"command": "ls"})
    assert (compaction["tokens_before"], compaction["tokens_after"]) == (9, 4)
    assert found.output["choices"][0]["message"]["content"] == "Done."
    assert found.output["usage"]["total_cost"] == 0.6


def test_a_reply_that_a_kill_cut_off_stays_and_a_continued_run_goes_on_after_it() -> None:
    found = transcript(
        [*FIRST[:6], '{"type": "usa', "null", *FIRST[:1], at(9, type="message", role="user", text="Go on."), *LAST]
    )
    assert [each["role"] for each in found.messages] == ["user", "assistant", "user", "assistant"]
    assert found.prompt == "List the files."
    assert len({each["id"] for each in found.messages}) == 4


def test_lines_without_a_run_are_an_empty_transcript() -> None:
    found = transcript([])
    assert (found.messages, found.output["choices"], found.result) == ([], [], {})
    assert usage({}, None)["total_tokens"] == 0
