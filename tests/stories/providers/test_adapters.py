"""Both vendors' SDKs against a server that streams their wire formats."""

from __future__ import annotations

import asyncio
import threading
import time
from dataclasses import replace
from typing import Any

import pytest

from agentcli.core.codec.encode import part_from_json, part_to_json
from agentcli.core.event import CallDelta, TextDelta, ThinkingDelta
from agentcli.core.message import Image, Text, Thinking, ToolCall, ToolResult, Usage
from agentcli.core.model import Breakpoint, PartDone, RequestMessage, Stopped
from agentcli.providers.scripted.model import call, say
from tests.loopback import Asked, Dribble, Idle, Loopback, Raw
from tests.loopback.plan import Answer
from tests.providers.hearing import ALL, BOTH, ask, connected, converse, hear, reply_turn, request

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
both = pytest.mark.parametrize("name", BOTH)
all_wires = pytest.mark.parametrize("name", ALL)


@all_wires
def test_a_reply_arrives_in_pieces_and_each_finished_part_once(name: str) -> None:
    reply = say(
        "Let me look at two files.",
        call("read", file_path="a.py"),
        call("read", file_path="b.py"),
        thinking="Hm, where?",
    )
    heard, _ = ask(name, [reply])
    thinking, text, first, second = heard.parts
    assert isinstance(thinking, Thinking)
    assert thinking.text == "Hm, where?"
    assert text == Text("Let me look at two files.")
    assert isinstance(first, ToolCall)
    assert isinstance(second, ToolCall)
    assert (first.name, first.input) == ("read", {"file_path": "a.py"})
    assert second.input == {"file_path": "b.py"}
    assert first.call_id != second.call_id
    assert "".join(step.text for step in heard.steps if isinstance(step, TextDelta)) == text.text
    assert "".join(step.text for step in heard.steps if isinstance(step, ThinkingDelta)) == thinking.text
    assert {step.call_id for step in heard.steps if isinstance(step, CallDelta)} == {first.call_id, second.call_id}
    assert heard.stop == Stopped("tool_use")
    assert heard.error is None


@all_wires
def test_usage_is_told_in_the_same_terms_for_both_vendors(name: str) -> None:
    given = Usage(input=100, output=50, reasoning=20, cache_read=5000)
    heard, _ = ask(name, [say("hello", thinking="hm", usage=given)])
    if name == "haiku":  # the loopback's Messages API does not tell thinking apart
        given = replace(given, reasoning=0)
    assert heard.usage == given


@both
@pytest.mark.parametrize("stop", ["end_turn", "max_tokens", "refusal", "pause"])
def test_stop_reasons_have_one_name(name: str, stop: str) -> None:
    heard, _ = ask(name, [say("Well.", stop=stop)])
    assert heard.stop is not None
    assert heard.stop.stop == stop
    if stop == "refusal":
        assert heard.stop.detail


def test_a_malformed_call_of_gemini_is_named_so() -> None:
    heard, _ = ask("flash", [say("", stop="malformed_call")])
    assert heard.parts == ()
    assert heard.stop is not None
    assert (heard.stop.stop, heard.stop.tool) == ("malformed_call", "")


@all_wires
def test_system_tools_images_and_results_reach_the_server(name: str) -> None:
    image = Image("image/png", PIXEL)
    done = call("read", call_id="call_1", file_path="a.py")
    turns = (
        RequestMessage("user", (Text("Look at this."), image)),
        RequestMessage("assistant", (Text("Reading."), done), "elsewhere", "another-model"),
        RequestMessage(
            "user", (ToolResult("call_1", "read", "error", "no such file", images=(image,)), Text("Go on."))
        ),
    )
    heard, server = ask(name, [say("I see.")], *turns)
    assert heard.error is None
    body = server.asked[0].body.decode()
    assert body.count(PIXEL[:40]) == 2
    assert "Be brief." in body
    assert "Read a file." in body
    assert "no such file" in body


