"""The agent of a start, played, and how its session goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from agentcli.batch.agent_process import Streams, run_agent
from agentcli.batch.plan import Plan, Start
from agentcli.batch.tasks import Task
from agentcli.batch.work import Work
from agentcli.core.message import Message, Text
from agentcli.paths import app_dirs
from agentcli.sessions.store import Store


class Ended:
    """An agent that has ended."""

    def __init__(self, code: int) -> None:
        self.code = code

    async def wait(self) -> int:
        return self.code

    def send_signal(self, number: int) -> None:
        raise ProcessLookupError


def test_a_session_that_a_dying_agent_made_meanwhile_goes_on(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    task = Task("t", "do it", str(tmp_path))
    work = Work(
        Start(task), "token-0001", Plan("b", isolation="none"), "", tmp_path / "out", app_dirs({"HOME": str(tmp_path)})
    )
    work.folder.mkdir(parents=True)
    row = replace(work.first_row, worktree=str(tmp_path))
    begun: list[list[str]] = []

    async def start(arguments: Sequence[str], cwd: Path, env: Mapping[str, str], streams: Streams) -> Ended:
        begun.append([*arguments[:4]])
        if len(begun) > 1:
            return Ended(0)
        session = Store(work.dirs.sessions).create(tmp_path, session_id=row.session)
        session.append(Message("user", (Text("do it"),), 1))
        session.close()
        return Ended(42)

    assert asyncio.run(run_agent(work, row, asyncio.Event(), start)) == 0
    assert begun == [["-p", "-", "--session-id", row.session], ["resume", row.session, "-p", "-"]]
