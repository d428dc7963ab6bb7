"""Context of a slash command: the open session and the terminal's operations."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from agentcli.frontends.commands.base import Queued
from tests.frontends.terminal.contexts import ScriptedContext
from tests.frontends.terminal.slash import COMMANDS


def test_the_queue_is_edited_reordered_and_deleted() -> None:
    given = [Queued("now", True), Queued("one"), Queued("two")]

    def after(*answers: int, argument: str = "") -> ScriptedContext:
        ctx = ScriptedContext(*answers)
        ctx.queued = list(given)
        asyncio.run(COMMANDS.run(cast(Any, ctx), f"/queue {argument}".strip()))
        return ctx

    assert after(2, 1).queued == [given[0], given[2], given[1]]
    assert after(1, 2).queued == [given[0], given[2], given[1]]
    assert after(1, 1).queued == given  # what goes with the next result stays before the rest
    assert after(0, 3).queued == given[1:]
    assert after(2, 0).drafted == "two"
    assert after(argument="clear").output == ["Deleted 3 from the queue."]
    assert after(0, 3, 0, 3, 0, 3).output == ["Nothing is queued."]
