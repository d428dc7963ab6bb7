"""A refusal that names a part: the request goes on without it, the model and the person are told, and nothing is believed for longer."""

from __future__ import annotations

import asyncio
import base64
import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentcli.agent.ports import Prompt
from agentcli.agent.session import AgentSession
from agentcli.core.event import Noticed, TurnEnded
from agentcli.core.message import Image, Part, Text, ToolResult
from agentcli.core.model import Breakpoint, Model, Request, RequestMessage, ToolSchema
from agentcli.providers.capable import Blames
from agentcli.providers.catalog import spec
from agentcli.providers.scripted.model import Reply, call, say
from agentcli.sessions.store import Store
from tests.agent.open_session import ended, open_session
from tests.loopback import Asked, Loopback, Refuse
from tests.providers.hearing import ALL, CHAT, READ, Heard, connected, hear, reply_turn, request
from tests.providers.test_capabilities import PICTURE
from tests.tables import each_row

GOOD = Image("image/png", base64.b64encode(PICTURE).decode(), "good.png")
BROKEN = Image("image/png", base64.b64encode(PICTURE[:40]).decode(), "broken.png")


def heard_in_turn(server: Loopback, name: str, *asked: Any) -> list[Heard]:
    """The replies of one model to several requests, each made from its spec."""

    async def run() -> list[Heard]:
        model = connected(server, name)
        heard = [await hear(model, make(model)) for make in asked]
        await model.close()  # type: ignore[attr-defined]
        return heard

    return asyncio.run(run())


def with_images(*images: Image) -> Any:
    return lambda model: request(model.spec, RequestMessage("user", (Text("look"), *images)))


def notices(heard: Heard) -> list[str]:
    return [step.message for step in heard.steps if isinstance(step, Noticed)]


@each_row("name", ALL)
def test_a_broken_image_is_left_out_and_the_good_ones_stay(name: str) -> None:
    with Loopback(lambda _: say("Seen.")) as server:
        good, both, later = heard_in_turn(server, name, with_images(GOOD), with_images(GOOD, BROKEN), with_images(GOOD))
    assert [heard.text for heard in (good, both, later)] == ["Seen."] * 3
    [notice] = notices(both)
    assert "refused a request with the image broken.png (" in notice
    assert [len(notices(heard)) for heard in (good, later)] == [0, 0]
    refused, cured = (asked for asked in server.requests[1:3])
    assert refused.refused
    sent = json.dumps(cured.json).translate(str.maketrans("-_", "+/"))
    assert GOOD.data in sent
    assert "The image broken.png was left out: the provider did not take it" in json.dumps(cured.json)


@each_row("name", ALL)
def test_a_broken_image_in_a_result_is_left_out(name: str) -> None:
    def asked(model: Model) -> Request:
        step = call("read", file_path="x.png")
        first = reply_turn(model.spec, [part for part in say("", step).parts if not isinstance(part, Text)])
        result = ToolResult(step.call_id, "read", "success", "[image]", images=(GOOD, BROKEN))
        return request(model.spec, "look", first, RequestMessage("user", (result,)))

    with Loopback(lambda _: say("Seen.")) as server:
        [heard] = heard_in_turn(server, name, asked)
    assert heard.text == "Seen."
    assert "The image broken.png was left out" in json.dumps(server.requests[-1].json)


WIDE = Image(
    "image/png", base64.b64encode(PICTURE[:16] + struct.pack(">II", 9_000, 10) + PICTURE[24:]).decode(), "wide.png"
)


class Parts(tuple[Part, ...]):
    """Parts that count how often they are read."""

    times = 0

    def __iter__(self) -> Iterator[Part]:
        self.times += 1
        return super().__iter__()


def test_images_are_sought_in_new_messages_until_one_is_too_large() -> None:
    parts, blames, model = Parts([Text("Look."), GOOD]), Blames(), spec("haiku")
    asked = request(model, RequestMessage("user", parts))
    assert [blames.oversized(asked) for _ in range(3)] == [set()] * 3
    assert parts.times == 1
    longer = request(model, *asked.messages, "And this?", RequestMessage("user", (WIDE,)))
    longest = request(model, *longer.messages, "And?")
    assert [len(blames.oversized(each)) for each in (longer, longest, asked)] == [1, 1, 0]


def test_an_image_larger_than_the_provider_takes_is_left_out_before_it_is_refused() -> None:
    with Loopback(lambda _: say("Seen."), strict=False) as server:
        claude = heard_in_turn(server, "haiku", with_images(GOOD, WIDE))[0]
        gemini = heard_in_turn(server, "flash", with_images(GOOD, WIDE))[0]
    [notice] = notices(claude)
    assert notice.endswith("takes no image as large as the image wide.png: it was left out.")
    assert notices(gemini) == []
    assert [holds(asked, WIDE.data[:40]) for asked in server.requests] == [False, True]


