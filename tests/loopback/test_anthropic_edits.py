"""Context editing of the loopback server: what it clears, reports and refuses."""

from __future__ import annotations

import copy
import http.client
import json
from typing import Any

from agentcli.providers.scripted.model import say
from tests.loopback import Loopback
from tests.loopback.anthropic_edits import BETA, PLACEHOLDER, edited
from tests.tables import each_row

Json = dict[str, Any]
USES, THOUGHTS = "clear_tool_uses_20250919", "clear_thinking_20251015"


def body(*edits: Json, uses: int = 6, **more: Any) -> Json:
    messages: list[Json] = [{"role": "user", "content": "Read them."}]
    for n in range(uses):
        thought = {"type": "redacted_thinking", "data": "x" * 400}
        call = {"type": "tool_use", "id": f"t{n}", "name": ["read", "todo"][n % 2], "input": {"file_path": "f" * 80}}
        messages.append({"role": "assistant", "content": [thought, call]})
        result = {"type": "tool_result", "tool_use_id": f"t{n}", "content": f"{n} " + "line " * 300}
        messages.append({"role": "user", "content": [result]})
        if n % 2:
            messages.append({"role": "assistant", "content": [{"type": "text", "text": "Done."}]})
            messages.append({"role": "user", "content": "And on."})
    whole = {"model": "claude-opus-5-5", "max_tokens": 100, "messages": messages, **more}
    return {**whole, "context_management": {"edits": list(edits)}} if edits else whole


def uses(trigger: int = 100, keep: int = 2, **more: Any) -> Json:
    kind = more.pop("kind", "input_tokens")
    return {
        "type": USES,
        "trigger": {"type": kind, "value": trigger},
        "keep": {"type": "tool_uses", "value": keep},
        **more,
    }


def contents(made: Json) -> list[str]:
    blocks = (
        block for message in made["messages"] if isinstance(message["content"], list) for block in message["content"]
    )
    return [block["content"] for block in blocks if block["type"] == "tool_result"]


def test_the_oldest_tool_uses_are_cleared_and_counted() -> None:
    asked = body(uses())
    before = copy.deepcopy(asked)
    made = edited(asked)
    assert [text == PLACEHOLDER for text in contents(made.body)] == [True] * 4 + [False] * 2
    assert made.applied is not None
    [report] = made.applied
    assert (report["type"], report["cleared_tool_uses"]) == (USES, 4)
    assert 1_000 < report["cleared_input_tokens"] < 3_000
    assert asked == before, "the request itself stays as it came"


@each_row(
    ("edit", "count"),
    [
        (uses(trigger=10**6), 0),
        (uses(trigger=6, kind="tool_uses"), 0),
        (uses(trigger=5, kind="tool_uses"), 4),
        (uses(keep=6), 0),
        (uses(keep=0), 6),
        (uses(exclude_tools=["todo"], keep=1), 2),
        (uses(clear_at_least={"type": "input_tokens", "value": 100_000}), 0),
        ({"type": USES}, 0),
    ],
)
def test_trigger_keep_excluded_tools_and_the_least_decide(edit: Json, count: int) -> None:
    made = edited(body(edit))
    assert made.applied is not None
    assert sum(report["cleared_tool_uses"] for report in made.applied) == count
    assert contents(made.body).count(PLACEHOLDER) == count


def test_inputs_go_where_that_is_asked_for() -> None:
    def empty(edit: Json) -> list[str]:
        blocks = (block for message in edited(body(edit)).body["messages"] for block in message["content"])
        calls = [block for block in blocks if isinstance(block, dict) and block["type"] == "tool_use"]
        return [call["id"] for call in calls if not call["input"]]

    assert empty(uses()) == []
    assert empty(uses(clear_tool_inputs=True)) == ["t0", "t1", "t2", "t3"]
    assert empty(uses(clear_tool_inputs=["todo"])) == ["t1", "t3"]


