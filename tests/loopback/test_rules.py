"""The loopback server refuses what the real APIs refuse, in their form and words."""

from __future__ import annotations

import copy
import http.client
import json
from collections.abc import Callable
from typing import Any

from agentcli.core.message import Usage
from agentcli.providers.scripted.model import call, say
from tests.loopback import Cut, Loopback
from tests.tables import each_row

Json = dict[str, Any]
READ = {"name": "read", "input_schema": {"type": "object", "properties": {"file_path": {"type": "string"}}}}
CALL = {"type": "tool_use", "id": "t1", "name": "read", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": "ok"}
MESSAGES: Json = {
    "model": "claude-opus-5-5",
    "max_tokens": 100,
    "stream": True,
    "system": [{"type": "text", "text": "Be brief."}],
    "tools": [READ],
    "messages": [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": [{"type": "text", "text": "Reading."}, CALL]},
        {"role": "user", "content": [RESULT]},
    ],
}
CONTENTS: Json = {
    "contents": [
        {"role": "user", "parts": [{"text": "hi"}]},
        {
            "role": "model",
            "parts": [
                {
                    "functionCall": {"name": "read", "args": {}, "id": "1"},
                    "thoughtSignature": "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I=",
                },
                {"functionCall": {"name": "list", "args": {}, "id": "2"}},
            ],
        },
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"name": "read", "id": "1", "response": {"output": "ok"}}},
                {"functionResponse": {"name": "list", "id": "2", "response": {"output": "ok"}}},
            ],
        },
    ],
    "generationConfig": {"maxOutputTokens": 100},
}


def _post(server: Loopback, body: Json, model: str = "") -> tuple[int, Any]:
    path = f"/v1/models/{model}:streamGenerateContent?alt=sse" if model else "/v1/messages"
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    headers = {"x-api-key": "k", "x-goog-api-key": "k", "anthropic-version": "2026-10-21"}
    connection.request("POST", path, json.dumps(body), headers)
    response = connection.getresponse()
    data = response.read()
    connection.close()
    return response.status, json.loads(data) if response.status != 200 else data.decode()


def _events(text: str) -> list[Json]:
    return [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: ")]


def _set(*path: Any) -> Callable[[Json], None]:
    *way, last, value = path

    def change(body: Json) -> None:
        place: Any = body
        for step in way:
            place = place[step]
        place[last] = value

    return change


def _mark_all(body: Json) -> None:
    blocks = [{"type": "text", "text": f"b{n}", "cache_control": {"type": "ephemeral"}} for n in range(5)]
    body["messages"][2]["content"] += blocks


MISTAKES: list[tuple[Callable[[Json], None], str]] = [
    (_set("temperature", 1.0), "temperature: Extra inputs are not permitted"),
    (_set("messages", []), "at least one message is required"),
    (_set("model", "claude-unheard-of"), "model: claude-unheard-of"),
    (_set("max_tokens", 999_999), "max_tokens: 999999 > 128000, which is the maximum allowed number of output tokens"),
    (_set("messages", 0, "role", "assistant"), 'first message must use the "user" role'),
    (_set("messages", 1, "role", "user"), "roles must alternate"),
    (_set("messages", 0, "content", ""), "non-empty content"),
    (_set("messages", 0, "content", [{"type": "text", "text": ""}]), "text content blocks must be non-empty"),
    (_set("messages", 0, "content", [{"type": "text", "text": " \n"}]), "must contain non-whitespace text"),
    (_set("messages", 0, "content", [{"type": "telepathy"}]), "does not match any of the expected tags"),
    (
        _set("messages", 1, "content", 0, "colour", "red"),
        "messages.1.content.0.text.colour: Extra inputs are not permitted",
    ),
    (
        _set("messages", 2, "content", [{"type": "text", "text": "no"}]),
        "`tool_use` ids were found without `tool_result` blocks",
    ),
    (_set("messages", 2, "content", [{"type": "text", "text": "x"}, RESULT]), "`tool_use` ids were found without"),
    (_set("messages", 2, "content", [RESULT, RESULT]), "each tool_use must have a single result"),
    (_set("messages", 1, "content", [{"type": "text", "text": "no call"}]), "unexpected `tool_use_id` found"),
    (_set("messages", 1, "content", [CALL, CALL]), "`tool_use` ids must be unique"),
    (_set("messages", 1, "content", 1, {**CALL, "id": "a b"}), "String should match pattern"),
    (_set("messages", 1, "content", 1, {**CALL, "input": "x"}), "Input should be a valid dictionary"),
    (
        _set("messages", [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "So"}]),
        "does not support assistant message prefill",
    ),
    (_set("tools", [READ, READ]), "Tool names must be unique"),
    (_set("tools", 0, "name", "a b"), "tools.0.custom.name"),
    (_set("tools", 0, "defer_loading", True), "At least one tool must have defer_loading=false"),
    (
        _set("tools", [READ, {**READ, "name": "b", "defer_loading": True, "cache_control": {"type": "ephemeral"}}]),
        "Tool 'b' cannot have both defer_loading=true and cache_control set",
    ),
    (
        _set("messages", 2, "content", [{**RESULT, "content": [{"type": "tool_reference", "tool_name": "b"}]}]),
        "Tool reference 'b' not found in available tools",
    ),
    (
        _set("messages", 0, "content", [{"type": "tool_reference", "tool_name": "read"}]),
        "blocks can only be in `tool_result` blocks",
    ),
    (_set("thinking", {"type": "enabled", "budget_tokens": 1024}), "not supported for this model"),
    (_mark_all, "A maximum of 4 blocks with cache_control may be provided. Found 5."),
    (
        _set("messages", 1, "content", 0, {"type": "thinking", "thinking": "hm", "signature": "AAAA"}),
        "messages.1.content.0: Invalid `signature` in `thinking` block",
    ),
    (_set("messages", 0, "content", "x" * 5_000_000), "prompt is too long: "),
]