BAD_TOOL = ToolSchema(
    "mcp__maps__route",
    "Find a way.",
    {"type": "object", "properties": {"stops": {"type": "array", "items": [{"type": "string"}]}}},
)


@each_row("name", ALL)
def test_a_tool_with_a_schema_that_is_refused_is_left_out_and_named_with_its_server(name: str) -> None:
    with Loopback(lambda _: say("Done.")) as server:
        first, second = heard_in_turn(
            server, name, *[lambda model: request(model.spec, "go", tools=(READ, BAD_TOOL))] * 2
        )
    assert (first.text, second.text) == ("Done.", "Done.")
    [notice] = notices(first)
    assert "the tool route of the MCP server maps" in notice
    assert notices(second) == []
    body = json.dumps(server.requests[1].json)
    assert "Not available now, because the provider refused their definitions: mcp__maps__route." in body
    assert "Find a way." not in body
    assert "Read a file." in body


def test_a_refusal_that_says_nothing_leaves_out_the_images_that_were_never_answered() -> None:
    def answer(asked: Asked) -> Reply | Refuse:
        return Refuse(400, message="Request contains an invalid argument.") if holds(asked, "OTHER") else say("Seen.")

    odd = Image("image/png", f"OTHER{GOOD.data}", "odd.png")
    with Loopback(answer, strict=False) as server:
        first, second = heard_in_turn(server, "flash", with_images(GOOD), with_images(GOOD, odd))
    assert (first.text, second.text) == ("Seen.", "Seen.")
    assert [holds(asked, "iVBOR") for asked in server.requests] == [True, True, True]
    assert len(notices(second)) == 1


SAID = {
    "haiku": "Could not process image",
    "flash": "Unable to process input image. Please retry or report in https://developers.generativeai.google/guide/troubleshooting",
    "luna": "The image data you provided does not represent a valid image.",
    CHAT: "Failed to load image: cannot identify image file",
}


@pytest.mark.full
@each_row("name", ALL)
def test_a_session_with_an_image_that_the_api_cannot_read_goes_on_live_and_after_a_resume(
    tmp_path: Path, name: str
) -> None:
    (tmp_path / "shot.png").write_bytes(PICTURE)

    def answer(asked: Asked) -> Reply | Refuse:
        if holds(asked, "iVBOR"):
            return Refuse(400, message=SAID[name])
        if asked.last_text.strip() == "look":
            return say("I look.", call("read", file_path="shot.png"))
        return say("Here.")

    store = Store(tmp_path / "data")
    journal = store.create(tmp_path)
    with Loopback(answer) as server:
        for prompts in (["hello", "look", "and now?"], ["back again", "and again"]):
            model = connected(server, name)
            session = open_session(tmp_path, [], model=model.spec, wrapped=lambda _, made=model: made, journal=journal)  # type: ignore[misc]
            ends = asyncio.run(said(session, model, prompts))
            assert [(end.ending, end.error) for end in ends] == [("done", None)] * len(prompts)
            journal.close()
            journal = store.open(journal.info.project_id, journal.id)
        journal.close()


async def said(session: AgentSession, model: Model, prompts: list[str]) -> list[TurnEnded]:
    """The end of the turn of each prompt; the connections of the model are closed behind the last."""
    ends = []
    for prompt in prompts:
        ends.append(ended([event async for event in session.turn(Prompt(prompt), asyncio.Event())]))
    await model.close()  # type: ignore[attr-defined]
    return ends


def holds(asked: Asked, text: str) -> bool:
    return text in json.dumps(asked.json)


WORDS = ["image", "images", "thinking", "cache_control", "not", "supported", "max", "allowed", "size", "8000", "pixels", "is", "a", "valid",
         "messages.0.content.1", "of", "4", "blocks", "with", "text", "model", "invalid", "must", "be", "greater", "than",
         "thinking.budget_tokens", "reasoning", "effort", ":", ".", "tools.0", "request", "permitted", "unsupported", "format"]  # fmt: skip


@pytest.mark.full
@settings(max_examples=15, deadline=None)
@given(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=14).map(" ".join), st.sampled_from(["haiku", "flash", "luna"])
)
def test_one_refusal_with_a_random_text_takes_nothing_from_the_next_ten_requests(text: str, name: str) -> None:
    def asked(model: Model) -> Request:
        parts = RequestMessage("user", (Text("look"), GOOD))
        return request(model.spec, parts, breakpoints=(Breakpoint(-1), Breakpoint(0)), options={"effort": "high"})

    with Loopback(lambda asked: Refuse(400, message=text) if asked.number == 0 else say("Hi.")) as server:
        heard_in_turn(server, name, *[asked] * 11)
    later = [shape(each) for each in server.requests[-10:]]
    assert later == [shape(server.requests[0])] * 10


def shape(asked: Asked) -> tuple[bool, ...]:
    """What a request has of all that a refusal may take away."""
    text = json.dumps(asked.json)
    return tuple(word in text for word in ("iVBOR", "thinking", "reasoning", "cache_control", "effort", "Read a file."))
