"""Bodies of requests: each field stands in them once, and what failed before leaves no trace."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from agentcli.core.message import Text
from agentcli.core.model import RequestMessage
from agentcli.providers.anthropic import request as anthropic
from agentcli.providers.catalog import spec
from agentcli.providers.google import request as google
from agentcli.providers.settings import BUILT_IN
from agentcli.providers.wire import WireMessages
from tests.providers.hearing import request

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


def test_after_a_message_that_could_not_be_formed_the_others_are_all_there() -> None:
    def form(message: RequestMessage, _: str) -> Sequence[dict[str, Any]]:
        (part,) = message.parts
        assert isinstance(part, Text)
        if part.text == "bad":
            raise ValueError(part.text)
        return [{"role": message.role, "content": [part.text]}]

    def turns(*texts: str) -> list[RequestMessage]:
        roles = ("user", "assistant") * len(texts)
        return [RequestMessage(role, (Text(text),)) for role, text in zip(roles, texts, strict=False)]  # type: ignore[arg-type]

    messages = WireMessages(form, "content")
    good = turns("a", "b", "c", "d")
    messages.of(good, "")
    with pytest.raises(ValueError, match="bad"):
        messages.of([*good[:1], *turns("x", "b", "bad")[1:]], "")
    again = messages.of(good, "")
    assert [message["content"] for message in again.messages] == [["a"], ["b"], ["c"], ["d"]]
    assert len(again.texts({})) == 4