@each_row(("mistake", "words"), MISTAKES)
def test_the_messages_api_refuses_each_mistake(mistake: Callable[[Json], None], words: str) -> None:
    with Loopback([say("hello")]) as server:
        assert _post(server, MESSAGES)[0] == 200
        body = copy.deepcopy(MESSAGES)
        mistake(body)
        status, answer = _post(server, body)
    assert status == (404 if "unheard" in words else 400)
    assert answer["type"] == "error"
    assert answer["error"]["type"] == ("not_found_error" if status == 404 else "invalid_request_error")
    assert words in answer["error"]["message"]


GEMINI_MISTAKES: list[tuple[Callable[[Json], None], str]] = [
    (_set("messages", []), 'Unknown name "messages"'),
    (_set("contents", []), "contents is not specified"),
    (_set("generationConfig", "maxOutputTokens", 99_999), "maxOutputTokens value of 99999"),
    (
        _set("generationConfig", "thinkingConfig", {"thinkingLevel": "low", "thinkingBudget": 1}),
        "only one of thinking budget",
    ),
    (_set("contents", 0, "role", "system"), "Please use a valid role"),
    (_set("contents", 0, "parts", []), "contents.parts must not be empty"),
    (_set("contents", 0, "parts", [{"text": ""}]), "required oneof field 'data'"),
    (_set("contents", 1, "role", "user"), "alternate between user and model"),
    (_set("contents", 2, "parts", [{"text": "x"}]), "number of function response parts is equal"),
    (_set("contents", 2, "parts", 0, "functionResponse", "id", "2"), "match the function call parts"),
    (
        _set("contents", 1, "parts", [{"text": "x"}]),
        "function response turn comes immediately after a function call turn",
    ),
    (
        _set("contents", 1, "parts", 0, {"functionCall": {"name": "read", "args": {}, "id": "1"}}),
        "missing a thought_signature",
    ),
    (_set("contents", 1, "parts", 0, "thoughtSignature", "AAAA"), "Corrupted thought signature"),
    (
        _set("tools", [{"functionDeclarations": [{"name": "a", "parameters": {}, "parametersJsonSchema": {}}]}]),
        "only one of parameters",
    ),
    (_set("contents", 0, "parts", 0, "text", "x" * 5_000_000), "exceeds the maximum number of tokens allowed"),
]


@each_row(("mistake", "words"), GEMINI_MISTAKES)
def test_gemini_refuses_each_mistake(mistake: Callable[[Json], None], words: str) -> None:
    with Loopback([say("hello")]) as server:
        assert _post(server, CONTENTS, "gemini-3.8-flash")[0] == 200
        body = copy.deepcopy(CONTENTS)
        mistake(body)
        status, answer = _post(server, body, "gemini-3.8-flash")
    assert status == 400
    assert answer["error"]["status"] == "INVALID_ARGUMENT"
    assert answer["error"]["code"] == 400
    assert words in answer["error"]["message"]


def test_the_older_geminis_need_no_signature() -> None:
    body = copy.deepcopy(CONTENTS)
    del body["contents"][1]["parts"][0]["thoughtSignature"]
    with Loopback([say("hello")]) as server:
        assert _post(server, body, "gemini-2.5-flash")[0] == 200


def _talked(server: Loopback, model: str) -> Json:
    """A request with one thoughtful step of this server behind it."""
    body = copy.deepcopy(MESSAGES) | {"model": model}
    for _ in range(2):
        status, text = _post(server, body)
        assert status == 200, text
        content = []
        for event in _events(text):
            if event["type"] == "content_block_start":
                content.append(event["content_block"])
            elif event["type"] == "content_block_delta":
                delta = event["delta"]
                match delta["type"]:
                    case "thinking_delta":
                        content[-1]["thinking"] += delta["thinking"]
                    case "signature_delta":
                        content[-1]["signature"] = delta["signature"]
        answers = [
            {"type": "tool_result", "tool_use_id": block["id"], "content": "ok"}
            for block in content
            if block["type"] == "tool_use"
        ]
        body["messages"] += [{"role": "assistant", "content": content}, {"role": "user", "content": answers}]
    return body


def _strip(body: Json, last_only: bool) -> None:
    for message in body["messages"][-2:] if last_only else body["messages"]:
        if message["role"] == "assistant":
            message["content"] = [block for block in message["content"] if block["type"] != "thinking"]


