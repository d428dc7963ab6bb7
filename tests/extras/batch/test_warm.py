"""Agents that are forked, many at once and from servers that are killed."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections import Counter
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from agentcli.core.errors import AgentError
from agentcli.extras.batch import warm
from agentcli.extras.batch.agent_process import Streams
from agentcli.extras.batch.warm import WarmServer


def children() -> list[int]:
    """The fork servers that this process has started."""
    tasks = Path(f"/proc/{os.getpid()}/task").glob("*/children")
    return [pid for task in tasks for pid in map(int, task.read_text().split()) if b"fork_server" in command(pid)]


def command(pid: int) -> bytes:
    """The command line of a process."""
    return Path(f"/proc/{pid}/cmdline").read_bytes()


def streams(folder: Path, name: str, stack: ExitStack) -> Streams:
    """Files for an agent."""
    (folder / f"{name}.in").touch()
    given = stack.enter_context((folder / f"{name}.in").open("rb"))
    out, err = (stack.enter_context((folder / f"{name}.{kind}").open("ab")) for kind in ("out", "err"))
    return given, out, err


async def run(server: WarmServer, folder: Path, name: str, *arguments: str) -> int | None:
    """Run an agent; its exit code."""
    with ExitStack() as stack:
        agent = await server.start(arguments, folder, os.environ, streams(folder, name, stack))
        return await agent.wait()


async def many(folder: Path, count: int) -> Counter[int | None]:
    """The exit codes of so many agents, all at once."""
    with closing(WarmServer([])) as server:
        return Counter(await asyncio.gather(*(run(server, folder, f"{n}", "--version") for n in range(count))))


def test_agents_that_end_while_others_are_started_keep_their_exit_codes(tmp_path: Path) -> None:
    assert asyncio.run(many(tmp_path, 60)) == {0: 60}


@pytest.mark.slow
def test_none_of_thousands_of_agents_gets_the_exit_code_of_nobody(tmp_path: Path) -> None:
    for _ in range(10):
        assert asyncio.run(many(tmp_path, 200)) == {0: 200}


@pytest.mark.skipif(sys.platform != "linux", reason="finds processes in /proc")
def test_another_server_is_started_for_one_that_was_killed_even_during_its_imports(tmp_path: Path) -> None:
    async def session() -> list[int | None]:
        with closing(WarmServer([])) as server:
            asked = asyncio.create_task(run(server, tmp_path, "0", "--version"))
            while not children():  # noqa: ASYNC110 - the operating system sets no event
                await asyncio.sleep(0)
            os.kill(children()[0], signal.SIGKILL)
            codes = [await asked]
            [living] = children()
            os.kill(living, signal.SIGKILL)
            codes.append(await run(server, tmp_path, "1", "--nonsense"))
            return codes

    assert asyncio.run(session()) == [0, 2]
    assert (tmp_path / "0.out").read_text().startswith("agentcli ")


@pytest.mark.full
def test_a_server_that_cannot_start_is_given_up_with_its_reason(tmp_path: Path) -> None:
    async def session() -> None:
        with closing(WarmServer(["no-such-kind"])) as server:
            await run(server, tmp_path, "0", "--version")

    with pytest.raises(AgentError, match=r"No agent could be forked: KeyError: 'no-such-kind'. Run the batch without"):
        asyncio.run(session())
    assert warm.STARTS > 1
