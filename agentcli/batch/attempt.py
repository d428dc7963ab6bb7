"""One start of a task: its tree, its set-up, the agent in a process of its own, the check, the commit."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from agentcli.app.options import Options
from agentcli.app.program import Program
from agentcli.batch import trees
from agentcli.batch.ledger import Row, State
from agentcli.batch.plan import Plan, Start
from agentcli.batch.tasks import Task
from agentcli.core.dataclass import dataclass
from agentcli.core.errors import AgentError, InputError
from agentcli.paths import AppDirs
from agentcli.sessions.store import Store
from agentcli.tools.lib.process import Command, run_until

STOP_SECONDS = 10.0
"""Seconds between SIGTERM and SIGKILL for an agent that is stopped."""
TEXT_CHARACTERS = 2_000
"""Characters of an answer that the ledger keeps."""
GO_ON = "You were interrupted. Go on where you stopped; look first at what is done already."
"""The prompt of a session that goes on."""
_ENDINGS: dict[int, State] = {0: "passed", 53: "limited", 75: "waiting", 41: "held", 52: "held", 55: "held"}
"""States by exit codes of the agent; every other one means `failed`."""
_WRONG_TASK = (2, 42)
_DEATH_SIGNAL = 1
"""`PR_SET_PDEATHSIG` of prctl(2)."""


@dataclass(frozen=True, slots=True)
class Work:
    """All that one start needs. `limit` is what it may spend, in USD; `base` the commit that it begins with."""

    start: Start
    token: str
    plan: Plan
    base: str
    out: Path
    dirs: AppDirs
    limit: float | None = None

    @property
    def task(self) -> Task:
        """The task."""
        return self.start.task

    @property
    def folder(self) -> Path:
        """The folder of its files."""
        return self.out / "tasks" / self.task.id / f"{self.start.attempt}-{self.token}"

    @property
    def ref(self) -> str:
        """The ref of its result."""
        return f"{trees.REFS}/{self.plan.name}/{self.task.id}/{self.start.attempt}"


async def run_attempt(work: Work, interrupt: asyncio.Event, write: Callable[[Row], Row]) -> Row:
    """Run a start to its end, whatever that is; the last row. `write` notes a row in the ledger before the agent is started."""
    began = time.monotonic()
    work.folder.mkdir(parents=True, exist_ok=True)
    row = Row(work.task.id, work.start.attempt, work.token, "running", tries=work.start.tries)
    try:
        former = _former(work)
        if former is None:
            session = f"{work.plan.name}-{work.token}"
            tree = await asyncio.to_thread(_make, work)
            row = write(replace(row, session=session, worktree=str(tree)))
            if work.task.setup and (why := await _set_up(work, tree, interrupt)):
                return write(
                    _ended(row, "stopped" if interrupt.is_set() else "error", began, why=why, tries=row.tries + 1)
                )
        else:
            row = write(replace(row, session=former.session, worktree=former.worktree))
        code = await _agent(work, row, former is not None, interrupt)
        last = await _finished(work, row, code, interrupt)
    except (AgentError, OSError) as error:
        last = replace(row, state="error", why=str(error), tries=row.tries + 1)
    return write(_ended(last, last.state, began))


def _former(work: Work) -> Row | None:
    """The row whose session goes on, where its tree is still there."""
    state = work.start.goes_on
    row = state.newest if state else None
    return row if row is not None and row.worktree and Path(row.worktree).is_dir() else None


def _make(work: Work) -> Path:
    name = f"{work.plan.name}-{work.task.id[:40]}-{work.token}"
    return trees.make_tree(work.dirs.cache, work.task.repo, work.base, work.plan.isolation, name)


async def _set_up(work: Work, tree: Path, interrupt: asyncio.Event) -> str:
    """Run the set-up, outside the sandbox; the reason why it failed, empty where it did not."""
    with (work.folder / "setup.txt").open("wb") as file:
        folder = trees.workplace(work.task.repo, tree, work.plan.isolation)
        command = Command(["/bin/sh", "-c", work.task.setup], folder, dict(os.environ))
        ended = await run_until(interrupt, command, _FileSink(file), None)
    return "" if ended.exit_code == 0 else f"The set-up ended with exit code {ended.exit_code}; see setup.txt."


async def _agent(work: Work, row: Row, resumed: bool, interrupt: asyncio.Event) -> int:
    """Run the agent; its exit code, negative for a signal."""
    known = resumed and _session_cost(work, row.session) is not None
    prompt = GO_ON if known else work.task.prompt
    (work.folder / "prompt.txt").write_text(prompt, encoding="utf-8")
    command = [sys.executable, "-m", "agentcli", *_arguments(work, row.session, known)]
    with (
        (work.folder / "prompt.txt").open("rb") as given,
        (work.folder / "events.jsonl").open("wb") as events,
        (work.folder / "stderr.txt").open("wb") as errors,
    ):
        process = await asyncio.create_subprocess_exec(
            *command,
            cwd=trees.workplace(work.task.repo, Path(row.worktree), work.plan.isolation),
            env=_environment(work.task),
            stdin=given,
            stdout=events,
            stderr=errors,
            start_new_session=True,
            preexec_fn=_dies_with_parent(),
        )
    waiting = asyncio.create_task(process.wait())
    stop = asyncio.create_task(interrupt.wait())
    try:
        await asyncio.wait((waiting, stop), return_when=asyncio.FIRST_COMPLETED)
        for number in (signal.SIGTERM, signal.SIGKILL):
            if not waiting.done():
                with contextlib.suppress(ProcessLookupError):
                    process.send_signal(number)
                await asyncio.wait((waiting,), timeout=STOP_SECONDS)
        return await waiting
    finally:
        stop.cancel()


def _arguments(work: Work, session: str, known: bool) -> Sequence[str]:
    task, plan = work.task, work.plan
    begin = ["resume", session, "-p", "-"] if known else ["-p", "-", "--session-id", session]
    limits = {
        "--model": task.model,
        "--max-cost": work.limit,
        "--max-time": task.max_time,
        "--max-turns": task.max_turns,
    }
    given = [word for name, value in limits.items() if value not in (None, "") for word in (name, str(value))]
    rules = [word for name in ("allow", "deny") for rule in getattr(task, name) for word in (f"--{name}", rule)]
    boxed = ["--set", "general.sandbox=require"] if plan.boxed and plan.isolation != "none" else []
    seen = ["--set", f"tools.bash_secrets={json.dumps([*task.env])}"] if task.env else []
    fixed = ["-o", "stream-json", "--mode", plan.mode, "--set", "checkpoints.seconds=0", *boxed]
    return [*begin, *fixed, *seen, *given, *rules, *plan.flags]


def _environment(task: Task) -> dict[str, str]:
    """The environment of the agent: ours, with the variables that the task names."""
    missing = [name for name in task.env if name not in os.environ]
    if missing:
        raise InputError(f"{', '.join(missing)} is not set, and the task wants it passed on.")
    return dict(os.environ)


async def _finished(work: Work, row: Row, code: int, interrupt: asyncio.Event) -> Row:
    """The row of an agent that has ended: its result is committed and checked, and its tree removed where it need not be kept."""
    result = result_of(work.folder)
    before = work.start.goes_on.session_cost if _former(work) and work.start.goes_on else 0.0
    total = _session_cost(work, row.session)
    spent = max(0.0, (total if total is not None else float(result.get("cost") or 0.0)) - before)
    row = replace(row, cost=spent, text=str(result.get("text") or "")[:TEXT_CHARACTERS])
    state, why = _judged(code, result, interrupt.is_set())
    row = replace(row, state=state, why=why, over=code in _WRONG_TASK, exit=code)
    if state in ("stopped", "waiting", "held", "lost"):
        return replace(row, tries=row.tries + (state in ("lost", "waiting")))
    recorded = await asyncio.to_thread(_record, work, Path(row.worktree))
    row = replace(row, commit=recorded.commit, patch_lines=recorded.patch_lines)
    if state == "passed" and work.task.check:
        checked = await _check(work, Path(row.worktree), interrupt)
        if interrupt.is_set() and checked != 0:
            return replace(row, state="stopped", why="The check was interrupted.")
        row = replace(row, check=checked)
        if checked != 0:
            row = replace(row, state="failed", why=f"The check ended with exit code {checked}; see check.txt.")
    keep = work.plan.keep == "all" or (work.plan.keep == "failed" and row.state != "passed")
    if not keep:
        await asyncio.to_thread(
            trees.remove_tree, work.dirs.cache, work.task.repo, Path(row.worktree), work.plan.isolation
        )
    return row


def _judged(code: int, result: dict[str, Any], stopped: bool) -> tuple[State, str]:
    """The state that an ending means, and the reason."""
    why = str(result.get("error") or "")
    if stopped:
        return "stopped", "It was stopped."
    if not result or code < 0:
        return "lost", f"The agent ended without a result (exit code {code}); see stderr.txt."
    if "billing" in why or "quota" in why.lower():
        return "held", why
    return _ENDINGS.get(code, "failed"), why


async def _check(work: Work, tree: Path, interrupt: asyncio.Event) -> int | None:
    """Run the check in the sandbox, since it runs what the agent wrote; its exit code."""
    argv: Sequence[str] = ["/bin/sh", "-c", work.task.check]
    files: dict[int, bytes] = {}
    folder = trees.workplace(work.task.repo, tree, work.plan.isolation)
    if work.plan.boxed:
        program = Program(Options(cwd=str(folder)))
        policy = program.workspace_policy
        boxed = policy.sandbox.wrap(argv, policy.workspace(), network=program.config.general.sandbox_network)
        argv, files = boxed.argv, dict(boxed.files)
    with (work.folder / "check.txt").open("wb") as file:
        command = Command(argv, folder, dict(os.environ), files=files)
        ended = await run_until(interrupt, command, _FileSink(file), work.task.max_time)
    return ended.exit_code if ended.why == "exit" else 124


def _record(work: Work, tree: Path) -> trees.Result:
    title = work.task.prompt.strip().splitlines()[0][:60]
    message = f"{work.task.id}: {title}\n\nBatch {work.plan.name}, attempt {work.start.attempt}."
    patch = work.folder / "patch.diff"
    return trees.record(work.task.repo, tree, work.base, work.ref, message, patch, work.plan.isolation)


def result_of(folder: Path) -> dict[str, Any]:
    """The `result` that an agent wrote last; empty where it wrote none."""
    try:
        last = (folder / "events.jsonl").read_bytes().rstrip(b"\n").rpartition(b"\n")[2]
        found = json.loads(last)
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) and found.get("type") == "result" else {}


def _session_cost(work: Work, session: str) -> float | None:
    """All that a session has cost; None for one that is not stored."""
    try:
        return Store(work.dirs.sessions).find(session).cost or 0.0
    except AgentError:
        return None


def _ended(row: Row, state: State, began: float, **more: Any) -> Row:
    return replace(row, state=state, seconds=round(time.monotonic() - began, 1), **more)


def _dies_with_parent() -> Callable[[], object] | None:
    """Call for a child to make before it becomes the agent, so that it is terminated when its driver dies; on Linux alone."""
    if sys.platform != "linux":
        return None
    import ctypes

    prctl = ctypes.CDLL(None).prctl
    return lambda: prctl(_DEATH_SIGNAL, signal.SIGTERM)


class _FileSink:
    """Output into a file."""

    enough = 0

    def __init__(self, file: Any) -> None:
        self._file = file

    def add(self, piece: memoryview, skipped: int) -> None:
        """Write a piece."""
        self._file.write(piece)