@all_wires
@pytest.mark.parametrize("size", [1, 7, 100_000])
@pytest.mark.parametrize("line_end", [b"\n", b"\r\n"])
def test_it_does_not_matter_how_the_bytes_fall(name: str, size: int, line_end: bytes) -> None:
    reply = say("日本語 and 🎉\u2028 in lines\r\n\n", call("read", file_path="ä\n.py"), thinking="дом")
    heard, _ = ask(name, [Dribble(reply, size, line_end)])
    assert heard.error is None
    assert [part.text for part in heard.parts[:2]] == ["дом", reply.parts[1].text]  # type: ignore[union-attr]
    assert heard.calls[0].input == {"file_path": "ä\n.py"}


@all_wires
def test_a_tool_loop_goes_on_with_signatures_as_the_server_gave_them(name: str) -> None:
    replies = [say("Step.", call("read", file_path=f"{n}.py"), thinking=f"thought {n}") for n in range(3)]
    with Loopback([*replies, say("done")]) as server:

        async def run() -> None:
            model = connected(server, name)
            heard, _ = await converse(model, "work", 4)
            await model.close()
            assert [each.error for each in heard] == [None] * 4

        asyncio.run(run())
        assert [asked.refused for asked in server.asked] == [""] * 4


@all_wires
def test_signatures_survive_the_store_byte_for_byte(name: str) -> None:
    replies = [say("Step.", call("read", file_path=f"{n}.py"), thinking=f"thought {n}") for n in range(2)]
    with Loopback([*replies, say("a"), say("b")]) as server:

        async def run() -> None:
            model = connected(server, name)
            _, turns = await converse(model, "work", 3)
            stored = [replace(turn, parts=tuple(map(_stored, turn.parts))) for turn in turns]
            heard = await hear(model, request(model.spec, *stored))
            again = await hear(model, request(model.spec, *turns))
            await model.close()
            assert heard.error is None
            assert again.error is not None  # the plan is used up, only the bytes count

        asyncio.run(run())
        assert server.asked[-1].body == server.asked[-2].body
        mark = {"luna": b"encrypted_content", "ollama/qwen3": b"reasoning_content"}.get(name, b"signature")
        assert mark in server.asked[-1].body.lower()


def _stored(part: object) -> object:
    return part if isinstance(part, ToolResult) else part_from_json(part_to_json(part))  # type: ignore[arg-type]


@both
def test_history_of_another_vendor_is_accepted_without_its_thoughts(name: str) -> None:
    other = "flash" if name == "haiku" else "haiku"
    with Loopback(
        [say("Step.", call("read", file_path="a.py"), thinking="secret thought"), say("taken over")]
    ) as server:

        async def run() -> None:
            first, second = connected(server, other), connected(server, name)
            _, turns = await converse(first, "work", 1)
            heard = await hear(second, request(second.spec, *turns))
            await first.close()
            await second.close()
            assert heard.error is None
            assert heard.text == "taken over"

        asyncio.run(run())
        assert "secret thought" not in server.asked[1].body.decode()


@both
def test_two_requests_with_the_same_start_share_the_cache(name: str) -> None:
    long = "A sentence that fills the window. " * 700
    with Loopback([say("Step.", call("read", file_path="a.py")), say("done")]) as server:

        async def run() -> None:
            model = connected(server, name)
            (first, second), _ = await converse(model, long, 2)
            await model.close()
            assert first.usage.cache_read == 0
            assert second.usage.cache_read > 5000
            assert second.usage.prompt > first.usage.prompt

        asyncio.run(run())


@both
def test_equal_requests_have_equal_bytes(name: str) -> None:
    with Loopback([say("a"), say("b")]) as server:

        async def run() -> None:
            for _ in range(2):
                model = connected(server, name)
                await hear(model, request(model.spec, "hello", breakpoints=(Breakpoint(-1),)))
                await model.close()

        asyncio.run(run())
        assert server.asked[0].body == server.asked[1].body


