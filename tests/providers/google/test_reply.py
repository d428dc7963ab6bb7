"""The chunks of a Gemini stream, joined into parts that are complete or absent."""

from __future__ import annotations

import pytest

from agentcli.core.message import Usage
from agentcli.core.model import Stopped
from agentcli.providers.google.reply import Reply
from agentcli.providers.google.reply import to_usage as google_usage
from tests.tables import each_row


@pytest.mark.parametrize(
    "message",
    [
        "Malformed function call: print(default_api.write(file_path='a.py', content='",
        "Malformed function call: call:write{file_path:<ctrl46>a.py",
        "Malformed function call: call:default_api:write{",
    ],
)
def test_the_tool_of_a_malformed_call_of_gemini_is_read_from_its_finish_message(message: str) -> None:
    ended = {"finishReason": "MALFORMED_FUNCTION_CALL", "finishMessage": message}
    reply = Reply()
    assert [*reply.read({"candidates": [ended]}, {})] == []
    [stopped] = reply.end()
    assert isinstance(stopped, Stopped)
    assert (stopped.stop, stopped.tool) == ("malformed_call", "write")
    assert stopped.sent == message.removeprefix("Malformed function call: ")


@each_row(
    ("traffic", "tier"),
    [
        ("ON_DEMAND", ""),
        ("TRAFFIC_TYPE_UNSPECIFIED", ""),
        ("ON_DEMAND_FLEX", "flex"),
        ("ON_DEMAND_PRIORITY", "priority"),
        ("PROVISIONED_THROUGHPUT", "provisioned_throughput"),
    ],
)
def test_the_type_of_traffic_is_the_tier_of_gemini_on_vertex(traffic: str, tier: str) -> None:
    given = {"promptTokenCount": 5, "candidatesTokenCount": 2, "trafficType": traffic}
    assert google_usage(given, {}) == Usage(5, 2, tier=tier)
    assert google_usage({**given, "trafficType": ["x"]}, {}) == Usage(5, 2)
