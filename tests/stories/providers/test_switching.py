"""A conversation goes on with another model, of whatever wire format, and comes back: each server takes what the others wrote."""

from __future__ import annotations

import asyncio
import base64
from itertools import pairwise, permutations
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentcli.agent.ports import Prompt
from agentcli.context.invariants import repair
from agentcli.core.message import Image, Part, Text, ToolCall, ToolResult
from agentcli.core.model import Model, RequestMessage
from agentcli.providers.scripted.model import Reply, call, say
from tests.agent.open_session import ended, open_session
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


def test_a_session_changes_its_model_between_all_wire_formats(tmp_path: Path) -> None:
    """Each pair of neighbours is a pair of wire formats; the ends meet, and every ordered pair is there once."""
    way = [ALL[place] for place in (0, 1, 0, 2, 0, 3, 1, 2, 1, 3, 2, 3, 0)]
    assert len({*pairwise(way)}) == len([*permutations(ALL, 2)])
    (tmp_path / "a.txt").write_text("alpha")
    (tmp_path / "a.png").write_bytes(base64.b64decode(PIXEL))

    both = call("read", file_path="a.txt"), call("read", file_path="a.png")
    turn = [say("Both.", *both, thinking="Two at a time."), say("Seen.", thinking="Now I know.")]

    with Loopback(turn * len(way)) as server:
        models = {name: connected(server, name) for name in ALL}

        def connect(name: str) -> Model:
            return models[name]

        async def run() -> None:
            session = open_session(
                tmp_path, [], model=models[way[0]].spec, wrapped=lambda _: models[way[0]], connect=connect
            )
            for name in way:
                session.switch(model=name)
                events = [event async for event in session.turn(Prompt("Look."), asyncio.Event())]
                assert (ended(events).ending, ended(events).text) == ("done", "Seen."), (name, ended(events).error)
            for model in models.values():
                await model.close()  # type: ignore[attr-defined]

        asyncio.run(run())
        assert [asked.refused for asked in server.asked if asked.refused] == []


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

        @settings(max_examples=examples)
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