@both
def test_counting_asks_the_provider(name: str) -> None:
    with Loopback([]) as server:

        async def run() -> None:
            model = connected(server, name)
            assert await model.count(request(model.spec, "hello " * 1000)) in range(1500, 1700)
            assert await connected(server, name, counting=False).count(request(model.spec, "hello")) is None
            await model.close()

        asyncio.run(run())
        assert [asked.counting for asked in server.asked] == [True]


@both
def test_counting_that_fails_says_nothing(name: str) -> None:
    with Loopback([]) as server:
        pass

    async def run() -> None:
        model = connected(server, name)
        assert await model.count(request(model.spec, "hello")) is None
        await model.close()

    asyncio.run(run())


@both
@pytest.mark.parametrize("how", ["cancel", "break"])
def test_who_stops_listening_closes_the_connection_at_once(name: str, how: str) -> None:
    with Loopback([Idle(say("one two three four five six " * 10), after=5, seconds=30)]) as server:

        async def run() -> float:
            model = connected(server, name)
            asked = request(model.spec, "hello")
            heard_some = asyncio.Event()

            async def listen() -> None:
                async for step in model.stream(asked):
                    if isinstance(step, TextDelta):
                        heard_some.set()

            if how == "cancel":
                task = asyncio.create_task(listen())
                await heard_some.wait()
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
            else:
                steps = model.stream(asked)
                async for step in steps:
                    if isinstance(step, TextDelta):
                        break
                await steps.aclose()
            started = time.monotonic()
            assert await asyncio.to_thread(server.asked[0].gone.wait, 10)
            await model.close()
            return time.monotonic() - started

        assert asyncio.run(run()) < 5
        assert server.asked[0].gone.is_set()


def test_one_connection_serves_many_requests() -> None:
    for name in BOTH:
        with Loopback([say("x")] * 5) as server:

            async def run(server: Loopback = server, name: str = name) -> None:
                model = connected(server, name)
                for _ in range(5):
                    assert (await hear(model, request(model.spec, "hello"))).error is None
                await model.close()

            asyncio.run(run())
            assert len(server.asked) == 5
            assert server.connections == 1


def test_redacted_thinking_goes_back_as_it_came() -> None:
    hidden = Thinking("", "", {"anthropic": {}})
    with Loopback(
        [replace(say("", call("read", file_path="a.py")), parts=(hidden, call("read", file_path="a.py"))), say("ok")]
    ) as server:

        async def run() -> None:
            model = connected(server, "opus")
            (first, second), _ = await converse(model, "work", 2)
            await model.close()
            part = first.parts[0]
            assert isinstance(part, Thinking)
            assert part.meta is not None
            assert part.meta["anthropic"]["type"] == "redacted_thinking"
            assert second.error is None

        asyncio.run(run())
        sent = server.asked[1].json["messages"][1]["content"][0]
        assert sent["type"] == "redacted_thinking"
        assert server.asked[1].refused == ""


def test_an_unknown_stop_reason_runs_nothing() -> None:
    events = [
        {"type": "message_delta", "delta": {"stop_reason": "teapot"}, "usage": {"output_tokens": 2}},
        {"type": "message_stop"},
    ]
    heard, _ = ask("haiku", [Raw(events)])
    assert heard.stop == Stopped("error", "teapot")
    heard, _ = ask("flash", [Raw([{"candidates": [{"finishReason": "TEAPOT"}]}])])
    assert heard.stop == Stopped("error", "TEAPOT")


def test_geminis_empty_signed_text_is_kept_and_goes_back() -> None:
    with Loopback([say("Hello."), say("ok")]) as server:

        async def run() -> None:
            model = connected(server, "flash")
            first = await hear(model, request(model.spec, "hi"))
            assert [part.text for part in first.parts] == ["Hello.", ""]  # type: ignore[union-attr]
            again = await hear(model, request(model.spec, "hi", reply_turn(model.spec, first.parts), "more"))
            assert again.error is None
            await model.close()

        asyncio.run(run())
        sent = server.asked[1].json["contents"][1]["parts"]
        assert sent[1]["text"] == ""
        assert sent[1]["thoughtSignature"]


