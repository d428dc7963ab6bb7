"""Approvals of the plain terminal."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from agentcli.agent.ports import ApprovalRequest
from agentcli.core.message import ToolCall
from agentcli.ui.plain.questions import PlainAsking
from agentcli.ui.style import PLAIN, Look

COMMAND = ApprovalRequest(ToolCall("c", "bash", {"command": "make"}), "$ make", "", "make", "command")


@pytest.mark.parametrize(
    ("rule", "offered"),
    [
        ("bash(make *)", "6 always, also with other arguments (bash(make *))"),
        ("mcp__time__*", "6 always, every tool of the server (mcp__time__*)"),
    ],
)
def test_a_wider_rule_is_offered_as_what_it_allows(rule: str, offered: str) -> None:
    asked: list[str] = []

    async def answer(question: str) -> str | None:
        asked.append(question)
        return None

    asking = PlainAsking(lambda *_: None, answer, lambda: None, lambda: Look(PLAIN))
    asyncio.run(asking.approve(replace(COMMAND, prefixes=(rule,))))
    assert offered in asked[0]
