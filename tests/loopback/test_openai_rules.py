"""The rules of OpenAI's two wire formats refuse what the real servers refuse."""

from __future__ import annotations

import json
from typing import Any

from tests.loopback import chat_rules, openai_rules
from tests.loopback.plan import Asked
from tests.loopback.refusal import Refused
from tests.loopback.seals import Seals
from tests.tables import each_row

USER = {"role": "user", "content": "hi"}
TOOL_CALL = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{}"}}
CALLS = {"role": "assistant", "content": None, "tool_calls": [TOOL_CALL]}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "ok"}
SAID = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}
CALL = {"type": "function_call", "call_id": "c1", "name": "read", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "ok"}
READ = {"name": "read", "parameters": {"type": "object", "properties": {}}}


def chat(*messages: Any, model: str = "qwen", **more: Any) -> str:
    body = {"model": model, "messages": [USER, *messages], **more}
    asked = Asked("chat", "/v1/chat/completions", {"authorization": "Bearer x"}, json.dumps(body).encode(), 0)
    return refusal(chat_rules, asked)


def responses(*items: Any, model: str = "gpt-6-luna", **more: Any) -> str:
    body = {"model": model, "input": [SAID, *items], "store": False, **more}
    asked = Asked("openai", "/v1/responses", {"authorization": "Bearer x"}, json.dumps(body).encode(), 0)
    return refusal(openai_rules, asked)


def refusal(rules: Any, asked: Asked) -> str:
    try:
        rules.check(asked, Seals(), None)
    except Refused as refused:
        return str(refused)
    return ""


def test_good_requests_are_taken() -> None:
    assert chat(CALLS, RESULT, tools=[{"type": "function", "function": READ}]) == ""
    assert responses(CALL, OUTPUT, tools=[{"type": "function", **READ, "strict": False}]) == ""


@each_row(
    ("said", "words"),
    [
        (chat(CALLS), "did not have response messages: c1"),
        (chat(CALLS, USER, RESULT), "must be followed by tool messages"),
        (chat(RESULT), "must be a response to a preceeding message"),
        (chat(model="gpt-6-luna", max_tokens=5), "Use 'max_completion_tokens'"),
        (chat(model="gpt-6-luna", tools=[{"type": "function", "function": READ}]), "use /v1/responses"),
        (chat(model="gpt-7"), ""),
        (chat(model="gpt-6-none"), "does not exist"),
        (chat(nonsense=1), "Unrecognized request argument"),
        (chat({"role": "assistant", "content": None}), "expected a string, got null"),
        (chat({**CALLS, "tool_calls": [{**TOOL_CALL, "id": "x" * 41}]}), "maximum length 40"),
        (chat(CALLS, {**RESULT, "content": [{"type": "image_url", "image_url": {"url": "x"}}]}), "only allowed for messages with role 'user'"),
        (responses(CALL), "No tool output found for function call c1"),
        (responses(OUTPUT), "No tool call found"),
        (responses(nonsense=1), "Unknown parameter"),
        (responses(tools=[{"type": "function", **READ, "strict": True}]), "'additionalProperties' is required"),
        (responses({**CALL, "call_id": "x" * 65}, OUTPUT), "maximum length 64"),
        (responses({"type": "reasoning", "id": "rs", "summary": []}), "Items are not persisted"),
        (responses({"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "x"}), "could not be verified"),
        (responses({"type": "message", "role": "assistant", "content": [{"type": "input_text", "text": "x"}]}), "Supported values are"),
        (responses(reasoning={"effort": "none"}, model="gpt-6.2-sol"), "does not support 'none'"),
        (responses(max_output_tokens=1), "Expected a value >= 16"),
    ],
)  # fmt: skip
def test_bad_requests_are_refused(said: str, words: str) -> None:
    assert words in said
    assert bool(said) == bool(words)
