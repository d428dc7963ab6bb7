"""The agent of a start, played: how its session goes on, and what its end means."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import shutil
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from agentcli.core.message import Message, Text
from agentcli.extras.batch.agent_process import Agent, Streams, run_agent
from agentcli.extras.batch.attempt import run_attempt
from agentcli.extras.batch.ledger import Row
from agentcli.extras.batch.plan import Plan, Start
from agentcli.extras.batch.tasks import Task
from agentcli.extras.batch.work import Work
from agentcli.sessions.store import Store
from agentcli.system.paths import app_dirs
from tests.tables import each_row


class Ended:
    """An agent that has ended."""

    def __init__(self, code: int | None) -> None:
        self.code = code

    async def wait(self) -> int | None:
        return self.code

    def send_signal(self, number: int) -> None:
        raise ProcessLookupError


def work_in(folder: Path) -> Work:
    """A start of a task in a folder that is no repository."""
    task = Task("t", "do it", str(folder))
    dirs = app_dirs({"HOME": str(folder)})
    work = Work(Start(task), "token-0001", Plan("b", isolation="none"), "", folder / "out", dirs)
    work.folder.mkdir(parents=True)
    return work


def test_a_session_that_a_dying_agent_made_meanwhile_goes_on(tmp_path: Path) -> None:
    work = work_in(tmp_path)
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

    assert asyncio.run(run_agent(work, row, asyncio.Event(), start)).exit_code == 0
    assert begun == [["-p", "-", "--session-id", row.session], ["resume", row.session, "-p", "-"]]


@each_row(
    ("status", "result", "state"),
    [
        (None, 0, "passed"),
        (255, 0, "passed"),
        (-9, 0, "passed"),
        (None, 1, "failed"),
        (None, 143, "lost"),
        (255, 143, "lost"),
        (None, None, "lost"),
        (255, None, "lost"),
        (0, None, "lost"),
    ],
)
def test_a_result_on_the_disk_outranks_an_exit_status_and_what_is_unknown_is_never_failed(
    tmp_path: Path, status: int | None, result: int | None, state: str
) -> None:
    async def start(arguments: Sequence[str], cwd: Path, env: Mapping[str, str], streams: Streams) -> Agent:
        if result is not None:
            streams[1].write(json.dumps({"type": "result", "exit_code": result, "text": "Done."}).encode() + b"\n")
            streams[1].flush()
        return Ended(status)

    row = asyncio.run(run_attempt(work_in(tmp_path), asyncio.Event(), lambda row: row, start))
    assert row.state == state


def test_the_result_of_a_former_agent_is_not_that_of_one_that_wrote_none(tmp_path: Path) -> None:
    work = work_in(tmp_path)
    (work.folder / "events.jsonl").write_text(json.dumps({"type": "result", "exit_code": 1}) + "\n")

    async def start(arguments: Sequence[str], cwd: Path, env: Mapping[str, str], streams: Streams) -> Agent:
        return Ended(-9)

    row = asyncio.run(run_attempt(work, asyncio.Event(), lambda row: row, start))
    assert row.state == "lost"


def said(code: int, text: str = "Done.") -> Callable[..., Awaitable[Agent]]:
    """An agent that ends with this code and result at once."""

    async def start(arguments: Sequence[str], cwd: Path, env: Mapping[str, str], streams: Streams) -> Agent:
        streams[1].write(json.dumps({"type": "result", "exit_code": code, "text": text}).encode() + b"\n")
        streams[1].flush()
        return Ended(code)

    return start


def attempted(work: Work, start: Callable[..., Awaitable[Agent]]) -> Row:
    return asyncio.run(run_attempt(work, asyncio.Event(), lambda row: row, start))


def test_a_worktree_that_was_deleted_meanwhile_is_no_failure_of_the_task(tmp_path: Path) -> None:
    work = work_in(tmp_path)
    (repo := tmp_path / "repo").mkdir()
    work = replace(work, start=Start(Task("t", "do it", str(repo))), plan=Plan("b", isolation="copy"))

    async def start(arguments: Sequence[str], cwd: Path, env: Mapping[str, str], streams: Streams) -> Agent:
        shutil.rmtree(work.tree)
        return await said(0)(arguments, cwd, env, streams)

    row = attempted(work, start)
    assert (row.state, row.tries, row.why) == ("error", 1, "Its worktree was deleted while it ran.")


def test_a_full_disk_holds_the_batch_and_keeps_the_cost_of_its_session(tmp_path: Path) -> None:
    work = work_in(tmp_path)

    async def start(arguments: Sequence[str], cwd: Path, env: Mapping[str, str], streams: Streams) -> Agent:
        session = Store(work.dirs.sessions).create(tmp_path, session_id=work.first_row.session)
        session.append(Message("user", (Text("do it"),), 1))
        session.append(Message("assistant", (Text("Done."),), 1, cost=0.07))
        session.close()
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "out")

    row = attempted(work, start)
    assert (row.state, row.cost, row.tries) == ("held", 0.07, 0)
    assert "No space left on device" in row.why
