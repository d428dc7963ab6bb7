"""Servers that are ended while a call waits: no process of theirs is left, and none is started again."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agentcli.core.errors import ToolError
from agentcli.core.mcp_servers import ServerAnswer
from agentcli.features.mcp.config import definition
from agentcli.features.mcp.servers import McpServers
from tests.features.mcp.running import fake, is_alive, pids, servers, settled, text, until, wait


async def called(made: McpServers, name: str) -> ServerAnswer:
    """The answer to a call of a tool by the server's own name."""
    return await made.call(next(tool for tool in made.tools() if tool.tool == name), {}, lambda _: None)


def test_a_call_that_waits_does_not_start_a_server_again_that_is_no_longer_defined(tmp_path: Path) -> None:
    async def removed() -> None:
        running = asyncio.create_task(called(made, "hang"))
        await until(lambda: "call hang" in (tmp_path / "fake.log").read_text())
        waiting = asyncio.create_task(called(made, "echo"))
        await asyncio.sleep(0)  # it has been sent on its way: calls are answered in order
        made.define([])
        for call in (running, waiting):
            with pytest.raises(ToolError):
                await call

    with servers(tmp_path, {"fake": fake()}) as made:
        settled(made)
        wait(removed())
        (pid,) = pids(tmp_path)
        wait(until(lambda: not is_alive(pid)))


@pytest.mark.parametrize("then", [{}, {"fake": fake("late")}])
def test_the_end_of_all_servers_waits_for_those_that_have_lost_their_name(
    tmp_path: Path, then: dict[str, dict[str, object]]
) -> None:
    with servers(tmp_path, {"fake": fake()}) as made:
        settled(made)
        (pid,) = pids(tmp_path)
        made.define([each for name, one in then.items() for each in definition(name, one, "test").servers.values()])
    assert not is_alive(pid)


def test_a_restart_that_is_interrupted_leaves_no_process(tmp_path: Path) -> None:
    async def interrupted() -> None:
        restarting = asyncio.create_task(called(made, "echo"))
        await until(lambda: len(pids(tmp_path)) == 2)
        restarting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await restarting

    go = tmp_path / "go"
    go.touch()
    with servers(tmp_path, {"fake": fake("late")}) as made:
        settled(made)
        with pytest.raises(ToolError, match="ended during the call"):
            wait(called(made, "die"))
        go.unlink()
        wait(interrupted())
        go.touch()
        assert text(wait(called(made, "echo"))) == "done"
        _, abandoned, last = pids(tmp_path)
        wait(until(lambda: not is_alive(abandoned)))
        assert is_alive(last)
