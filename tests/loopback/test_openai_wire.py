"""The wire of OpenAI's Responses, as far as it is played."""

from __future__ import annotations

import json
from typing import Any
from urllib.request import Request, urlopen

from agentcli.core.message import Usage
from agentcli.providers.scripted.model import call, say
from tests.loopback import Loopback

SAID = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}]


def events(server: Loopback, **body: Any) -> list[dict[str, Any]]:
    data = json.dumps({"model": "gpt", "stream": True, "input": SAID, **body}).encode()
    with urlopen(
        Request(f"{server.url}/v1/responses", data, {"content-type": "application/json", "authorization": "Bearer x"})
    ) as answer:
        return [json.loads(line[6:]) for line in answer.read().decode().split("\n") if line.startswith("data: ")]


def test_a_reply_arrives_as_items_with_its_usage():
    reply = say("Hello", call("run", cmd="ls"), call("patch", input="text"), thinking="Hm", usage=Usage(5, 7, 2, 3))
    with Loopback([reply]) as server:
        found = events(server, tools=[{"type": "custom", "name": "patch"}])
    items = [event["item"] for event in found if event["type"] == "response.output_item.done"]
    assert [item["type"] for item in items] == ["reasoning", "message", "function_call", "custom_tool_call"]
    assert (items[2]["arguments"], items[3]["input"]) == ('{"cmd": "ls"}', "text")
    assert (found[0]["type"], found[-1]["type"]) == ("response.created", "response.completed")
    assert found[-1]["response"]["output"] == items
    usage = found[-1]["response"]["usage"]
    assert (usage["input_tokens"], usage["input_tokens_details"]["cached_tokens"]) == (8, 3)
    assert (usage["output_tokens"], usage["output_tokens_details"]["reasoning_tokens"]) == (7, 2)


def test_what_was_asked_can_be_looked_at():
    with Loopback(lambda asked: say(f"{asked.model}: {asked.last_text}")) as server:
        found = events(server)
    assert "".join(event["delta"] for event in found if event["type"] == "response.output_text.delta") == "gpt: hi"
    assert server.requests[0].wire == "openai"