def test_thoughts_of_the_oldest_turns_are_cleared() -> None:
    keep = {"type": "thinking_turns", "value": 1}
    made = edited(body({"type": THOUGHTS, "keep": keep}, uses(), thinking={"type": "adaptive"}))
    assert made.applied is not None
    assert [report["type"] for report in made.applied] == [THOUGHTS, USES]
    assert made.applied[0]["cleared_thinking_turns"] == 2
    left = [block for message in made.body["messages"] for block in message["content"] if isinstance(block, dict)]
    assert sum(block["type"] == "redacted_thinking" for block in left) == 2
    assert edited(body({"type": THOUGHTS, "keep": "all"})).applied == []


def post(server: Loopback, asked: Json, beta: str = BETA, path: str = "/v1/messages") -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    headers = {"x-api-key": "k", "anthropic-version": "2023-06-01", **({"anthropic-beta": beta} if beta else {})}
    connection.request("POST", path, json.dumps(asked), headers)
    response = connection.getresponse()
    text = response.read().decode()
    connection.close()
    return response.status, text


def plain(*edits: Json, **more: Any) -> Json:
    """A request without thoughts, which would have to be signed."""
    asked = body(*edits, **more)
    for message in asked["messages"]:
        if isinstance(message["content"], list):
            message["content"] = [block for block in message["content"] if block["type"] != "redacted_thinking"]
    asked["tools"] = [{"name": name, "input_schema": {"type": "object"}} for name in ("read", "todo")]
    return asked


def test_the_report_comes_with_the_last_event_and_the_usage_is_that_of_the_edited_prompt() -> None:
    with Loopback([say("x"), say("x")]) as server:
        status, whole = post(server, {**plain(), "stream": True})
        assert (status, "context_management" in whole) == (200, False)
        status, text = post(server, {**plain(uses()), "stream": True})
        assert status == 200
        sent = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: ")]
        [delta] = [event for event in sent if event["type"] == "message_delta"]
        [report] = delta["context_management"]["applied_edits"]
        assert report["cleared_tool_uses"] == 4
        first, second = (sum(asked.usage.values()) for asked in server.requests)
        assert first - second == report["cleared_input_tokens"]


def test_a_count_is_of_the_edited_prompt_and_names_the_original_size() -> None:
    with Loopback() as server:
        asked = plain(uses())
        del asked["max_tokens"]
        _, text = post(server, asked, path="/v1/messages/count_tokens")
        found = json.loads(text)
        assert found["input_tokens"] < found["context_management"]["original_input_tokens"] - 1_000


@each_row(
    ("edits", "words"),
    [
        ([{"type": "clear_everything"}], "Input tag 'clear_everything' found using 'type' does not match"),
        ([uses(keep=-1)], f"edits.0.{USES}.keep.value: Input should be greater than or equal to 0"),
        ([uses(trigger=0)], f"edits.0.{USES}.trigger.value: Input should be greater than or equal to 1"),
        ([uses(kind="words")], f"edits.0.{USES}.trigger.type: Input should be 'input_tokens' or 'tool_uses'"),
        ([uses(trigger="9")], "trigger.value: Input should be a valid integer"),
        ([uses(clear_at_least={"type": "tool_uses", "value": 1})], "clear_at_least.type: Input should be"),
        ([uses(exclude_tools="read")], "exclude_tools: Input should be a valid list"),
        ([uses(clear_tool_inputs="read")], "clear_tool_inputs: Input should be a valid boolean or list"),
        ([uses(colour="red")], "colour: Extra inputs are not permitted"),
        ([uses(), {"type": THOUGHTS}], f"`{THOUGHTS}` must be listed first"),
        ([{"type": THOUGHTS}, uses()], f"`{THOUGHTS}` strategy requires `thinking` to be enabled or adaptive"),
        ([uses(), uses()], "each strategy may be listed only once"),
    ],
)  # fmt: skip
def test_bad_edits_are_refused(edits: list[Json], words: str) -> None:
    with Loopback([say("x")]) as server:
        status, text = post(server, plain(*edits))
        assert status == 400
        assert words in json.loads(text)["error"]["message"]


def test_without_the_beta_the_field_is_unknown() -> None:
    with Loopback([say("x")]) as server:
        status, text = post(server, plain(uses()), beta="")
        assert (status, "context_management: Extra inputs are not permitted" in text) == (400, True)
