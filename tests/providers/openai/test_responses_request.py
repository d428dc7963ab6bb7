"""Request in the form of the Responses API: pure, so that equal requests give equal bytes."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentcli.context.invariants import repair
from agentcli.core.message import ToolCall
from agentcli.core.model import RequestMessage, ToolSchema
from agentcli.providers.arguments import BARE
from agentcli.providers.catalog import spec
from agentcli.providers.openai.responses_request import Former, to_body, to_wire
from agentcli.providers.settings import BUILT_IN
from tests.providers.hearing import READ, answers, reply_turn, request
from tests.stories.providers.test_any_history import COUNTS, TURNS

FREE = replace(READ, grammar="start: /.+/")


@pytest.mark.full
@settings(max_examples=150)
@given(TURNS, TURNS, COUNTS, st.sampled_from(["luna", "openai/gpt-6-sol"]), st.sampled_from([READ, FREE]))
def test_a_body_that_went_on_from_the_former_one_is_that_of_the_whole_request(
    turns: list[RequestMessage], others: list[RequestMessage], counts: list[int], name: str, tool: ToolSchema
) -> None:
    model, former = spec(name), Former()
    for count in counts:
        sent = repair([*turns[:count], *others[: count % 2]], model)
        asked = request(model, *sent, tools=(tool,), options={"session": "s"})
        body = to_body(asked, BUILT_IN["openai"], former)
        assert body == to_body(asked, BUILT_IN["openai"], Former())
        assert json.loads(body) == {**to_wire(asked, BUILT_IN["openai"]), "stream": True}


def test_a_call_with_plain_text_and_its_result_keep_their_form_while_the_history_changes() -> None:
    luna, former = spec("luna"), Former()
    bare, whole = ToolCall("call_1", "read", {BARE: "+a"}), ToolCall("call_1", "read", {"file_path": "a"})
    for call in (bare, whole, bare):
        asked = request(luna, "hi", reply_turn(luna, (call,)), answers([call]), tools=(FREE,))
        items = json.loads(to_body(asked, BUILT_IN["openai"], former))["input"]
        assert items == to_wire(asked, BUILT_IN["openai"])["input"]
        free = call is bare
        assert [item["type"].startswith("custom_") for item in items[1:3]] == [free, free]


def test_input_that_is_set_as_an_extra_field_is_sent_instead_of_ours() -> None:
    own = [{"type": "message", "role": "user", "content": "mine"}]
    more = replace(BUILT_IN["openai"], extra_body={"input": own, "top_k": 1})
    sent = json.loads(to_body(request(spec("luna"), "hello"), more, Former()))
    assert (sent["input"], sent["top_k"]) == (own, 1)
