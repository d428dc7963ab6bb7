"""Endpoints that lack something: the session completes, each gap is said once, and it is remembered."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from agentcli.agent.ports import Prompt
from agentcli.agent.session import AgentSession
from agentcli.core.event import Event, Noticed
from agentcli.core.message import Image, Text, ToolResult
from agentcli.core.model import Model, RequestMessage, ToolSchema
from agentcli.providers.capabilities import SCHEMA, reduced, stated_in
from agentcli.providers.catalog import spec
from agentcli.providers.connect import connect
from agentcli.providers.endpoint_facts import DAY, EndpointMemory
from agentcli.providers.registry import PROVIDERS
from agentcli.providers.scripted.model import Reply, call, say
from agentcli.providers.settings import BUILT_IN
from tests.agent.open_session import ended, open_session, results
from tests.e2e.faults import head, tail, words
from tests.loopback import Asked, Loopback, Raw, Refuse
from tests.providers.hearing import ONCE, request
from tests.sampling import sampled
from tests.tables import each_row

PICTURE = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
Field = tuple[Callable[[Any], bool], str]
"""A test for a field in a body, and the server's refusal of it."""


def inside(*keys: str) -> Callable[[Any], bool]:
    """True if a body holds all of these keys, in either spelling, whatever is around them."""
    return lambda body: all(f'"{key}"' in json.dumps(body).replace("_l", "L") for key in keys)


def image_in_result(body: Any) -> bool:
    results = [block for message in body["messages"] for block in message["content"] if block["type"] == "tool_result"]
    return "base64" in json.dumps(results)


def system_between(body: Any) -> bool:
    return any(message["role"] == "system" for message in body["messages"])


def parts_in_response(body: Any) -> bool:
    parts = (part for content in body["contents"] for part in content["parts"])
    return any("parts" in part.get("functionResponse", {}) for part in parts)


CLAUDE: Mapping[str, Field] = {
    "thinking": (lambda body: "thinking" in body, "thinking: Extra inputs are not permitted"),
    "effort": (inside("output_config"), "output_config.effort: this model does not support the effort parameter"),
    "cache": (inside("cache_control"), "system.0.cache_control: Extra inputs are not permitted"),
    "system_messages": (system_between, "messages.1.role: Input should be 'user' or 'assistant'"),
    "result_images": (image_in_result, "messages.2.content.0.tool_result.content: image blocks are not supported"),
    "schema:enum": (inside("enum"), "tools.3.custom.input_schema: unsupported keyword 'enum'"),
}
GEMINI: Mapping[str, Field] = {
    "thinking": (
        inside("thinkingConfig"),
        "Unknown name \"thinkingConfig\" at 'generation_config': Cannot find field.",
    ),
    "effort": (inside("thinkingLevel"), "Thinking level is not supported for this model."),
    "result_images": (
        parts_in_response,
        "Unknown name \"parts\" at 'contents[2].parts[0].function_response': Cannot find field.",
    ),
    "schema:enum": (inside("enum"), "Unknown name \"enum\" at 'tools[0].function_declarations[3].parameters'"),
}
WIRES = {"sonnet": CLAUDE, "flash": GEMINI}
CASES = [
    *((model, (field,)) for model, fields in WIRES.items() for field in fields),
    *((model, pair) for model, fields in WIRES.items() for pair in zip(fields, [*fields][1:], strict=False)),
]


def said(session: AgentSession, model: Model, text: str) -> list[Event]:
    """All events of one turn; the connections of the model are closed behind it."""

    async def run() -> list[Event]:
        events = [event async for event in session.turn(Prompt(text), asyncio.Event())]
        await model.close()  # type: ignore[attr-defined]
        return events

    return asyncio.run(run())


