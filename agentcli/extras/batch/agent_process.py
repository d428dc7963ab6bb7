"""Process of one agent, which ends with the process that started it."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import json
import os
import shutil
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import InputError
from agentcli.core.tasks import start_task
from agentcli.extras.batch import trees
from agentcli.extras.batch.ledger import Row
from agentcli.extras.batch.tasks import Task
from agentcli.extras.batch.work import Work, folder_of, session_cost
from agentcli.frontends.headless.print_mode import LIFELINE
from agentcli.sessions.store import Store
from agentcli.system.programs import OWN_PROGRAM

STOP_SECONDS = 10.0
"""Seconds between SIGTERM and SIGKILL for an agent that is stopped."""
BUSY_SECONDS = 2 * STOP_SECONDS
"""Maximum seconds to wait until an agent closes its session after its driver or worker has died."""
GO_ON = "You were interrupted. Continue where you stopped; look first at what is done already."
"""Prompt of a continued session."""
EVENTS = "events.jsonl"
"""Name of the file with an agent's stream."""
_DEATH_SIGNAL = 1
"""`PR_SET_PDEATHSIG` of prctl(2)."""

Streams = tuple[BinaryIO, BinaryIO, BinaryIO]
"""Files for standard input, output and error."""


class Agent(Protocol):
    """A running agent."""

    async def wait(self) -> int | None:
        """Wait for its end; return the exit code, negative for a signal, None if it is unknown."""
        ...

    def send_signal(self, number: int) -> None:
        """Send it a signal."""
        ...


StartAgent = Callable[[Sequence[str], Path, Mapping[str, str], Streams], Awaitable[Agent]]
"""Starts an agent with these arguments, in this folder and environment, with these streams."""


@dataclass(frozen=True, slots=True)
class Ending:
    """End of an agent: its process's exit code, None if unknown, and its `result`, which may be empty."""

    status: int | None
    result: Mapping[str, Any]

    @property
    def exit_code(self) -> int | None:
        """Exit code according to the result, which takes precedence over the process's exit code.

        Negative for a signal.
        """
        named = self.result.get("exit_code")
        return named if isinstance(named, int) else self.status


async def run_agent(work: Work, row: Row, interrupt: asyncio.Event, start: StartAgent) -> Ending:
    """Run the agent, in the row's session if it exists, and return its end.

    If it ended well before its driver or worker died, it is not run again.
    """
    spent = await asyncio.to_thread(session_cost, work.dirs, row.session)
    if spent is not None:
        if _has_ended(work):
            return Ending(0, result_of(work.folder))
        await _until_closed(work, row.session, interrupt)
        spent = session_cost(work.dirs, row.session)
    ending = await _run(work, row, spent, interrupt, start)
    if (
        ending.exit_code == InputError.exit_code
        and spent is None
        and await asyncio.to_thread(session_cost, work.dirs, row.session) is not None
    ):
        # The agent of a dead driver created the session just before this one started.
        return await run_agent(work, row, interrupt, start)
    return ending


async def _run(work: Work, row: Row, spent: float | None, interrupt: asyncio.Event, start: StartAgent) -> Ending:
    """Start an agent and wait for its end. `spent` is the cost of its session so far, None for a new session."""
    prompt = GO_ON if spent is not None else work.task.prompt
    (work.folder / "prompt.txt").write_text(prompt, encoding="utf-8")
    cwd = trees.workplace(work.repo, Path(row.worktree), work.plan.isolation)
    with (
        (work.folder / "prompt.txt").open("rb") as given,
        (work.folder / EVENTS).open("ab") as events,
        (work.folder / "stderr.txt").open("ab") as errors,
    ):
        if events.tell():
            events.write(b"\n")
            events.flush()
        began = events.tell()
        arguments = _arguments(work, row.session, spent)
        agent = await start(arguments, cwd, _environment(work.task), (given, events, errors))
        status = await _ended(agent, interrupt)
    return Ending(status, result_of(work.folder, began))


async def start_process(arguments: Sequence[str], cwd: Path, env: Mapping[str, str], streams: Streams) -> Agent:
    """Start a process that ends with this one: by a signal on Linux, elsewhere by a pipe that it watches."""
    given, events, errors = streams
    watched, held = os.pipe()
    try:
        process = await asyncio.create_subprocess_exec(
            *(*OWN_PROGRAM, *arguments),
            cwd=cwd,
            env={**env, LIFELINE: str(watched)},
            stdin=given,
            stdout=events,
            stderr=errors,
            start_new_session=True,
            pass_fds=(watched,),
            preexec_fn=partial(die_with_parent, os.getpid()) if sys.platform == "linux" else None,
        )
    except BaseException:
        os.close(held)
        raise
    finally:
        os.close(watched)
    return _Process(process, held)


