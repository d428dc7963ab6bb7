"""A conversation goes on with another model, of whatever wire format, and comes back: each server takes what the others wrote."""

from __future__ import annotations

import asyncio
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentcli.context.repair import repair
from agentcli.core.message import Image, Part, Text, ToolCall, ToolResult
from agentcli.core.model import Model, RequestMessage
from agentcli.providers.scripted.model import Reply, call, say
from tests.loopback import Asked, Loopback
from tests.providers.hearing import ALL, connected, hear, reply_turn, request

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
IMAGE = Image("image/png", PIXEL)
REPLIES = (
    say("Both.", call("read", file_path="a"), call("read", file_path="b"), thinking="Two at a time."),
    say("", call("read", file_path="c"), thinking="One more."),
    say("", call("read", call_id="the very same", file_path="d")),
    say("Done.", thinking="That is all."),
    say("Done."),
)


class Played:
    """A server that gives the reply it was told to give next, and one connection to it for each model."""

    def __init__(self) -> None:
        self.next = REPLIES[0]
        self.server = Loopback(self.answer)
        self.models: dict[str, Model] = {}

    def answer(self, _: Asked) -> Reply:
        return self.next

    async def goes_on(self, turns: list[RequestMessage], name: str, reply: Reply) -> None:
        """Ask a model for this reply, and put it and the results of its calls behind the turns."""
        model = self.models.setdefault(name, connected(self.server, name))
        self.next = reply
        heard = await hear(model, request(model.spec, *repair(turns, model.spec)))
        assert heard.error is None, (heard.error, self.server.asked[-1].body.decode())
        turns.append(reply_turn(model.spec, heard.parts))
        turns.append(RequestMessage("user", (*results(heard.calls), Text("Go on."), IMAGE)))

    async def close(self) -> None:
        for model in self.models.values():
            await model.close()  # type: ignore[attr-defined]


def results(calls: list[ToolCall]) -> list[ToolResult | Part]:
    images = (IMAGE,)
    return [
        ToolResult(each.call_id, each.name, "success", f"{number}", images=images) for number, each in enumerate(calls)
    ]


def test_every_pair_of_wire_formats_takes_over_and_gives_back() -> None:
    played = Played()

    async def run() -> None:
        for first, second in permutations(ALL, 2):
            turns = [RequestMessage("user", (Text("work"), IMAGE))]
            for name, reply in ((first, REPLIES[0]), (second, REPLIES[1]), (second, REPLIES[0]), (first, REPLIES[3])):
                await played.goes_on(turns, name, reply)
        await played.close()

    with played.server:
        asyncio.run(run())


def test_thoughts_go_back_to_their_own_model_alone() -> None:
    played = Played()

    async def run() -> None:
        for name in ("luna", "ollama/qwen3"):
            turns = [RequestMessage("user", (Text("work"),))]
            await played.goes_on(turns, name, REPLIES[0])
            await played.goes_on(turns, name, REPLIES[1])
            assert "reasoning" in str(sent(played))
            await played.goes_on(turns, "openai/gpt-6-sol" if name == "luna" else "ollama/gemma", REPLIES[4])
            assert "encrypted" not in str(sent(played))
            assert "reasoning_content" not in str(sent(played))
        await played.close()

    with played.server:
        asyncio.run(run())


def sent(played: Played) -> list[object]:
    return list(played.server.asked[-1].turns)


def test_any_journey_between_the_wire_formats_is_taken() -> None:
    _taken(8)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_many_journeys_between_the_wire_formats_are_taken() -> None:
    _taken(400)


def _taken(examples: int) -> None:
    played = Played()
    with played.server, asyncio.Runner() as runner:

        @settings(max_examples=examples, deadline=None)
        @given(
            st.lists(
                st.tuples(st.sampled_from((*ALL, "claude-haiku-4-5", "gemini-2.5-pro")), st.sampled_from(REPLIES)),
                max_size=7,
            )
        )
        def check(journey: list[tuple[str, Reply]]) -> None:
            turns = [RequestMessage("user", (Text("work"),))]
            for name, reply in journey:
                runner.run(played.goes_on(turns, name, reply))

        check()
        runner.run(played.close())
