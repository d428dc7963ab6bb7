"""Models that need no provider: scripted, and the cache that they emulate."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcli.context.cache_model import CacheRules, PrefixCache
from agentcli.core.errors import InputError
from agentcli.core.event import ReplyRestarted, Retrying, TextDelta
from agentcli.core.message import Text, Thinking, Usage
from agentcli.core.model import Breakpoint, RequestMessage, Stopped
from agentcli.providers.catalog import spec
from agentcli.providers.connect import connect
from agentcli.providers.scripted.model import Fault, Reply, ScriptedModel, Then, call, load, say
from agentcli.providers.settings import RetryPolicy
from tests.providers.hearing import ONCE, Heard, answers, hear, reply_turn, request
from tests.tables import each_row

DEMO = spec("demo")


def _play(name: str, *turns: RequestMessage | str) -> Heard:
    model = connect(spec(name), None, {}, ONCE)
    return asyncio.run(hear(model, request(model.spec, *turns)))


def test_the_echo_answers_with_what_the_user_typed() -> None:
    reminder = Text("<system-reminder>rain</system-reminder>", True, "reminder")
    assert _play("script:echo", RequestMessage("user", (reminder, Text("say this")))).text == "say this"


def test_the_long_reply_tags_each_block_once() -> None:
    heard = _play("script:long-reply:12@0", "go")
    for number in range(12):
        assert heard.text.count(f"#{number:04}") == 1
    assert sum(isinstance(step, TextDelta) for step in heard.steps) > 12


def test_steps_works_that_often_and_stops() -> None:
    model = connect(spec("script:steps:3"), None, {}, ONCE)

    async def run() -> list[str]:
        turns = [RequestMessage("user", (Text("work"),))]
        said = []
        for _ in range(9):
            heard = await hear(model, request(model.spec, *turns))
            said.append(heard.text)
            if not heard.calls:
                break
            turns += [reply_turn(model.spec, heard.parts), answers(heard.calls)]
        return said

    assert asyncio.run(run()) == ["Step 1 of 3.", "Step 2 of 3.", "Step 3 of 3.", "Done after 3 steps."]


def test_a_summary_is_given_to_whoever_asks_for_one() -> None:
    ask = "First, reason in your scratchpad. Then, generate the <state_snapshot>."
    turns = [
        "fix the parser",
        RequestMessage("assistant", (call("bash", "c1", command="pytest -q"),)),
        RequestMessage("user", (Text(ask),)),
    ]
    heard = _play("script:steps:3", *turns)
    assert "<overall_goal>fix the parser</overall_goal>" in heard.text
    assert "pytest -q" in heard.text
    assert heard.text.rstrip().endswith("</state_snapshot>")


def test_a_script_file_says_it_all(tmp_path: Path) -> None:
    path = tmp_path / "script.json"
    replies = [
        {
            "thinking": "hm",
            "text": ["Hel", "lo"],
            "calls": [{"name": "read", "input": {"file_path": "a", "name": "tool"}, "id": "c9"}, {"name": "list"}],
            "usage": {"input": 10, "output": 5, "cache_read": 3},
        },
        {"text": "no more", "stop": "max_tokens", "delay": 0.001, "rate": 100000},
        {
            "text": "fails in the middle",
            "fault": {"cause": "overloaded", "message": "busy", "after": 1, "retry_after": 2.5},
        },
    ]
    path.write_text(json.dumps({"replies": replies, "then": "fail"}))
    model = connect(spec(f"script:{path}"), None, {}, ONCE)

    async def run() -> list[Heard]:
        return [await hear(model, request(model.spec, "x")) for _ in range(4)]

    first, second, third, fourth = asyncio.run(run())
    assert [step.text for step in first.steps if isinstance(step, TextDelta)] == ["Hel", "lo"]
    assert first.parts[0] == Thinking("hm", "scripted")
    assert [made.call_id for made in first.calls] == ["c9", "call_0001"]
    assert first.calls[0].input == {"file_path": "a", "name": "tool"}
    assert first.usage == Usage(10, 5, 0, 3)
    assert first.stop == Stopped("tool_use")
    assert second.stop == Stopped("max_tokens")
    assert third.error is not None
    assert (third.error.cause, third.error.retry_after, third.text) == ("overloaded", 2.5, "")
    assert fourth.error is not None


@each_row(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"replies": [{"txt": "x"}]}',
        '{"replies": [], "then": "explode"}',
        '{"replies": [{"fault": {"x": 1}}]}',
    ],
)
def test_a_script_that_makes_no_sense_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "bad.json").write_text(text)
    with pytest.raises(InputError, match=r"bad\.json"):
        load(tmp_path / "bad.json")


def test_an_unknown_script_is_answered_with_those_that_exist() -> None:
    with pytest.raises(InputError, match=r"echo, long-reply, steps"):
        connect(spec("script:nowhere"), None, {})


@pytest.mark.parametrize(("then", "texts"), [("repeat", "abbb"), ("loop", "abab")])
def test_what_comes_after_the_script(then: Then, texts: str) -> None:
    model = ScriptedModel(DEMO, [say("a"), say("b")], then)

    async def run() -> str:
        return "".join([(await hear(model, request(DEMO, "x"))).text for _ in range(4)])

    assert asyncio.run(run()) == texts


def test_a_scripted_fault_is_retried_like_any_other() -> None:
    replies = iter([say("broken off in the middle", fault=Fault("network", after=1)), say("whole")])
    model = connect(
        spec("demo"),
        None,
        {},
        RetryPolicy(first=0.001),
        built_in={"demo": lambda found: ScriptedModel(found, lambda _: next(replies))},
    )
    heard = asyncio.run(hear(model, request(model.spec, "x")))
    assert heard.error is None
    assert any(isinstance(step, Retrying) for step in heard.steps)
    assert ReplyRestarted() in heard.steps
    assert heard.text == "whole"


def test_the_pace_is_kept() -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    model = ScriptedModel(DEMO, [say("x" * 120, delay=2.0, rate=60)], sleep=sleep)
    asyncio.run(hear(model, request(DEMO, "x")))
    assert sum(slept) == pytest.approx(4.0)


def test_usage_grows_with_the_request_and_the_cache_reads_what_was_marked() -> None:
    model = ScriptedModel(DEMO, [say("ok")])
    turns = [RequestMessage("user", (Text("long words " * 1000),))]

    async def run() -> list[Usage]:
        found = []
        for _ in range(3):
            marks = (Breakpoint(-1), Breakpoint(len(turns) - 1))
            found.append((await hear(model, request(DEMO, *turns, breakpoints=marks))).usage)
            turns.extend(
                [RequestMessage("assistant", (Text("ok"),)), RequestMessage("user", (Text("more words " * 200),))]
            )
        return found

    first, second, third = asyncio.run(run())
    assert first.cache_read == 0
    assert first.cache_write == first.prompt
    assert second.cache_read == first.prompt
    assert third.cache_read == second.prompt
    assert third.prompt > second.prompt > first.prompt


def test_others_get_their_turn_while_a_script_plays() -> None:
    async def run() -> int:
        turns = 0

        async def count() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        other = asyncio.create_task(count())
        await hear(ScriptedModel(DEMO, [say("x" * 1200)]), request(DEMO, "x"))
        other.cancel()
        return turns

    assert asyncio.run(run()) >= 100


BLOCKS = st.lists(st.tuples(st.binary(min_size=1, max_size=3), st.integers(1, 900)), min_size=1, max_size=30)


@given(BLOCKS, st.data())
def test_the_cache_never_reads_more_than_there_is_and_never_what_was_not_written(
    blocks: list[tuple[bytes, int]], data: st.DataObject
) -> None:
    cache, rules = PrefixCache(), CacheRules(minimum=1000, lookback=20)
    whole = sum(tokens for _, tokens in blocks)
    marks = data.draw(st.lists(st.integers(0, len(blocks) - 1), max_size=4))
    read, written = cache.use(blocks, marks, rules, 0.0)
    assert read == 0
    assert 0 <= written <= whole
    again = cache.use(blocks, marks, rules, 1.0)
    assert again == (written, 0)
    assert cache.use(blocks, marks, rules, 1000.0) == (0, written)
    assert cache.use(blocks, marks, rules, 1001.0, "another model") == (0, written)
    changed = [(b"changed", 5), *blocks[1:]]
    assert cache.use(changed, marks, rules, 1002.0)[0] == 0


@given(BLOCKS)
def test_an_implicit_cache_reads_the_longest_common_prefix(blocks: list[tuple[bytes, int]]) -> None:
    cache, rules = PrefixCache(), CacheRules(minimum=1000, explicit=False)
    assert cache.use(blocks, (), rules, 0.0) == (0, 0)
    whole = sum(tokens for _, tokens in blocks)
    assert cache.use([*blocks, (b"new", 7)], (), rules, 1.0) == (whole if whole >= 1000 else 0, 0)


def test_a_reply_ends_as_its_parts_ask_for() -> None:
    assert say("x").ending == "end_turn"
    assert say("x", call("read")).ending == "tool_use"
    assert replace(say("x"), stop="refusal").ending == "refusal"
    assert Reply().ending == "end_turn"
