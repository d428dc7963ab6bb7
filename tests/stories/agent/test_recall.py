"""The result of a call can be recalled in the session where it was made, also when that part was rewound."""

from __future__ import annotations

import asyncio
from pathlib import Path

from agentcli.agent.ports import Prompt
from agentcli.agent.session import AgentSession
from agentcli.providers.scripted.model import call, say
from tests.agent.open_session import open_session, results


def test_what_was_rewound_can_still_be_recalled(tmp_path: Path) -> None:
    (tmp_path / "f.txt").write_text("a line of its own\n")
    script = [
        say("Reading.", call("read", "first", file_path="f.txt")),
        say("Read."),
        say("Again.", call("recall", "second", id="first")),
        say("Seen."),
    ]
    session = open_session(tmp_path, script)

    async def ctx() -> None:
        await send(session, "Read it.")
        session.undo_stack.rewind(next(entry.seq for entry in session.history.entries))
        assert not results(session)
        await send(session, "What was in it?")

    asyncio.run(ctx())
    [found] = results(session)
    assert "a line of its own" in found.output
    assert found.status == "success"


async def send(session: AgentSession, text: str) -> None:
    async for _ in session.turn(Prompt(text), asyncio.Event()):
        pass
