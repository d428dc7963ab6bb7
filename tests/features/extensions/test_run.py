"""State of extensions is part of the session, and a changed file is loaded again."""

from __future__ import annotations

import asyncio
import gc
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import agentcli
from agentcli.core.record import Undo
from agentcli.features.extensions.loading import PREFIX
from agentcli.features.extensions.run import run_of
from agentcli.frontends.opening import program_of
from agentcli.program.options import Options
from tests.features.extensions.running import play, write
from tests.frontends.python.embedded import calls, environment, options, workspace

COUNT = '''
import os

@tool
def count(ctx: Context) -> str:
    """Count."""
    ctx.state["n"] = ctx.state.get("n", 0) + 1
    return str(ctx.state["n"])

@on("prompt")
def die(prompt):
    if prompt.text == "die":
        os.kill(os.getpid(), 9)
'''


def counted(tmp_path: Path, **more: Any) -> tuple[str, str]:
    """Count once; return what the tool said, and the session's id."""
    events = play(tmp_path, calls("count"), "Done.", **more)
    said = [event.output for event in events if isinstance(event, agentcli.ToolResultEvent)]
    return said[-1], events[-1].session_id


def test_state_survives_a_resume_and_a_fork_has_its_own(tmp_path: Path) -> None:
    write(tmp_path, COUNT)
    first, session = counted(tmp_path)
    second, _ = counted(tmp_path, resume=session)
    third, other = counted(tmp_path, resume=session, fork=True)
    assert (first, second, third, other != session) == ("1", "2", "3", True)
    assert counted(tmp_path, resume=session)[0] == "3"
    assert counted(tmp_path, resume=other)[0] == "4"


def test_state_follows_a_rewind(tmp_path: Path) -> None:
    write(tmp_path, COUNT)
    _, session = counted(tmp_path)
    program = program_of(Options(cwd=str(workspace(tmp_path)), model="script:echo"), environment(tmp_path))
    stored = program.store.open(*(lambda info: (info.project_id, info.id))(program.store.find(session)))
    before = stored.history.last_seq
    stored.close()
    counted(tmp_path, resume=session)
    stored = program.store.open(*(lambda info: (info.project_id, info.id))(program.store.find(session)))
    stored.append(Undo(before, "rewind"))
    stored.close()
    assert counted(tmp_path, resume=session)[0] == "2"


def test_state_survives_a_process_that_is_killed(tmp_path: Path) -> None:
    write(tmp_path, COUNT)
    _, session = counted(tmp_path)
    command = [sys.executable, "-m", "agentcli", "resume", session, "-p", "die", "-m", "script:echo"]
    done = subprocess.run(command, env=environment(tmp_path), cwd=workspace(tmp_path), capture_output=True)
    assert done.returncode == -signal.SIGKILL
    assert counted(tmp_path, resume=session)[0] == "2"


def test_a_changed_file_is_loaded_again_between_two_turns_and_keeps_its_state(tmp_path: Path) -> None:
    write(tmp_path, COUNT)

    async def two_turns() -> list[str]:
        said = []
        async with agentcli.Session(**options(tmp_path, calls("count"), "Done.", calls("count"), "Done.")) as session:
            for _ in range(2):
                said += [e.output async for e in session.say("Go.") if isinstance(e, agentcli.ToolResultEvent)]
                write(tmp_path, COUNT.replace('str(ctx.state["n"])', "f\"changed {ctx.state['n']}\""))
        return said

    assert asyncio.run(two_turns()) == ["1", "changed 2"]


@pytest.mark.parametrize("times", [40, pytest.param(200, marks=pytest.mark.full)])
def test_reloads_leave_nothing_behind(tmp_path: Path, times: int) -> None:
    for number in range(5):
        write(tmp_path, COUNT.replace("count", f"count{number}"), f"mine{number}")
    program = program_of(Options(cwd=str(workspace(tmp_path)), model="script:echo"), environment(tmp_path))
    run = run_of(program)

    def state() -> tuple[int, int, int]:
        gc.collect()
        own = [name for name in sys.modules if name.startswith(PREFIX)]
        return len(gc.get_objects()), threading.active_count(), len(own)

    for _ in range(20):
        run.refresh(force=True)
        run.commands()
    objects, threads, modules = state()
    for _ in range(times):
        run.refresh(force=True)
        run.commands()
    now = state()
    assert now[1] <= threads
    assert now[2] == modules
    assert now[0] < objects + 5 * times
    assert [one.name for one in run.active()] == [f"mine{number}" for number in range(5)]
