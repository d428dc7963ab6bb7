"""Request in the form of the Messages API: pure, so that equal requests give equal bytes."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inline_snapshot import snapshot

from agentcli.core.message import Text, Usage
from agentcli.core.model import (
    Breakpoint,
    RequestMessage,
)
from agentcli.providers.anthropic.request import Former, to_body, to_wire
from agentcli.providers.catalog import spec
from agentcli.providers.settings import BUILT_IN, ProviderSettings
from tests.loopback import Raw
from tests.providers.hearing import READ, ask, reply_turn, request
from tests.stories.providers.test_any_history import COUNTS, TURNS
from tests.stories.providers.test_context_editing import EDITS, OPUS


def test_no_marks_where_the_server_has_no_cache() -> None:
    settings = ProviderSettings("local", "anthropic", caching=False)
    wire = to_wire(request(spec("opus"), "a", breakpoints=(Breakpoint(-1), Breakpoint(0))), settings)
    assert "cache_control" not in str(wire)


def test_the_beta_header_of_a_budget_model_joins_those_of_the_settings() -> None:
    made = request(spec("claude-haiku-4-5"), "a", options={"thinking": True}, max_output=32_000)
    settings = replace(BUILT_IN["anthropic"], beta_headers=("mine",))
    assert to_wire(made, settings)["extra_headers"] == {"anthropic-beta": "mine,interleaved-thinking-2025-05-14"}
    assert "extra_headers" not in to_wire(made, replace(settings, name="local"))


REMINDER = Text("<system-reminder>\nit rains\n</system-reminder>", True, "reminder")


def test_reminders_travel_as_system_messages_only_where_the_model_takes_them() -> None:
    turns = (
        RequestMessage("user", (REMINDER, Text("Fix it."))),
        RequestMessage("assistant", (Text("Yes."),)),
        RequestMessage("user", (REMINDER,)),
    )
    known = to_wire(request(spec("anthropic/claude-opus-5"), *turns), BUILT_IN["anthropic"])
    assert [message["role"] for message in known["messages"]] == ["user", "system", "assistant", "user"]
    older = to_wire(request(spec("anthropic/claude-sonnet-5"), *turns), BUILT_IN["anthropic"])
    assert [message["role"] for message in older["messages"]] == ["user", "assistant", "user"]
    foreign = to_wire(request(spec("anthropic/claude-opus-5"), *turns), ProviderSettings("elsewhere", "anthropic"))
    assert [message["role"] for message in foreign["messages"]] == ["user", "assistant", "user"]


def test_an_unknown_block_comes_back_whole_and_an_unknown_event_is_passed_over() -> None:
    strange = {"type": "hologram", "data": [1, 2]}
    events = [
        {"type": "message_start", "message": {"usage": {"input_tokens": 3}}},
        {"type": "weather", "sky": "blue"},
        {"type": "content_block_start", "index": 0, "content_block": strange},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "glow"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}},
        {"type": "message_stop"},
    ]
    heard, _ = ask("haiku", [Raw(events)])
    assert heard.parts == (Text("", meta={"anthropic": strange}),)
    assert heard.usage == Usage(3, 2)
    model = spec("haiku")
    from agentcli.providers.anthropic.request import to_wire
    from agentcli.providers.settings import BUILT_IN

    wire = to_wire(request(model, "a", reply_turn(model, heard.parts), "b"), BUILT_IN["anthropic"])
    assert wire["messages"][1]["content"] == [strange]


@pytest.mark.full
@settings(max_examples=150)
@given(
    TURNS,
    TURNS,
    COUNTS,
    st.sets(st.integers(0, 8), max_size=3),
    st.sampled_from(["opus", "claude-haiku-4-5", "sonnet"]),
)
def test_a_body_that_went_on_from_the_former_one_is_that_of_the_whole_request(
    turns: list[RequestMessage], others: list[RequestMessage], counts: list[int], marked: set[int], name: str
) -> None:
    model, former = spec(name), Former()
    for count in counts:
        marks = tuple(Breakpoint(number - 1) for number in sorted(marked) if number <= count)
        asked = request(model, *turns[:count], *others[: count % 2], breakpoints=marks, system=("s",), tools=(READ,))
        body, headers = to_body(asked, BUILT_IN["anthropic"], former)
        whole = to_wire(asked, BUILT_IN["anthropic"])
        assert headers == whole.pop("extra_headers", {})
        assert json.loads(body) == {**whole, "stream": True}
        counted, _ = to_body(asked, BUILT_IN["anthropic"], former, counting=True)
        del whole["max_tokens"]
        assert json.loads(counted) == whole


def test_the_edits_go_out_with_thoughts_first_and_the_beta_in_the_header() -> None:
    wire = to_wire(request(OPUS, "hello", context_edits=EDITS), BUILT_IN["anthropic"])
    assert wire["extra_headers"] == {"anthropic-beta": "context-management-2025-06-27"}
    assert wire["extra_body"] == snapshot(
        {
            "context_management": {
                "edits": [
                    {"type": "clear_thinking_20251015", "keep": "all"},
                    {
                        "type": "clear_tool_uses_20250919",
                        "trigger": {"type": "input_tokens", "value": 9000},
                        "keep": {"type": "tool_uses", "value": 3},
                        "clear_at_least": {"type": "input_tokens", "value": 2000},
                        "exclude_tools": ["todo"],
                        "clear_tool_inputs": ["edit", "write"],
                    },
                ]
            }
        }
    )


def test_thoughts_are_named_only_where_the_model_is_to_think() -> None:
    off = to_wire(request(OPUS, "hello", context_edits=EDITS, options={"thinking": False}), BUILT_IN["anthropic"])
    assert [edit["type"] for edit in off["extra_body"]["context_management"]["edits"]] == ["clear_tool_uses_20250919"]
    some = replace(EDITS, thinking_turns=2, counts_uses=True, at_least=0)
    edits = to_wire(request(OPUS, "hello", context_edits=some), BUILT_IN["anthropic"])["extra_body"][
        "context_management"
    ]
    assert edits["edits"][0]["keep"] == {"type": "thinking_turns", "value": 2}
    assert edits["edits"][1]["trigger"] == {"type": "tool_uses", "value": 9000}
    assert "clear_at_least" not in edits["edits"][1]


def test_other_betas_and_fields_of_the_body_stay() -> None:
    settings = replace(BUILT_IN["anthropic"], beta_headers=("a-2026",), extra_body={"metadata": {"user_id": "u"}})
    thinks = {"thinking": True, "thinking_budget": 2_000}
    asked = request(spec("claude-sonnet-4-5"), "hello", context_edits=EDITS, options=thinks, max_output=8_000)
    wire = to_wire(asked, settings)
    betas = "a-2026,interleaved-thinking-2025-05-14,context-management-2025-06-27"
    assert wire["extra_headers"] == {"anthropic-beta": betas}
    assert set(wire["extra_body"]) == {"metadata", "context_management"}
    assert "extra_headers" not in to_wire(request(OPUS, "hello"), BUILT_IN["anthropic"])
