"""Request in the form of chat completions: pure, so that equal requests give equal bytes."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentcli.core.message import Thinking
from agentcli.core.model import Breakpoint, RequestMessage
from agentcli.providers.capabilities import reduced
from agentcli.providers.catalog import spec
from agentcli.providers.openai import chat_request
from agentcli.providers.settings import BUILT_IN, ProviderSettings
from tests.providers.hearing import answers, reply_turn, request
from tests.providers.test_openai import CALL, ROUTED, chat
from tests.stories.providers.test_any_history import COUNTS, TURNS


def test_ids_of_other_vendors_fit_and_stay_apart() -> None:
    for long in ("toolu_" + "x" * 60, "fc.1:2"):
        call = replace(CALL, call_id=long)
        made = chat("ollama/qwen3", "hi", reply_turn(spec("opus"), (call,)), answers([call]))["messages"]
        [sent] = made[2]["tool_calls"]
        assert made[3]["tool_call_id"] == sent["id"]
        assert len(sent["id"]) <= chat_request.LONGEST_ID


def test_a_server_that_wants_nine_letters_gets_them() -> None:
    model = spec("mistral/devstral")
    asked = request(model, "hi", reply_turn(model, (CALL,)), answers([CALL]))
    made = chat_request.to_wire(reduced(asked, ["call_ids"]), BUILT_IN["mistral"])["messages"]
    assert made[2]["tool_calls"][0]["id"] == made[3]["tool_call_id"]
    assert made[3]["tool_call_id"].isalnum()
    assert len(made[3]["tool_call_id"]) == 9


def test_the_limit_of_a_reply_has_the_name_that_the_server_knows() -> None:
    assert chat("ollama/qwen3", "a")["max_tokens"] == 1000
    assert chat("luna", "a")["max_completion_tokens"] == 1000
    asked = reduced(request(spec("ollama/qwen3"), "a"), ["max_tokens"])
    assert chat_request.to_wire(asked, BUILT_IN["ollama"])["max_completion_tokens"] == 1000


def test_thoughts_of_a_chat_go_back_in_their_own_field() -> None:
    model = spec("deepseek/deepseek-chat")
    thought = Thinking("hm", "", {"openai": {"field": "reasoning_content"}})
    made = chat("deepseek/deepseek-chat", "a", reply_turn(model, (thought, CALL)), answers([CALL]))["messages"]
    assert made[2]["reasoning_content"] == "hm"
    bare = chat_request.to_wire(
        reduced(request(model, "a", reply_turn(model, (thought, CALL)), answers([CALL])), ["thoughts"]),
        BUILT_IN["deepseek"],
    )
    assert "reasoning_content" not in bare["messages"][2]


def test_what_the_configuration_adds_is_sent() -> None:
    settings = ProviderSettings("mine", "openai", "http://127.0.0.1:1/v1", extra_body={"top_k": 1})
    assert chat_request.to_wire(request(spec("ollama/qwen3"), "a"), settings)["extra_body"] == {"top_k": 1}


def test_no_other_model_and_no_gateway_that_refuses_marks_gets_one() -> None:
    marks = (Breakpoint(-1), Breakpoint(0))
    assert "cache_control" in str(chat(ROUTED, "hi", breakpoints=marks))
    for name in ("openrouter/openai/gpt-5", "ollama/qwen3", "luna"):
        assert "cache_control" not in str(chat(name, "hi", breakpoints=marks))
    refused = reduced(request(spec(ROUTED), "hi", breakpoints=marks), ["cache"])
    assert "cache_control" not in str(chat_request.to_wire(refused, BUILT_IN["openrouter"]))
    off = replace(BUILT_IN["openrouter"], caching=False)
    assert "cache_control" not in str(chat_request.to_wire(request(spec(ROUTED), "hi", breakpoints=marks), off))


@pytest.mark.full
@settings(max_examples=150)
@given(TURNS, TURNS, COUNTS, st.sets(st.integers(0, 8), max_size=3), st.sampled_from([ROUTED, "ollama/qwen3", "luna"]))
def test_a_body_that_went_on_from_the_former_one_is_that_of_the_whole_request(
    turns: list[RequestMessage], others: list[RequestMessage], counts: list[int], marked: set[int], name: str
) -> None:
    model, former = spec(name), chat_request.Former()
    for count in counts:
        messages = (*turns[:count], *others[: count % 2])
        marks = tuple(Breakpoint(number - 1) for number in sorted(marked) if number <= len(messages))
        asked = request(model, *messages, breakpoints=marks)
        body = chat_request.to_body(asked, BUILT_IN[model.provider], former)
        assert body == chat_request.to_body(asked, BUILT_IN[model.provider], chat_request.Former())
        assert json.loads(body) == {**chat_request.to_wire(asked, BUILT_IN[model.provider]), "stream": True}
