"""A turn that its reader leaves, at any event: nothing of it goes on, and the history is valid."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from agentcli.agent.ports import Prompt
from agentcli.agent.session import AgentSession
from agentcli.core.event import CallDelta, Event, TextDelta, ToolStarted, TurnEnded
from agentcli.providers.scripted.model import Reply, call, say
from tests.agent.open_session import messages, open_session, results
from tests.processes import fresh_mark, living


def opened(folder: Path, mark: str) -> AgentSession:
    """A session whose model says something, then runs a command without end between two that end."""
    calls = [call("bash", "first", command="echo one"), call("bash", "second", command=f"echo two; sleep {mark}")]
    said = say("I try it.", *calls, call("bash", "third", command="echo three"), thinking="Hm.")
    return open_session(folder, [said], mode="yolo")


async def left(session: AgentSession, event_number: int) -> Event:
    """Read a turn up to this event, and leave it; the event."""
    turn: Any = session.turn(Prompt("go"), asyncio.Event())
    event = await anext(turn)
    for _ in range(event_number):
        event = await anext(turn)
        if isinstance(event, TurnEnded):
            break
    await turn.aclose()
    return event


@pytest.mark.skipif(sys.platform != "linux", reason="finds processes in /proc")
def test_a_turn_that_is_closed_at_any_event_has_ended_with_its_commands_and_every_call_has_an_answer(
    tmp_path: Path,
) -> None:
    seen: set[type[Event]] = set()

    async def story(event_number: int) -> bool:
        mark = fresh_mark()
        session = opened(tmp_path, mark)
        async with asyncio.timeout(60):
            event = await left(session, event_number)
        seen.add(type(event))
        assert asyncio.all_tasks() == {asyncio.current_task()}, event
        assert living(mark) == []
        assert not session.history.open_calls
        if running := isinstance(event, ToolStarted) and event.call.call_id == "second":
            assert [result.status for result in results(session)] == ["success", "interrupted", "interrupted"]
        return running

    number = 0
    while not asyncio.run(story(number)):
        number += 1
    assert {TextDelta, CallDelta, ToolStarted} <= seen


def test_what_has_arrived_of_a_reply_is_kept_when_its_turn_is_closed(tmp_path: Path) -> None:
    session = open_session(tmp_path, [Reply(say("one two").parts, pieces=("one ", "two"))])

    async def story() -> None:
        turn: Any = session.turn(Prompt("go"), asyncio.Event())
        while not isinstance(await anext(turn), TextDelta):
            pass
        await turn.aclose()

    asyncio.run(story())
    assert [(message.role, message.text) for message in messages(session)] == [("user", "go"), ("assistant", "one ")]
