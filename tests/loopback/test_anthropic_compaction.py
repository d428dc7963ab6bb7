"""The server compacts, and refuses what the API refuses."""

from __future__ import annotations

import http.client
import json
from typing import Any

from agentcli.providers.scripted.model import say
from tests.loopback import Loopback
from tests.loopback.anthropic_compaction import BETA, KIND
from tests.tables import each_row

Json = dict[str, Any]
LONG = "some words of a long conversation " * 12_000


def edit(value: int = 50_000, **more: Any) -> Json:
    return {"type": KIND, "trigger": {"type": "input_tokens", "value": value}, "pause_after_compaction": True, **more}


def post(
    server: Loopback, *messages: Json, edits: list[Json], beta: str = BETA, model: str = "claude-opus-5"
) -> tuple[int, str]:
    asked = {"model": model, "max_tokens": 100, "stream": True, "messages": list(messages)}
    asked |= {"context_management": {"edits": edits}} if edits else {}
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    headers = {"x-api-key": "k", "anthropic-version": "2023-06-01", **({"anthropic-beta": beta} if beta else {})}
    connection.request("POST", "/v1/messages", json.dumps(asked), headers)
    response = connection.getresponse()
    text = response.read().decode()
    connection.close()
    return response.status, text


def user(text: str) -> Json:
    return {"role": "user", "content": text}


def events(text: str) -> list[Json]:
    return [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: ")]


def compacted(server: Loopback) -> Json:
    """The block of a compaction."""
    status, text = post(server, user(LONG), edits=[edit()])
    assert status == 200, text
    [delta] = [event["delta"] for event in events(text) if event["type"] == "content_block_delta"]
    assert delta.pop("type") == "compaction_delta"
    return {"type": "compaction", **delta}


def test_a_long_prompt_is_compacted_and_its_usage_stands_beside_the_sums() -> None:
    with Loopback([say("What was said.")]) as server:
        status, text = post(server, user(LONG), edits=[edit()])
        [ended] = [event for event in events(text) if event["type"] == "message_delta"]
        assert (status, ended["delta"]["stop_reason"]) == (200, "compaction")
        assert ended["usage"]["input_tokens"] == ended["usage"]["output_tokens"] == 0
        assert ended["usage"]["iterations"][0]["input_tokens"] > 50_000


def test_what_stands_before_a_summary_counts_no_more() -> None:
    with Loopback([say("What was said."), say("Fine."), say("Fine.")]) as server:
        block = compacted(server)
        reply = {"role": "assistant", "content": [block]}
        assert post(server, user(LONG), reply, user("Go on."), edits=[edit(200_000)])[0] == 200
        assert sum(value for value in server.requests[-1].usage.values() if isinstance(value, int)) < 2_000


@each_row(
    ("edits", "beta", "model", "words"),
    [
        ([edit(49_999)], BETA, "claude-opus-5", "trigger.value: Input should be greater than or equal to 50000"),
        ([edit(keep=3)], BETA, "claude-opus-5", "keep: Extra inputs are not permitted"),
        ([edit()], "", "claude-opus-5", "context_management: Extra inputs are not permitted"),
        ([edit()], "context-management-2025-06-27", "claude-opus-5", "does not match any of the expected tags"),
        ([edit()], BETA, "claude-sonnet-5-5", "is not supported on this model"),
        ([edit(), edit()], BETA, "claude-opus-5", "each strategy may be listed only once"),
    ],
)
def test_bad_edits_are_refused(edits: list[Json], beta: str, model: str, words: str) -> None:
    with Loopback([say("Fine.")]) as server:
        status, text = post(server, user("Hello."), edits=edits, beta=beta, model=model)
        assert (status, words in text) == (400, True), text


def test_a_summary_is_refused_without_the_edit_and_if_it_was_changed() -> None:
    with Loopback([say("What was said.")]) as server:
        block = compacted(server)
        for changed, edits, words in (
            (block, [], "does not match any of the expected tags"),
            ({**block, "content": "Something else."}, [edit()], "Invalid `encrypted_content`"),
            ({**block, "content": ""}, [edit()], "at least 1 character"),
            ({**block, "extra": 1}, [edit()], "extra: Extra inputs are not permitted"),
        ):
            reply = {"role": "assistant", "content": [changed]}
            status, text = post(server, user("Hello."), reply, user("Go on."), edits=edits)
            assert (status, words in text) == (400, True), text