KEPT = True
LOST = False


@each_row(
    ("change", "preserved_model", "older_model"),
    [
        (lambda body: None, KEPT, KEPT),
        (_set("messages", 2, "content", 0, "cache_control", {"type": "ephemeral"}), KEPT, KEPT),
        (_set("max_tokens", 77), KEPT, KEPT),
        (_set("messages", 2, "content", 0, "content", "[Old tool result content cleared]"), LOST, KEPT),
        (_set("system", 0, "text", "Be very brief."), LOST, KEPT),
        (_set("tools", []), LOST, KEPT),
        (_set("messages", 3, "content", 0, "thinking", "I thought otherwise"), LOST, LOST),
        (lambda body: body["messages"][3]["content"].reverse(), LOST, KEPT),
        (lambda body: _strip(body, last_only=False), KEPT, KEPT),
        (lambda body: _strip(body, last_only=True), LOST, LOST),
        (_set("messages", 3, "content", 0, "signature", "AAAA"), LOST, LOST),
    ],
)
def test_a_thought_is_valid_only_where_and_as_it_was_thought(
    change: Callable[[Json], None], preserved_model: bool, older_model: bool
) -> None:
    for model, kept in (("claude-opus-5-5", preserved_model), ("claude-opus-4-8", older_model)):
        steps = [say("", call("read", file_path=f"{n}"), thinking=f"thought {n}") for n in range(2)]
        with Loopback([*steps, say("fine")]) as server:
            body = _talked(server, model)
            change(body)
            status, answer = _post(server, body)
        assert (status == 200) is kept, (model, answer)
        if not kept:
            assert "thinking` block" in answer["error"]["message"]


def test_thoughts_of_another_model_are_passed_over_in_silence() -> None:
    steps = [say("", call("read", file_path=f"{n}"), thinking=f"thought {n}") for n in range(2)]
    with Loopback([*steps, say("fine")]) as server:
        body = _talked(server, "claude-opus-5-5")
        status, _ = _post(server, body | {"model": "claude-sonnet-5-5"})
        assert status == 200


def _marked(count: int, *, marks: tuple[int, ...], text: str = "word " * 1200) -> Json:
    blocks: list[Json] = [{"type": "text", "text": f"{n} {text}"} for n in range(count)]
    for mark in marks:
        blocks[mark]["cache_control"] = {"type": "ephemeral"}
    return {
        "model": "claude-opus-4-8",
        "max_tokens": 9,
        "stream": True,
        "messages": [{"role": "user", "content": blocks}],
    }


def _usage(server: Loopback, body: Json) -> tuple[int, int]:
    status, text = _post(server, body)
    assert status == 200
    usage = _events(text)[0]["message"]["usage"]
    return usage["cache_read_input_tokens"], usage["cache_creation_input_tokens"]


def test_the_cache_is_written_and_read_at_marks_only() -> None:
    now = [0.0]
    with Loopback([say("x")] * 9, clock=lambda: now[0]) as server:
        assert _usage(server, _marked(2, marks=())) == (0, 0)
        read, written = _usage(server, _marked(2, marks=(1,)))
        assert read == 0
        assert written > 2000
        assert _usage(server, _marked(2, marks=(1,))) == (written, 0)
        grown = _usage(server, _marked(5, marks=(4,)))
        assert grown[0] == written
        assert grown[1] > written
        now[0] += 301
        assert _usage(server, _marked(2, marks=(1,))) == (0, written)


def test_a_mark_looks_back_over_twenty_blocks_and_no_further() -> None:
    with Loopback([say("x")] * 9) as server:
        _, written = _usage(server, _marked(2, marks=(1,)))
        assert _usage(server, _marked(22, marks=(21,)))[0] == 0
        assert _usage(server, _marked(21, marks=(20,)))[0] == written
    with Loopback([say("x")] * 9) as server:
        _usage(server, _marked(2, marks=(1,)))
        assert _usage(server, _marked(40, marks=(1, 39)))[0] == written


def test_what_is_shorter_than_the_minimum_is_silently_not_cached() -> None:
    with Loopback([say("x")] * 9) as server:
        for _ in range(2):
            assert _usage(server, _marked(1, marks=(0,), text="short")) == (0, 0)


def test_a_script_may_state_its_usage() -> None:
    with Loopback([say("x", usage=Usage(10, 5, 0, 3, 2))]) as server:
        assert _usage(server, _marked(1, marks=())) == (3, 2)


def test_a_cut_stream_ends_after_so_many_bytes() -> None:
    for at in (0, 1, 100):
        with Loopback([Cut(say("hello"), at, "end")]) as server:
            assert len(_post(server, MESSAGES)[1]) == at


def test_requests_without_a_key_are_not_served() -> None:
    with Loopback([say("x")]) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
        for path, status in (
            ("/v1/messages", 401),
            ("/v1/models/gemini-3.8-flash:streamGenerateContent", 403),
            ("/v1/other", 404),
        ):
            connection.request("POST", path, json.dumps(MESSAGES))
            response = connection.getresponse()
            assert response.status == status
            response.read()
        connection.close()
