"""Requests in both wire formats."""

from __future__ import annotations

from typing import Any

from agentcli.core.message import Image, Text, Thinking, ToolCall, ToolResult
from agentcli.core.model import Breakpoint, RequestMessage
from agentcli.providers.catalog import spec
from agentcli.providers.openai import chat_request, responses_request
from agentcli.providers.settings import BUILT_IN
from tests.providers.hearing import answers, reply_turn, request

IMAGE = Image("image/png", "iVBORw==")
CALL = ToolCall("call_1", "read", {"file_path": "ä"})


def chat(name: str, *turns: RequestMessage | str, **more: Any) -> dict[str, Any]:
    model = spec(name)
    return chat_request.to_wire(request(model, *turns, **more), BUILT_IN[model.provider])


def responses(name: str, *turns: RequestMessage | str, **more: Any) -> dict[str, Any]:
    return responses_request.to_wire(request(spec(name), *turns, **more), BUILT_IN["openai"])


def test_images_in_results_follow_in_the_users_message_of_a_chat() -> None:
    done = RequestMessage("user", (ToolResult("call_1", "read", "success", "see", images=(IMAGE,)), Text("Go on.")))
    model = spec("ollama/qwen3")
    *_, result, user = chat("ollama/qwen3", "hi", reply_turn(model, (CALL,)), done)["messages"]
    assert result == {"role": "tool", "tool_call_id": "call_1", "content": "see"}
    assert [block["type"] for block in user["content"]] == ["text", "image_url", "text"]
    assert user["content"][1]["image_url"]["url"] == "data:image/png;base64,iVBORw=="


def test_results_keep_their_images_in_responses() -> None:
    done = RequestMessage("user", (ToolResult("call_1", "read", "success", "see", images=(IMAGE,)),))
    *_, result = responses("luna", "hi", reply_turn(spec("luna"), (CALL,)), done)["input"]
    assert [block["type"] for block in result["output"]] == ["input_text", "input_image"]


def test_texts_alone_are_sent_as_one_text() -> None:
    user = RequestMessage("user", (Text("a"), Text(" "), Text("b")))
    assert chat("ollama/qwen3", user)["messages"][-1] == {"role": "user", "content": "a\n\nb"}


def test_neighbours_of_one_side_are_joined_in_a_chat() -> None:
    turn = RequestMessage("assistant", (Text("a"),), "x", "y")
    made = chat("ollama/qwen3", "hi", turn, reply_turn(spec("ollama/qwen3"), (Text("b"), CALL)), answers([CALL]))[
        "messages"
    ]
    assert [message["role"] for message in made] == ["system", "user", "assistant", "tool"]
    assert made[2]["content"] == "a\n\nb"
    assert made[2]["tool_calls"][0]["function"]["arguments"] == '{"file_path": "ä"}'


def test_the_vendors_thinkers_take_tools_on_this_wire_only_without_thinking() -> None:
    assert chat("luna", "a", options={"effort": "high"})["reasoning_effort"] == "none"
    assert chat("luna", "a", tools=(), options={"effort": "high"})["reasoning_effort"] == "high"
    assert "reasoning_effort" not in chat("ollama/qwen3", "a", options={"effort": "high"})


def test_nothing_is_stored_and_reasoning_comes_sealed() -> None:
    made = responses("luna", "a", options={"effort": "low", "session": "s1"})
    assert (made["store"], made["include"]) == (False, ["reasoning.encrypted_content"])
    assert made["reasoning"] == {"effort": "low", "summary": "auto"}
    assert made["prompt_cache_key"] == "s1"
    assert made["tools"][0]["strict"] is False
    assert "reasoning" not in responses("luna", "a", options={"thinking": False})
    assert "include" not in responses("luna", "a", options={"thinking": None})
    assert responses("luna", "a", options={"summaries": False, "effort": "low"})["reasoning"] == {"effort": "low"}


def test_the_cache_key_is_for_the_vendor_alone() -> None:
    assert chat("luna", "a", options={"session": "s1"})["prompt_cache_key"] == "s1"
    assert "prompt_cache_key" not in chat("ollama/qwen3", "a", options={"session": "s1"})


def test_reasoning_goes_back_only_with_what_followed_it() -> None:
    raw = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"}
    thought, luna = Thinking("", "", {"openai": raw}), spec("luna")
    kept = responses("luna", "a", reply_turn(luna, (thought, Text("So."))), "b")["input"]
    assert [item["type"] for item in kept] == ["message", "reasoning", "message", "message"]
    lost = responses("luna", "a", reply_turn(luna, (Text("So."), thought)), "b")["input"]
    assert "reasoning" not in [item["type"] for item in lost]
    other = responses("luna", "a", reply_turn(spec("openai/gpt-6-sol"), (thought, Text("So."))), "b")["input"]
    assert "reasoning" not in [item["type"] for item in other]


ROUTED = "openrouter/anthropic/claude-sonnet-4.5"
MARK = {"type": "ephemeral"}


def test_a_claude_behind_a_gateway_is_told_what_to_cache() -> None:
    done = RequestMessage("user", (ToolResult("call_1", "read", "success", "see"), Text("Go on."), Text("Now.")))
    turns = ("hi", reply_turn(spec(ROUTED), (Text("I look."), CALL)), done)
    marks = (Breakpoint(-1), Breakpoint(1, 0), Breakpoint(2, 0), Breakpoint(2, 2))
    system, user, assistant, result, last = chat(ROUTED, *turns, breakpoints=marks)["messages"]
    assert system["content"] == [{"type": "text", "text": "Be brief.", "cache_control": MARK}]
    assert user == {"role": "user", "content": "hi"}
    assert assistant["content"] == [{"type": "text", "text": "I look.", "cache_control": MARK}]
    assert result == {"role": "tool", "tool_call_id": "call_1", "content": "see", "cache_control": MARK}
    assert [block.get("cache_control") for block in last["content"]] == [None, MARK]
