"""Request in the form of Gemini's generateContent: pure, so that equal requests give equal bytes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentcli.core.message import File, Image, Text, Thinking, ToolCall, ToolResult
from agentcli.core.model import Request, RequestMessage, ToolSchema
from agentcli.providers.anthropic import request as anthropic
from agentcli.providers.anthropic.request import to_wire
from agentcli.providers.catalog import spec
from agentcli.providers.google import request as google
from agentcli.providers.google.api import GoogleApi
from agentcli.providers.google.request import countable
from agentcli.providers.settings import BUILT_IN
from tests.loopback import Loopback
from tests.providers.hearing import READ, request
from tests.providers.test_wire import _wire, gemini_body, gemini_contents
from tests.stories.providers.test_any_history import COUNTS, TURNS
from tests.tables import each_row


def test_lone_surrogates_do_not_stop_a_request() -> None:
    turns = (
        "bad \ud800 text",
        RequestMessage("assistant", (ToolCall("c", "r", {"a\ud800": ["\udfff"]}),)),
        RequestMessage("user", (ToolResult("c", "r", "success", "\udfff"),)),
    )
    json.dumps(_wire("opus", *turns, system=("\ud800",)), ensure_ascii=False).encode("utf-8")
    google = gemini_body(request(spec("flash"), *turns, system=("\ud800",)))
    json.dumps(google, ensure_ascii=False, default=repr).encode("utf-8")


def test_gemini_counts_a_history_with_pictures_and_signatures() -> None:
    signed = Text("b", meta={"google": {"thought_signature": "+/8="}})
    image = Image("image/png", "iVBORw==")
    reply = RequestMessage("assistant", (signed,), "google", "gemini-3.8-flash")
    made = request(spec("flash"), "a", reply, RequestMessage("user", (image,)))
    with Loopback([], strict=False) as server:
        assert asyncio.run(counted(GoogleApi(BUILT_IN["google"], "loopback-key", server.url), made))
        sent = json.loads(server.asked[0].body)
    assert sent == {"contents": countable(made)}
    assert sent["contents"][-2:] == gemini_contents(made)[-2:]


async def counted(api: GoogleApi, made: Request) -> int | None:
    """The tokens of a request as an API counts them."""
    found: int | None = await api.count(made)
    await api.close()
    return found


LONE = "half \ud83d of \udfff a pair"


def _with_lone_surrogates_everywhere(name: str) -> Request:
    """A request with lone surrogates in every text that it has."""
    model = spec(name)
    kind = model.kind
    schema = {"type": "object", "description": LONE, "properties": {LONE: {"type": "string", "enum": [LONE]}}}
    said = RequestMessage(
        "assistant",
        (
            Thinking(LONE, "c2ln", {kind: {"thought_signature": "c2ln"}}),
            Text(LONE, meta={"anthropic": {"type": "server_thing", "x": [LONE]}} if kind == "anthropic" else None),
            ToolCall(
                LONE, LONE, {LONE: [LONE, {LONE: LONE}]}, {kind: {"caller": LONE}} if kind == "anthropic" else None
            ),
        ),
        model.provider,
        model.id,
    )
    heard = RequestMessage(
        "user", (ToolResult(LONE, LONE, "error", LONE), Text(LONE, synthetic=True, source="reminder"))
    )
    file = RequestMessage("user", (File("text/plain", LONE, LONE), Text(LONE)))
    return request(model, file, said, heard, system=(LONE,), tools=(ToolSchema("read", LONE, schema),))


@each_row("name", ["opus", "claude-haiku-4-5", "flash", "gemini-2.5-flash"])
def test_lone_surrogates_never_leave_wherever_they_stand(name: str) -> None:
    made = _with_lone_surrogates_everywhere(name)
    settings = replace(BUILT_IN[made.model.provider], extra_body={"x": {LONE: LONE}})
    if made.model.kind == "anthropic":
        json.dumps(to_wire(made, settings), ensure_ascii=False).encode()
    else:
        json.dumps([gemini_body(made, settings), countable(made)], ensure_ascii=False).encode()


OWN = [{"role": "user", "content": "mine"}]


def fields(body: bytes) -> Mapping[str, Any]:
    """The fields of a body, none of which may stand in it twice."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        assert len({name for name, _ in pairs}) == len(pairs), pairs
        return dict(pairs)

    found: Mapping[str, Any] = json.loads(body, object_pairs_hook=once)
    return found


def test_messages_that_are_set_as_an_extra_field_are_sent_instead_of_ours() -> None:
    settings = replace(BUILT_IN["anthropic"], extra_body={"messages": OWN})
    body, _ = anthropic.to_body(request(spec("opus"), "hello"), settings, anthropic.Former())
    assert fields(body)["messages"] == OWN
    settings = replace(BUILT_IN["google"], extra_body={"contents": OWN})
    assert google.to_body(request(spec("flash"), "hello"), settings, google.Former())["contents"] == OWN


@pytest.mark.full
@settings(max_examples=150)
@given(TURNS, TURNS, COUNTS, st.sampled_from(["flash", "gemini-2.5-flash"]))
def test_a_gemini_body_that_went_on_from_the_former_one_is_that_of_the_whole_request(
    turns: list[RequestMessage], others: list[RequestMessage], counts: list[int], name: str
) -> None:
    former = google.Former()
    for count in counts:
        asked = request(spec(name), *turns[:count], *others[: count % 2], system=("s",), tools=(READ,))
        assert google.to_body(asked, BUILT_IN["google"], former) == google.to_body(
            asked, BUILT_IN["google"], google.Former()
        )