def test_gemini_calls_without_id_get_one() -> None:
    chunk = {
        "candidates": [
            {"content": {"parts": [{"functionCall": {"name": "read", "args": {}}}] * 2}, "finishReason": "STOP"}
        ]
    }
    heard, _ = ask("flash", [Raw([chunk])])
    assert len({made.call_id for made in heard.calls}) == 2
    assert heard.stop == Stopped("tool_use")


def test_ids_that_were_used_before_are_replaced() -> None:
    block = {"type": "tool_use", "id": "call_0", "name": "read"}
    events = [
        *(
            {"type": kind, "index": n, "content_block": {**block, "input": {"file_path": f"{n}"}}}
            for n in range(2)
            for kind in ("content_block_start", "content_block_stop")
        ),
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
    ]
    before = call("read", call_id="call_0", file_path="a")
    turns = (
        "hi",
        RequestMessage("assistant", (before,)),
        RequestMessage("user", (ToolResult("call_0", "read", "success", "ok"),)),
    )
    heard, _ = ask("haiku", [Raw(events)], *turns)
    assert len({made.call_id for made in heard.calls} | {"call_0"}) == 3
    assert {step.call_id for step in heard.steps if isinstance(step, CallDelta)} == {
        made.call_id for made in heard.calls
    }
    parts = [{"functionCall": {"id": "call_0", "name": "read", "args": {"file_path": f"{n}"}}} for n in range(2)]
    heard, _ = ask("flash", [Raw([{"candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}]}])], *turns)
    assert len({made.call_id for made in heard.calls} | {"call_0"}) == 3


def test_a_call_that_comes_twice_with_its_id_and_input_is_one_call() -> None:
    block = {"type": "tool_use", "id": "call_0", "name": "read", "input": {"file_path": "a"}}
    kinds = ("content_block_start", "content_block_stop")
    events: list[dict[str, Any]] = [
        {"type": kind, "index": n, "content_block": block} for n in range(2) for kind in kinds
    ]
    heard, _ = ask("haiku", [Raw([*events, {"type": "message_delta", "delta": {"stop_reason": "tool_use"}}])])
    assert [made.input for made in heard.calls] == [{"file_path": "a"}]
    assert heard.stop == Stopped("tool_use")
    parts = [{"functionCall": {"id": "call_0", "name": "read", "args": {}}}] * 2
    heard, _ = ask("flash", [Raw([{"candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}]}])])
    assert len(heard.calls) == 1


def test_only_a_caller_other_than_the_model_itself_is_remembered_of_a_call() -> None:
    for caller, meta in (
        ({"type": "direct"}, None),
        ({"type": "code_execution_20250825"}, {"anthropic": {"caller": {"type": "code_execution_20250825"}}}),
    ):
        block = {"type": "tool_use", "id": "call_0", "name": "read", "input": {"file_path": "a"}, "caller": caller}
        events = [{"type": f"content_block_{end}", "index": 0, "content_block": block} for end in ("start", "stop")]
        heard, _ = ask("haiku", [Raw([*events, {"type": "message_delta", "delta": {"stop_reason": "tool_use"}}])])
        assert [made.meta for made in heard.calls] == [meta]


def test_two_replies_at_once_do_not_disturb_each_other() -> None:
    long = say("one two three four five six " * 20, rate=2000)
    for name in BOTH:
        seen = threading.Event()

        def plan(asked: Asked, seen: threading.Event = seen) -> Answer:
            if asked.last_text == "first":
                return long
            seen.set()
            return Idle(long, 2, 30)

        with Loopback(plan) as server:

            async def run(server: Loopback = server, name: str = name, seen: threading.Event = seen) -> None:
                model = connected(server, name)
                first = asyncio.create_task(hear(model, request(model.spec, "first")))
                second = asyncio.create_task(hear(model, request(model.spec, "second")))
                assert await asyncio.to_thread(seen.wait, 10)
                second.cancel()
                assert (await first).text == long.parts[0].text  # type: ignore[union-attr]
                await asyncio.gather(second, return_exceptions=True)
                (silent,) = (asked for asked in server.asked if asked.last_text == "second")
                assert await asyncio.to_thread(silent.gone.wait, 10)
                await model.close()

            asyncio.run(run())


@both
def test_a_provider_may_want_more_in_every_request(name: str) -> None:
    field, value = ("metadata", {"user_id": "u"}) if name == "haiku" else ("safetySettings", [])
    with Loopback([say("x")]) as server:

        async def run() -> None:
            model = connected(server, name, extra_body={field: value}, headers={"x-team": "blue"})
            assert (await hear(model, request(model.spec, "hello"))).error is None
            await model.close()

        asyncio.run(run())
        assert server.asked[0].json[field] == value
        assert server.asked[0].headers["x-team"] == "blue"


def test_an_address_may_end_in_v1() -> None:
    with Loopback([say("x")]) as server:

        async def run() -> None:
            model = connected(server, "haiku", base_url=f"{server.url}/v1/")
            assert (await hear(model, request(model.spec, "hello"))).error is None
            await model.close()

        asyncio.run(run())


def test_a_blocked_prompt_is_a_refusal() -> None:
    heard, _ = ask("flash", [Raw([{"promptFeedback": {"blockReason": "SAFETY"}}])])
    assert heard.stop == Stopped("refusal", "the prompt was blocked: SAFETY")


def test_a_key_can_travel_in_either_header() -> None:
    for auth, header in (("bearer", "authorization"), ("x-api-key", "x-api-key")):
        with Loopback([say("x")]) as server:

            async def run(server: Loopback = server, auth: str = auth) -> None:
                model = connected(server, "haiku", auth=auth, version="2023-06-01", beta_headers=("one", "two"))
                assert (await hear(model, request(model.spec, "hello"))).error is None
                await model.close()

            asyncio.run(run())
            headers = server.asked[0].headers
            assert ("authorization" in headers, "x-api-key" in headers) == (
                header == "authorization",
                header == "x-api-key",
            )
            assert headers["anthropic-version"] == "2023-06-01"
            assert headers["anthropic-beta"] == "one,two"


def test_a_retired_model_is_no_python_warning() -> None:
    heard, _ = ask("claude-sonnet-4-5", [say("still here")])
    assert heard.text == "still here"


def test_a_plan_may_be_a_function_of_the_request() -> None:
    def plan(asked: Asked) -> Answer:
        return say(f"{asked.results} results") if asked.results else say("", call("read", file_path=asked.last_text))

    for name in BOTH:
        with Loopback(plan) as server:

            async def run(server: Loopback = server, name: str = name) -> None:
                model = connected(server, name)
                (first, second), _ = await converse(model, "a.py", 2)
                await model.close()
                assert first.calls[0].input == {"file_path": "a.py"}
                assert second.text == "1 results"

            asyncio.run(run())


def test_a_request_for_a_summary_gets_a_snapshot() -> None:
    for name in BOTH:
        heard, _ = ask(name, [], "First, reason in your scratchpad. Then, generate the <state_snapshot>.")
        assert "<overall_goal>" in heard.text
        assert PartDone(Text(heard.text)) in heard.steps


@all_wires
def test_the_tier_that_served_a_request_is_told_on_every_wire_and_the_standard_one_is_none(name: str) -> None:
    heard = [ask(name, [say("hi", usage=Usage(input=9, output=1, tier=tier))])[0] for tier in ("", "flex")]
    assert [one.usage.tier for one in heard if one.usage] == ["", "flex"]
