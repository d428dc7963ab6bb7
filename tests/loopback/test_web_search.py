"""The loopback server refuses of web searches what the real providers refuse."""

from __future__ import annotations

import json
from typing import Any

from tests.loopback import anthropic_rules, google_rules
from tests.loopback.plan import Asked
from tests.loopback.refusal import Refused
from tests.loopback.seals import Seals
from tests.loopback.test_openai_rules import responses
from tests.tables import each_row

TOOL = {"type": "web_search_20250305", "name": "web_search", "max_uses": 3}
USE = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"}}
HEADERS = {"authorization": "Bearer x", "anthropic-version": "2023-06-01"}


def refusal(rules: Any, asked: Asked, seals: Seals) -> str:
    try:
        rules.check(asked, seals, None)
    except Refused as refused:
        return str(refused)
    return ""


def anthropic(*blocks: dict[str, Any], tool: dict[str, Any] | None = None, seals: Seals | None = None) -> str:
    said = [{"role": "assistant", "content": list(blocks)}] if blocks else []
    messages = [{"role": "user", "content": "hi"}, *said]
    body = {"model": "claude-haiku-5-5", "max_tokens": 100, "messages": messages, "tools": [tool or TOOL]}
    asked = Asked("anthropic", "/v1/messages", HEADERS, json.dumps(body).encode(), 0)
    return refusal(anthropic_rules, asked, seals or Seals())


def result(**page: Any) -> dict[str, Any]:
    page = {"type": "web_search_result", "url": "https://x.example", "title": "X", **page}
    return {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [page]}


def test_the_messages_api_takes_its_own_blocks_back() -> None:
    seals = Seals()
    good = result(encrypted_content=seals.issue("claude-haiku-5-5", "page", None))
    assert anthropic() == ""
    assert anthropic(USE, good, seals=seals) == ""


@each_row(
    ("blocks", "tool", "said"),
    [
        ((), {**TOOL, "type": "web_search_1999"}, "does not match any of the expected tags"),
        ((), {**TOOL, "most": 1}, "Extra inputs"),
        ((), {**TOOL, "max_uses": 0}, "greater than 0"),
        ((USE, result(encrypted_content="made up")), TOOL, "Invalid `encrypted_content`"),
        ((USE, result()), TOOL, "Invalid `encrypted_content`"),
        (({**USE, "input": {}}, result()), TOOL, "Field required"),
        ((result(),), TOOL, "unexpected `tool_use_id`"),
        ((USE, {**USE, "id": "s2"}), TOOL, "without results"),
        (
            (
                USE,
                {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []},
                {"type": "text", "text": "x"},
            ),
            TOOL,
            "prefill",
        ),
    ],
)
def test_the_messages_api_refuses_others(blocks: tuple[dict[str, Any], ...], tool: dict[str, Any], said: str) -> None:
    assert said in anthropic(*blocks, tool=tool)


def test_the_responses_api_knows_its_search_alone() -> None:
    assert responses(tools=[{"type": "web_search"}], include=["web_search_call.action.sources"], max_tool_calls=3) == ""
    assert "Invalid value: 'google_search'" in responses(tools=[{"type": "google_search"}])
    assert "Unknown parameter" in responses(tools=[{"type": "web_search", "most": 3}])
    assert "include[0]" in responses(include=["all"])


@each_row(
    ("tools", "said"),
    [
        ([{"googleSearch": {}}], ""),
        ([{"google": {}}], "Unknown name"),
        ([{"googleSearch": {"most": 3}}], "Unknown name"),
        ([{"functionDeclarations": [{"name": "f"}]}, {"googleSearch": {}}], "include_server_side_tool_invocations"),
    ],
)
def test_gemini_searches_without_functions(tools: list[dict[str, Any]], said: str) -> None:
    body = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}], "tools": tools}
    path = "/v1/models/gemini-3.5-flash-lite:streamGenerateContent"
    told = refusal(google_rules, Asked("google", path, HEADERS, json.dumps(body).encode(), 0), Seals())
    assert said in told
    assert bool(said) == bool(told)
