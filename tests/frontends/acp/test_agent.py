"""The agent's side of the protocol: one method for each request of a client."""

from __future__ import annotations

from pathlib import Path

import pytest
from acp import RequestError

from agentcli.frontends.acp.agent import PAGE, SESSIONS
from tests.frontends.acp.editor import editing, in_loop


@in_loop
async def test_there_is_a_limit_to_open_sessions(tmp_path: Path) -> None:
    assert SESSIONS == 20
    async with editing(tmp_path, {"text": "ok"}, most=1) as editor:
        await editor.new()
        with pytest.raises(RequestError, match="close one first"):
            await editor.new()


@pytest.mark.slow
@in_loop
async def test_a_list_has_pages(tmp_path: Path) -> None:
    async with editing(tmp_path, {"text": "ok"}) as editor:
        for _ in range(PAGE + 2):
            session = await editor.new()
            await editor.say(session, "hi")
            await editor.connection.close_session(session_id=session)
        first = await editor.connection.list_sessions(cwd=str(editor.work))
        rest = await editor.connection.list_sessions(cwd=str(editor.work), cursor=first.next_cursor)
        assert (len(first.sessions), len(rest.sessions), rest.next_cursor) == (PAGE, 2, None)
        assert not {each.session_id for each in first.sessions} & {each.session_id for each in rest.sessions}