def work(
    folder: Path, model: str, refuses: Callable[[Any], str], memory: EndpointMemory
) -> tuple[list[Event], Loopback]:
    """A session that uses every optional field, with a server that answers 400 where `refuses` gives a reason."""
    (folder / "shot.png").write_bytes(PICTURE)

    def answer(asked: Asked) -> Reply | Refuse:
        if why := refuses(asked.json):
            return Refuse(400, message=why)
        return say("It is a dot.") if asked.results else say("I look.", call("read", file_path="shot.png"))

    with Loopback(answer) as server:
        found = spec(model)
        connected = connect(found, BUILT_IN[found.provider], server.env, ONCE, memory=memory)
        session = open_session(folder, [], model=found, wrapped=lambda _: connected, effort="high")
        events = said(session, connected, "What is in shot.png?")
        assert (ended(events).ending, ended(events).text) == ("done", "It is a dot."), ended(events).error
        assert [result.status for result in results(session)] == ["success"]
        return events, server


def notices(events: list[Event]) -> list[str]:
    return [event.message for event in events if isinstance(event, Noticed)]


@pytest.mark.parametrize(
    ("model", "lacking"), sampled(CASES, 2), ids=lambda value: value if isinstance(value, str) else "+".join(value)
)
def test_a_session_goes_on_without_what_the_server_refuses(
    tmp_path: Path, model: str, lacking: tuple[str, ...]
) -> None:
    fields, memory = WIRES[model], EndpointMemory()

    def refuses(body: Any) -> str:
        return next((fields[name][1] for name in lacking if fields[name][0](body)), "")

    events, server = work(tmp_path, model, refuses, memory)
    # Without thinking no level of it is sent either.
    gone = {"thinking"} if (model, lacking) == ("flash", ("thinking", "effort")) else set(lacking)
    assert memory.known(spec(model).name, server.url).lacking == gone
    assert len(notices(events)) == len(gone)
    refused = [asked for asked in server.requests if refuses(asked.json)]
    assert len(refused) == len(gone)


def test_two_fields_in_one_refusal_are_dropped_together(tmp_path: Path) -> None:
    def refuses(body: Any) -> str:
        both = "thinking" in body, "cache_control" in json.dumps(body)
        return "Extra inputs are not permitted: thinking, cache_control" if any(both) else ""

    events, server = work(tmp_path, "sonnet", refuses, EndpointMemory())
    assert len(notices(events)) == 2
    assert len([asked for asked in server.requests if refuses(asked.json)]) == 1


def test_what_is_remembered_is_neither_sent_nor_said_again(tmp_path: Path) -> None:
    memory = EndpointMemory(tmp_path / "state" / "endpoints.json")
    with Loopback(
        lambda asked: (
            Refuse(400, message="thinking: Extra inputs are not permitted") if "thinking" in asked.json else say("Hi.")
        )
    ) as server:
        found = spec("sonnet")
        seen = []
        for known in (memory, EndpointMemory(tmp_path / "state" / "endpoints.json"), EndpointMemory()):
            connected = connect(found, BUILT_IN["anthropic"], server.env, ONCE, memory=known)
            session = open_session(tmp_path, [], model=found, wrapped=lambda _, made=connected: made)  # type: ignore[misc]
            seen.append((len(notices(said(session, connected, "hello"))), len(server.requests)))
    assert seen == [(1, 2), (0, 3), (1, 5)]
    assert oct((tmp_path / "state" / "endpoints.json").stat().st_mode & 0o777) == "0o600"


def test_a_refusal_that_is_not_cured_is_neither_said_nor_remembered(tmp_path: Path) -> None:
    memory = EndpointMemory()
    with Loopback(lambda _: Refuse(400, message="thinking of something else")) as server:
        found = spec("sonnet")
        connected = connect(found, BUILT_IN["anthropic"], server.env, ONCE, memory=memory)
        session = open_session(tmp_path, [], model=found, wrapped=lambda _: connected)
        events = said(session, connected, "hello")
    assert ended(events).ending == "failed"
    assert (notices(events), memory.all(), len(server.requests)) == ([], {}, 2)