class _Process:
    """An agent in a separate process; `held` is our end of the pipe that it watches."""

    def __init__(self, process: asyncio.subprocess.Process, held: int) -> None:
        self._process, self._held = process, held
        self.send_signal = process.send_signal

    async def wait(self) -> int:
        """Wait for its end; return the exit code, negative for a signal."""
        try:
            return await self._process.wait()
        finally:
            os.close(self._held)


async def _ended(agent: Agent, interrupt: asyncio.Event) -> int | None:
    """Wait for an agent's end and return the exit code.

    If the event is set, terminate the agent; after a time limit, kill it.
    """
    waiting = start_task(agent.wait())
    stop = start_task(interrupt.wait())
    try:
        await asyncio.wait((waiting, stop), return_when=asyncio.FIRST_COMPLETED)
        for number in (signal.SIGTERM, signal.SIGKILL):
            if not waiting.done():
                with contextlib.suppress(ProcessLookupError):
                    agent.send_signal(number)
                await asyncio.wait((waiting,), timeout=STOP_SECONDS)
        return await waiting
    finally:
        stop.cancel()


def result_of(folder: Path, began: int = 0) -> dict[str, Any]:
    """Return the last `result` of an agent; empty if there is none. Its stream begins at byte `began` of the file."""
    try:
        last = (folder / EVENTS).read_bytes()[began:].rstrip(b"\n").rpartition(b"\n")[2]
        found = json.loads(last)
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) and found.get("type") == "result" else {}


def _has_ended(work: Work) -> bool:
    """Return True if the agent of this start, or of the start that it continues, ended well. Its stream is then in this
    start's folder.
    """
    if result_of(work.folder).get("exit_code") == 0:
        return True
    former = work.start.goes_on
    if former is None or former.state not in ("running", "stopped"):
        return False
    folder = folder_of(work.out, work.task.id, former.newest.attempt, former.newest.token)
    if result_of(folder).get("exit_code") != 0:
        return False
    shutil.copy(folder / EVENTS, work.folder / EVENTS)
    return True


async def _until_closed(work: Work, session: str, interrupt: asyncio.Event) -> None:
    """Wait, at most `BUSY_SECONDS`, until the agent of a dead driver or worker has closed its session."""
    store = Store(work.dirs.sessions)
    until = time.monotonic() + BUSY_SECONDS
    while store.is_open(store.find(session)) and time.monotonic() < until and not interrupt.is_set():
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(interrupt.wait(), 0.1)


def _arguments(work: Work, session: str, spent: float | None) -> Sequence[str]:
    """Return the agent's arguments. `spent` is the cost of its session so far in USD, None for a new session."""
    task, plan = work.task, work.plan
    begin = ["resume", session, "-p", "-"] if spent is not None else ["-p", "-", "--session-id", session]
    limit = work.limit
    if limit is not None and spent is not None:
        limit = max(0.0, limit - max(0.0, spent - work.accounted(session)))
    limits = {"--model": task.model, "--max-cost": limit, "--max-time": task.max_time, "--max-turns": task.max_turns}
    given = [word for name, value in limits.items() if value not in (None, "") for word in (name, str(value))]
    rules = [word for name in ("allow", "deny") for rule in getattr(task, name) for word in (f"--{name}", rule)]
    boxed = ["--set", "general.sandbox=require"] if plan.boxed and plan.isolation != "none" else []
    seen = ["--set", f"tools.bash_secrets={json.dumps([*task.env])}"] if task.env else []
    fixed = ["-o", "stream-json", "--mode", plan.mode, "--set", "checkpoints.seconds=0", *boxed]
    own = [word for setting in task.settings for word in ("--set", setting)]
    return [*begin, *fixed, *seen, *given, *rules, *plan.flags, *own, *_system_prompt(work)]


def _system_prompt(work: Work) -> Sequence[str]:
    """Write the task's own system prompt to a file; return the arguments with that file."""
    if not work.task.system_prompt:
        return ()
    path = work.folder / "system_prompt.txt"
    path.write_text(work.task.system_prompt, encoding="utf-8")
    return ("--system-prompt-file", str(path))


def _environment(task: Task) -> dict[str, str]:
    """Return the agent's environment: ours, with the task's variables."""
    missing = [name for name in task.env if name not in os.environ]
    if missing:
        raise InputError(f"{', '.join(missing)} is not set, but the task needs it.")
    return dict(os.environ)


def die_with_parent(parent: int) -> None:
    """Terminate this process when its parent dies, or now if it is dead already; only on Linux."""
    if sys.platform != "linux":
        return

    ctypes.CDLL(None).prctl(_DEATH_SIGNAL, signal.SIGTERM)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGTERM)
