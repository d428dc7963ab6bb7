"""Refusals of OpenAI's API and of servers that speak its wire formats."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

import pytest

from agentcli.providers.openai.errors import from_event, from_status
from agentcli.providers.scripted.model import say
from agentcli.providers.settings import BUILT_IN
from tests.loopback import Bytes, Loopback, Refuse
from tests.loopback.server import KEY
from tests.providers.hearing import ask, connected, hear, request
from tests.tables import each_row


@dataclass
class Answer:
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class Status:
    """The fields of the SDK's error that are read."""

    status_code: int
    body: Any = None
    response: Answer = field(default_factory=Answer)


def refused(status: int, body: Any = None, **headers: str) -> Any:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return from_status(Status(status, body, Answer(named)), "the key", BUILT_IN["openai"])


@each_row(
    ("status", "error", "cause"),
    [
        (400, {"code": "context_length_exceeded", "message": "Your input exceeds the context window of this model."}, "too_long"),
        (400, {"message": "This model's maximum context length is 8192 tokens."}, "too_long"),
        (400, {"message": "the request exceeds the available context size, try increasing it"}, "too_long"),
        (500, {"message": "the request exceeds the available context size"}, "too_long"),
        (413, {"message": "Request too large"}, "too_large"),
        (400, {"message": "An assistant message with 'tool_calls' must be followed by tool messages responding to each"}, "pairing"),
        (400, {"message": "Invalid parameter: messages with role 'tool' must be a response to a preceeding message"}, "pairing"),
        (400, {"message": "No tool output found for function call call_1."}, "pairing"),
        (400, {"code": "invalid_encrypted_content", "message": "The encrypted content gAAA could not be verified."}, "signature"),
        (400, {"message": "Item 'rs_1' of type 'reasoning' was provided without its required following item."}, "signature"),
        (400, {"message": "Missing `reasoning_content` field in the assistant message at message index 2"}, "signature"),
        (401, {"code": "invalid_api_key", "message": "Incorrect API key provided"}, "auth"),
        (403, {"message": "Country not supported"}, "auth"),
        (402, {"message": "Insufficient Balance"}, "billing"),
        (404, {"code": "model_not_found", "message": "The model `x` does not exist"}, "not_found"),
        (422, {"message": "Input should be a valid string"}, "bad_request"),
        (429, {"type": "tokens", "code": "rate_limit_exceeded", "message": "Rate limit reached"}, "rate_limit"),
        (429, {"type": "insufficient_quota", "code": "insufficient_quota", "message": "You exceeded your current quota"}, "billing"),
        (429, {"code": "1113", "message": "Insufficient balance or no resource package"}, "billing"),
        (498, {"message": "capacity exceeded"}, "overloaded"),
        (500, {"type": "server_error", "message": "The server had an error"}, "server"),
        (503, {"message": "The engine is currently overloaded"}, "overloaded"),
        (400, {"code": 400, "message": "tools: unknown"}, "bad_request"),
        (400, {"type": None, "code": None, "message": None}, "bad_request"),
    ],
)  # fmt: skip
def test_a_refusal_has_its_cause(status: int, error: dict[str, Any], cause: str) -> None:
    assert refused(status, error).cause == cause
    assert refused(status, {"error": error}).cause == cause


def test_what_cannot_pass_is_not_tried_again() -> None:
    assert not refused(429, {"code": "insufficient_quota", "message": "You exceeded your current quota"}).retryable
    assert refused(429, {"code": "rate_limit_exceeded", "message": "Slow down"}).retryable


@each_row("body", ["<html>Bad Gateway</html>", None, [1], {"detail": "Not Found"}, {"error": "no model loaded"}])
def test_a_body_may_be_anything(body: Any) -> None:
    error = refused(404, body)
    assert error.cause == "not_found"
    assert "html" not in str(error)


def test_texts_of_other_forms_are_shown() -> None:
    assert "no model loaded" in str(refused(404, {"error": "no model loaded"}))
    assert "Not Found" in str(refused(404, {"detail": "Not Found"}))


@each_row(
    ("headers", "message", "wait"),
    [
        ({"retry_after_ms": "250", "retry_after": "9"}, "", 0.25),
        ({"retry_after": "9"}, "", 9.0),
        ({"x_ratelimit_remaining_requests": "0", "x_ratelimit_reset_requests": "1m30.5s"}, "", 90.5),
        ({"x_ratelimit_remaining_tokens": "0", "x_ratelimit_reset_tokens": "120ms"}, "", 0.12),
        ({"x_ratelimit_remaining_tokens": "5", "x_ratelimit_reset_tokens": "6m0s"}, "", None),
        ({"x_ratelimit_remaining_requests": "0", "x_ratelimit_reset_requests": "soon"}, "", None),
        ({}, "Rate limit reached. Please try again in 11.054s. Visit", 11.054),
        ({}, "Please try again in 20ms.", 0.02),
        ({}, "Please try again later.", None),
    ],
)
def test_the_wait_that_is_asked_for_is_found(headers: dict[str, str], message: str, wait: float | None) -> None:
    assert refused(429, {"message": message}, **headers).retry_after == wait


