"""Bodies of requests: each field stands in them once."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from agentcli.providers.anthropic import request as anthropic
from agentcli.providers.catalog import spec
from agentcli.providers.google import request as google
from agentcli.providers.settings import BUILT_IN
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
    assert fields(google.to_body(request(spec("flash"), "hello"), settings, google.Former()))["contents"] == OWN
