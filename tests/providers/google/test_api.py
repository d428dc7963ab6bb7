"""Gemini through the official SDK's public client: the Gemini API with a key, or Vertex AI with the machine's account."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from agentcli.core.model import Stopped
from agentcli.providers.catalog import spec
from agentcli.providers.google.api import GoogleApi
from agentcli.providers.google.request import Former, to_json
from agentcli.providers.settings import BUILT_IN
from tests.loopback import Bytes, Loopback, Raw
from tests.providers.hearing import ask, request
from tests.tables import each_row


def test_requests_at_the_same_time_share_the_connections_of_the_sdk() -> None:
    async def run(server: Loopback) -> None:
        api, made = GoogleApi(BUILT_IN["google"], "loopback-key", server.url), request(spec("flash"), "a")
        for _ in range(3):
            await asyncio.gather(api.count(made), api.count(made))
        await api.close()

    with Loopback([]) as server:
        asyncio.run(run(server))
        assert len(server.asked) == 6
        assert server.connections <= 2


def test_a_body_is_sent_as_made_here_and_its_reply_read_as_it_came() -> None:
    made = request(spec("flash"), "a \u00e9", system=("be brief",))
    finish = {"finishReason": "STOP", "of no SDK": 1}
    sent = [{"candidates": [finish]}, {"candidates": [], "usageMetadata": {"promptTokenCount": "3"}}]

    async def run(server: Loopback) -> None:
        api = GoogleApi(BUILT_IN["google"], "loopback-key", server.url)
        for _ in range(2):
            assert [chunk async for chunk, _ in api.chunks(made.model.id, api.formed(made))] == sent
        await api.close()

    with Loopback([Raw(sent)] * 2) as server:
        asyncio.run(run(server))
        assert server.connections == 1
    body = to_json(made, BUILT_IN["google"], Former())
    assert [asked.body for asked in server.asked] == [body, body]


@each_row(
    "more",
    [
        {
            "content": {"parts": [{"text": "a\ud800"}]},
            "groundingMetadata": {"webSearchQueries": 5, "groundingChunks": "x"},
        },
        {"content": {"parts": [{"text": "a\ud800", "thoughtSignature": ""}]}, "finishMessage": ["x"]},
    ],
)
def test_a_value_that_makes_no_sense_costs_no_reply(more: Mapping[str, Any]) -> None:
    heard, _ = ask("flash", [Raw([{"candidates": [{**more, "finishReason": "STOP"}]}])])
    assert (heard.error, heard.text) == (None, "a?")


def test_arguments_that_are_no_object_stay_as_a_call_that_cannot_run() -> None:
    parts = [{"functionCall": {"name": "read", "args": args}} for args in ("a.py", ["a.py"])]
    heard, _ = ask("flash", [Raw([{"candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}]}])])
    assert heard.stop == Stopped("tool_use")
    assert [made.name for made in heard.calls if made.unreadable] == ["read", "read"]


def test_the_tool_of_a_malformed_call_is_named() -> None:
    finish = {"finishReason": "MALFORMED_FUNCTION_CALL", "finishMessage": "Malformed function call: call:write{"}
    heard, _ = ask("flash", [Raw([{"candidates": [finish]}])])
    assert heard.stop is not None
    assert (heard.stop.stop, heard.stop.tool) == ("malformed_call", "write")


def test_a_reply_that_is_no_stream_is_read_too() -> None:
    chunks = [{"candidates": [{"content": {"parts": [{"text": text}]}}]} for text in ("a", "b")]
    chunks[1]["candidates"][0]["finishReason"] = "STOP"  # type: ignore[assignment]
    for body, text in ((chunks, "ab"), (chunks[1], "b")):
        heard, _ = ask("flash", [Bytes(json.dumps(body, indent=1).encode(), "application/json")])
        assert (heard.error, heard.text) == (None, text)


@each_row(
    ("body", "cause"),
    [
        ([{"error": {"status": "UNAVAILABLE"}}], "overloaded"),
        ({"error": {"code": 401, "message": "x"}}, "auth"),
        ("no chunk", "bad_reply"),
        ([], "network"),
    ],
)
def test_an_answer_that_is_no_reply_is_told_by_what_it_says(body: Any, cause: str) -> None:
    heard, _ = ask("flash", [Bytes(json.dumps(body).encode(), "application/json")])
    assert heard.error is not None
    assert heard.error.cause == cause
