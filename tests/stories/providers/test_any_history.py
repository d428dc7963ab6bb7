"""Whatever the history, what goes out is a request that the provider takes."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentcli.context.invariants import repair
from agentcli.core.message import File, Image, Part, Text, Thinking, ToolCall, ToolResult
from agentcli.core.model import Breakpoint, RequestMessage
from agentcli.providers.arguments import BARE
from agentcli.providers.catalog import spec
from agentcli.providers.scripted.model import say
from agentcli.providers.wire import UsedIds
from tests.loopback import Loopback
from tests.providers.hearing import connected, hear, request
from tests.tables import each_row

TEXTS = st.sampled_from(["", " ", "words", "日本語", "half \ud800", "x" * 500])
IDS = st.sampled_from(["call_1", "call_2", "toolu_x", "a.b:c", "ü", "y" * 80])
INPUTS = st.sampled_from([{}, {"file_path": "a"}, {"deep": [{"a": None}]}, {"bad": "\udfff"}, {BARE: "+a"}])
GOOGLE = {"google": {"thought_signature": "c2lnbmF0dXJl"}}
OPENAI = st.sampled_from(
    [
        {"openai": {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "foreign"}},
        {"openai": {"field": "reasoning_content"}},
        {"openai": {"details": [{"type": "reasoning.text", "text": "hm"}]}},
    ]
)
IMAGE = Image("image/png", "iVBORw==")
USER = st.one_of(
    st.builds(Text, TEXTS),
    st.builds(Text, TEXTS, st.just(True), st.sampled_from(["", "reminder", "shell"])),
    st.just(IMAGE),
    st.builds(File, st.just("text/plain"), TEXTS, TEXTS),
    st.builds(ToolResult, IDS, st.just("read"), st.sampled_from(["success", "error", "interrupted"]), TEXTS),
    st.builds(ToolResult, IDS, st.just("read"), st.just("success"), TEXTS, images=st.just((IMAGE,))),
)
MODEL: st.SearchStrategy[Part] = st.one_of(
    st.builds(Text, TEXTS),
    st.builds(Thinking, TEXTS, st.sampled_from(["", "sig"])),
    st.builds(Thinking, TEXTS, st.just(""), OPENAI),
    st.builds(ToolCall, IDS, st.just("read"), INPUTS),
)
TURNS = st.lists(
    st.one_of(
        st.builds(lambda parts: RequestMessage("user", tuple(parts)), st.lists(USER, max_size=4)),
        st.builds(
            lambda parts, who: RequestMessage("assistant", tuple(parts), *who),
            st.lists(MODEL, max_size=4),
            st.sampled_from(
                [
                    ("", ""),
                    ("demo", "demo"),
                    ("anthropic", "claude-opus-4-5"),
                    ("google", "gemini-2.5-pro"),
                    ("openai", "gpt-6-sol"),
                    ("ollama", "gemma"),
                ]
            ),
        ),
    ),
    max_size=8,
)


@pytest.mark.full
@pytest.mark.parametrize("name", ["opus", "flash", "gemini-2.5-pro", "luna", "ollama/qwen3"])
def test_a_repaired_history_of_any_kind_is_accepted(name: str) -> None:
    _accepted(name, 40)


@pytest.mark.slow
@pytest.mark.timeout(900)
@each_row("name", ["opus", "sonnet", "claude-haiku-4-5", "flash", "argon", "gemini-2.5-pro", "luna", "ollama/qwen3"])
def test_many_repaired_histories_are_accepted(name: str) -> None:
    _accepted(name, 1500)


def _accepted(name: str, examples: int) -> None:
    model = spec(name)
    with Loopback(lambda _: say("fine")) as server, asyncio.Runner() as runner:
        connection = connected(server, name)

        @settings(max_examples=examples)
        @given(TURNS, st.lists(st.builds(Breakpoint, st.integers(-1, 9), st.integers(-1, 4)), max_size=6))
        def check(turns: list[RequestMessage], marks: list[Breakpoint]) -> None:
            asked = request(model, *repair(turns, model), breakpoints=tuple(marks))
            heard = runner.run(hear(connection, asked))
            assert heard.error is None, server.asked[-1].body.decode()

        check()
        runner.run(connection.close())  # type: ignore[attr-defined]


COUNTS = st.one_of(st.just([*range(9)]), st.lists(st.integers(0, 8), min_size=2, max_size=8))
"""How many of some turns each request of a session holds: it grows, or is cut and goes on in another way."""


@settings(max_examples=100)
@given(TURNS, TURNS, COUNTS)
def test_the_ids_in_use_are_those_of_the_newest_request(
    turns: list[RequestMessage], others: list[RequestMessage], counts: list[int]
) -> None:
    used = UsedIds()
    for count in counts:
        asked = request(spec("opus"), *turns[:count], *others[: count % 2])
        calls = [part for message in asked.messages for part in message.parts if isinstance(part, ToolCall)]
        for name in {*(part.call_id for part in calls), "new"}:
            assert (used.of(asked).fresh(name) == name) is (name == "new")