@each_row(
    ("event", "cause"),
    [
        ({"code": "rate_limit_exceeded", "message": "Please try again in 2s."}, "rate_limit"),
        ({"code": "server_error", "message": "x"}, "server"),
        ({"code": "context_length_exceeded", "message": "x"}, "too_long"),
        ({"code": "insufficient_quota", "message": "x"}, "billing"),
        ({"code": 502, "message": "Provider returned error"}, "server"),
        ({"code": 429, "message": "x"}, "rate_limit"),
        ("CUDA out of memory", "server"),
        ({}, "server"),
    ],
)
def test_an_error_in_mid_stream_has_its_cause(event: Any, cause: str) -> None:
    assert from_event(event, None).cause == cause


def test_a_model_that_wants_the_other_wire_format_names_the_setting() -> None:
    text = "Function tools with reasoning_effort are not supported for gpt-6-sol in /v1/chat/completions. To use function tools, use /v1/responses."
    assert 'wire = "responses"' in str(refused(400, {"message": text}))


@pytest.mark.parametrize(
    ("name", "body"),
    [
        (
            "ollama/qwen3",
            b'{"object": "chat.completion", "choices": [{"message": {"role": "assistant", "content": "Hello", "tool_calls": '
            b'[{"id": "c", "function": {"name": "read", "arguments": "{}"}}]}, "finish_reason": "tool_calls"}]}',
        ),
        (
            "luna",
            b'{"object": "response", "status": "completed", "output": [{"type": "message", "content": [{"type": "output_text", '
            b'"text": "Hello"}]}, {"type": "function_call", "call_id": "c", "name": "read", "arguments": "{}"}]}',
        ),
    ],
)
def test_a_server_that_does_not_stream_is_read_all_the_same(name: str, body: bytes) -> None:
    heard, _ = ask(name, [Bytes(body, "application/json")])
    assert heard.error is None
    assert (heard.text, [call.name for call in heard.calls]) == ("Hello", ["read"])


@pytest.mark.parametrize("name", ["ollama/qwen3", "luna"])
@each_row(
    ("body", "cause"), [(b'{"error": {"code": "server_error"}}', "server"), (b"{}", "bad_reply"), (b"no", "bad_reply")]
)
def test_other_answers_in_json_are_errors(name: str, body: bytes, cause: str) -> None:
    heard, _ = ask(name, [Bytes(body, "application/json")])
    assert heard.error is not None
    assert heard.error.cause == cause


def test_a_key_travels_in_the_header_that_is_set() -> None:
    with Loopback([say("Hello")]) as server:

        async def run() -> None:
            model = connected(server, "ollama/qwen3", auth="api-key")
            heard = await hear(model, request(model.spec, "hello"))
            await model.close()  # type: ignore[attr-defined]
            assert heard.text == "Hello"

        asyncio.run(run())
    [asked] = server.asked
    assert "authorization" not in asked.headers
    assert asked.headers["api-key"] == KEY


STATUSES = {
    400: "bad_request", 401: "auth", 402: "billing", 403: "auth", 404: "not_found", 405: "not_found", 408: "network", 409: "server",
    413: "too_large", 418: "bad_request", 422: "bad_request", 429: "rate_limit", 498: "overloaded", 499: "network", 500: "server",
    502: "server", 503: "overloaded", 504: "server", 529: "overloaded",
}  # fmt: skip


@pytest.mark.parametrize("name", ["ollama/qwen3", "luna"])
@each_row("body", [None, b"", b"<html>Bad Gateway</html>", b"[]"])
def test_every_status_has_its_cause_whatever_its_body(name: str, body: bytes | None) -> None:
    with Loopback([Refuse(status, body=body) for status in STATUSES]) as server:

        async def run() -> list[str]:
            model = connected(server, name)
            heard = [await hear(model, request(model.spec, "hello")) for _ in STATUSES]
            await model.close()  # type: ignore[attr-defined]
            return [each.error.cause if each.error else "" for each in heard]

        assert dict(zip(STATUSES, asyncio.run(run()), strict=True)) == STATUSES