@pytest.mark.parametrize("model", WIRES)
def test_an_endpoint_without_counting_is_asked_once(model: str) -> None:
    memory = EndpointMemory()
    with Loopback(lambda _: say("Hi.")) as server:
        server.counts = False
        found = spec(model)

        async def run() -> list[Any]:
            connected = connect(found, BUILT_IN[found.provider], server.env, ONCE, memory=memory)
            asked = request(found, "hello")
            assert [await connected.count(asked) for _ in range(3)] == [None] * 3
            steps = [step async for step in connected.stream(asked)]
            await connected.close()  # type: ignore[attr-defined]
            return steps

        assert len(notices(asyncio.run(run()))) == 1
    assert len([asked for asked in server.asked if asked.counting]) == 1
    assert memory.known(found.name, server.url).lacking == {"counting"}


@pytest.mark.parametrize("model", WIRES)
def test_a_stream_without_usage_is_said_once(tmp_path: Path, model: str) -> None:
    gemini = [{"candidates": [{"content": {"role": "model", "parts": [{"text": "Hi."}]}, "finishReason": "STOP"}]}]
    begun, end = head(), tail("end_turn")
    claude = [{**begun, "message": {**begun["message"], "usage": {}}}, *words("Hi."), *end]
    bare = [{key: value for key, value in event.items() if key != "usage"} for event in claude]
    with Loopback(lambda _: Raw(bare if model == "sonnet" else gemini)) as server:
        found = spec(model)
        connected = connect(found, BUILT_IN[found.provider], server.env, ONCE, memory=EndpointMemory())
        session = open_session(tmp_path, [], model=found, wrapped=lambda _: connected)
        events = said(session, connected, "hello")
    assert ended(events).text == "Hi."
    [notice] = notices(events)
    assert "reports no usage in the stream" in notice


def test_an_endpoint_is_asked_anew_after_a_week_and_at_another_address() -> None:
    now = [0.0]
    memory = EndpointMemory(clock=lambda: now[0])
    memory.learn("local/qwen", "http://here", lacking=["thinking"], window=8192)
    assert memory.known("local/qwen", "http://here").lacking == {"thinking"}
    assert memory.known("local/qwen", "http://there").lacking == set()
    now[0] = 8 * DAY
    assert memory.all() == {}


@each_row("text", ["", "{", "[]", '{"a/b": {}}', '{"a/b": {"url": "", "lacking": {"thinking": "x"}}}'])
def test_a_damaged_memory_is_an_empty_one(tmp_path: Path, text: str) -> None:
    (tmp_path / "endpoints.json").write_text(text)
    memory = EndpointMemory(tmp_path / "endpoints.json")
    assert memory.all() == {}
    memory.learn("a/b", lacking=["cache"])
    assert EndpointMemory(tmp_path / "endpoints.json").known("a/b").lacking == {"cache"}


def test_images_move_behind_the_results_and_are_left_out_where_none_are_taken() -> None:
    result = ToolResult("c1", "read", "success", "", images=(Image("image/png", "x"),))
    asked = request(
        spec("sonnet"), RequestMessage("user", (result, ToolResult("c2", "list", "success", "a"), Text("go")))
    )
    [moved] = reduced(asked, ["result_images"]).messages
    assert [type(part).__name__ for part in moved.parts] == ["ToolResult", "ToolResult", "Image", "Text"]
    [bare] = reduced(asked, ["images"]).messages
    assert "base64" not in str(bare)
    assert "image was left out" in str(bare.parts[0])


def test_a_keyword_is_dropped_at_every_depth_and_a_property_of_its_name_is_not() -> None:
    inner = {"type": "object", "properties": {"enum": {"type": "string", "enum": ["a"]}}}
    tool = ToolSchema("t", "x", {"type": "object", "properties": {"list": {"type": "array", "items": inner}}})
    asked = request(spec("sonnet"), "hello", tools=(tool,))
    fields = PROVIDERS["anthropic"].fields
    assert stated_in("tools.0.input_schema: enum is not supported", asked, fields) == {f"{SCHEMA}enum"}
    assert stated_in("enum: field required in schema", asked, fields) == set()
    [tool] = reduced(asked, [f"{SCHEMA}enum"]).tools
    assert tool.parameters["properties"]["list"]["items"]["properties"] == {"enum": {"type": "string"}}
