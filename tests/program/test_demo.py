"""The script of the demo's model."""

from __future__ import annotations

import asyncio

import pytest

from agentcli.core.message import Status, ToolResult
from agentcli.core.model import RequestMessage
from agentcli.program.demo import TASK, model
from agentcli.providers.catalog import spec
from tests.providers.hearing import hear, request


def replies(edited: Status) -> str:
    """The demo's replies to its task, the edit answered with this status."""
    demo = model(spec("demo"))
    turns: list[RequestMessage | str] = [TASK]
    texts = []
    for _ in range(7):
        heard = asyncio.run(hear(demo, request(demo.spec, *turns)))
        texts.append(heard.text)
        turns = [
            TASK,
            RequestMessage(
                "user",
                tuple(
                    ToolResult(call.call_id, call.name, edited if call.name == "edit" else "success", "")
                    for call in heard.calls
                ),
            ),
        ]
    return "\n".join(texts)


@pytest.mark.full
def test_the_demo_says_that_the_tests_pass_only_where_the_edit_was_made() -> None:
    assert "They pass." in replies("success")
    refused = replies("denied")
    assert "You said no, so the bug stays." in refused
    assert "pass" not in refused.partition("You said no")[2]
