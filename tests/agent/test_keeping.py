"""Of a reply that is arriving, what arrived last is saved too when the model falls silent."""

from __future__ import annotations

import asyncio

from agentcli.agent.draft import Draft
from agentcli.agent.keeping import Keeping
from agentcli.core.event import TextDelta
from agentcli.core.message import Part, Text, Usage
from agentcli.core.model import UsageSeen

EVERY = 0.05


def test_what_came_just_before_a_silence_is_saved_and_nothing_is_saved_of_nothing() -> None:
    saved: list[tuple[Part, ...]] = []

    async def arrive() -> None:
        keeping = Keeping(lambda parts: saved.append(tuple(parts)), EVERY)
        draft = Draft().add(UsageSeen(Usage(input=1)))
        keeping.keep(draft)
        assert saved == []
        for word in ("Once ", "upon ", "a ", "time"):
            draft = draft.add(TextDelta(word))
            keeping.keep(draft)
        assert saved == [(Text("Once "),)]
        await asyncio.sleep(4 * EVERY)

    asyncio.run(arrive())
    assert saved == [(Text("Once "),), (Text("Once upon a time"),)]


def test_once_the_reply_is_over_nothing_more_is_saved() -> None:
    saved: list[tuple[Part, ...]] = []

    async def arrive() -> None:
        keeping = Keeping(lambda parts: saved.append(tuple(parts)), EVERY)
        draft = Draft().add(TextDelta("a"))
        keeping.keep(draft)
        keeping.keep(draft.add(TextDelta("b")))
        keeping.stop()
        await asyncio.sleep(4 * EVERY)

    asyncio.run(arrive())
    assert saved == [(Text("a"),)]
