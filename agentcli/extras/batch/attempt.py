"""One start of a task: its tree, its set-up, the agent's process, the check, the commit."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from agentcli.core.errors import HANGUP, INTERRUPTED, TERMINATED, AgentError
from agentcli.core.tool import Boxed
from agentcli.extras.batch import mirrors, trees
from agentcli.extras.batch.agent_process import Ending, StartAgent, run_agent, start_process
from agentcli.extras.batch.ledger import Row, State
from agentcli.extras.batch.work import Work, session_cost, session_spent
from agentcli.frontends.opening import program_of
from agentcli.permissions.denied.files import existing
from agentcli.permissions.rules import parse_rules
from agentcli.program.config.general import General
from agentcli.program.options import Options
from agentcli.system import probe
from agentcli.system.bounded import SECONDS, Bounded, run_bounded
from agentcli.system.git import GitError
from agentcli.system.process import Command
from agentcli.system.programs import environment

TEXT_CHARACTERS = 2_000
"""Number of characters of an answer that the ledger keeps."""
RESULT = "result.json"
"""File with the last row of a start, in its folder."""
SET_UP = 3_600.0
"""Seconds that a set-up may take: it may download and build."""
STOPPED = 124
"""Exit code of a check that had to be stopped, as with `timeout`."""
_ENDINGS: dict[int, State] = {0: "passed", 53: "limited", 75: "waiting", 41: "held", 52: "held", 55: "held"}
"""States by the agent's exit code; any other code means `failed`."""
_WRONG_TASK = (2, 42)

Write = Callable[[Row], Row]
"""Records a row in the ledger."""


async def run_attempt(work: Work, interrupt: asyncio.Event, write: Write, start: StartAgent = start_process) -> Row:
    """Run a start to its end; return the last row.

    `write` records a row in the ledger before `start` starts the agent.
    """
    began = time.monotonic()
    newest = work.first_row

    def noted(row: Row) -> Row:
        nonlocal newest
        newest = write(row)
        return newest

    try:
        work.folder.mkdir(parents=True, exist_ok=True)
        last = await _run(work, newest, interrupt, noted, start)
    except (AgentError, OSError) as error:
        state: State = "held" if is_full(str(error)) else "error"
        last = replace(newest, state=state, why=str(error), tries=newest.tries + (state == "error"))
        last = replace(last, cost=_spent(work, last)[0])
    last = replace(last, seconds=round(time.monotonic() - began, 1))
    with contextlib.suppress(OSError):
        (work.folder / RESULT).write_text(json.dumps(asdict(last)) + "\n")
    last = write(last)
    # Only now: after a crash, a driver that continues this start needs the tree until a result is recorded.
    if work.plan.keeps(last.state):
        return last
    await asyncio.to_thread(trees.remove_tree, work.dirs.cache, work.repo, Path(last.worktree), work.plan.isolation)
    return last


async def _run(work: Work, row: Row, interrupt: asyncio.Event, write: Write, start: StartAgent) -> Row:
    await asyncio.to_thread(mirrors.fetched, work.dirs.cache, work.task.repo, work.base)
    former = await asyncio.to_thread(_former, work)
    if former is None:
        tree = await asyncio.to_thread(
            trees.make_tree, work.dirs.cache, work.repo, work.base, work.plan.isolation, work.tree.name
        )
        row = write(replace(row, worktree=str(tree)))
        if work.task.setup and (why := await _set_up(work, tree, interrupt)):
            stopped: State = "stopped" if interrupt.is_set() else "error"
            return replace(row, state=stopped, why=why, tries=row.tries + 1)
    else:
        row = write(replace(row, session=former.session, worktree=former.worktree))
    ending = await run_agent(work, row, interrupt, start)
    return await _finished(work, row, ending, interrupt)


def _former(work: Work) -> Row | None:
    """Return the row of the session to continue, if its tree still exists. It belongs to this start on a dead worker,
    or to an earlier start.
    """
    own = replace(work.first_row, worktree=str(work.tree))
    if probe.is_dir(work.tree):
        if session_cost(work.dirs, own.session) is not None:
            return own
        trees.remove_tree(work.dirs.cache, work.repo, work.tree, work.plan.isolation)
    state = work.start.goes_on
    row = state.newest if state else None
    return row if row is not None and row.worktree and probe.is_dir(Path(row.worktree)) else None


async def _set_up(work: Work, tree: Path, interrupt: asyncio.Event) -> str:
    """Run the set-up outside the sandbox; return why it failed, or an empty string."""
    folder = trees.workplace(work.repo, tree, work.plan.isolation)
    command = Command(["/bin/sh", "-c", work.task.setup], folder, dict(os.environ))
    ended = await run_bounded(command, interrupt, seconds=SET_UP)
    _keep(work, "setup.txt", ended)
    how = ended.trouble or f"ended with exit code {ended.exit_code}"
    return "" if ended.exit_code == 0 else f"The set-up {how}; see setup.txt."


def _keep(work: Work, name: str, ended: Bounded) -> None:
    """Save a command's output in the folder of its start, with a last line if it was stopped."""
    end = f"\n[It {ended.trouble}.]\n".encode() if ended.trouble else b""
    (work.folder / name).write_bytes(ended.output + end)


async def _finished(work: Work, row: Row, ending: Ending, interrupt: asyncio.Event) -> Row:
    """Commit and check the result of a finished agent; return its row."""
    code, result = ending.exit_code, ending.result
    # The session also contains the work of a killed agent.
    spent, usage = _spent(work, row, result)
    row = replace(row, cost=spent, usage=usage, turns=int(result.get("turns") or 0))
    row = replace(row, text=str(result.get("text") or "")[:TEXT_CHARACTERS])
    state, why = _judged(code, result, interrupt.is_set())
    row = replace(row, state=state, why=why, over=code in _WRONG_TASK, exit=code)
    if state in ("stopped", "waiting", "held", "lost"):
        return replace(row, tries=row.tries + (state in ("lost", "waiting")))
    if not probe.is_dir(row.worktree):
        return replace(row, state="error", why="Its worktree was deleted while it ran.", tries=row.tries + 1)
    try:
        recorded = await asyncio.to_thread(_record, work, Path(row.worktree))
    except GitError as error:
        if is_full(str(error)):
            return replace(row, state="held", why=f"Can't commit its changes: {error}")
        return replace(row, state="failed", why=f"Can't commit its changes: {error}")
    row = replace(row, commit=recorded.commit, patch_lines=recorded.patch_lines)
    if state == "passed" and work.task.check:
        ended = await _check(work, Path(row.worktree), interrupt)
        checked = STOPPED if ended.exit_code is None else ended.exit_code
        if interrupt.is_set() and checked != 0:
            return replace(row, state="stopped", why="The check was interrupted.")
        row = replace(row, check=checked)
        if checked != 0:
            how = ended.trouble or f"ended with exit code {checked}"
            why = f"The check {how}; see check.txt."
            # Many test suites download something, and find no network in the sandbox.
            hint = " It runs in the sandbox: fetch what it needs from the network in the set-up."
            row = replace(row, state="failed", why=why + hint * (work.plan.boxed and not work.task.check_input))
    return row


def _spent(work: Work, row: Row, result: Mapping[str, Any] = MappingProxyType({})) -> tuple[float, Mapping[str, int]]:
    """Return a start's cost in USD and its tokens. Both come from its session's records, which include the work of a
    killed agent.
    """
    own = float(result.get("cost") or 0.0), result.get("usage") or {}
    total, usage = session_spent(work.dirs, row.session) or own
    return max(0.0, total - work.accounted(row.session)), usage


def is_full(why: str) -> bool:
    """Return True if the machine's disk is full. That is not the task's fault, and the next task would fail, too."""
    return any(os.strerror(code) in why for code in (errno.ENOSPC, errno.EDQUOT))


def _judged(code: int | None, result: Mapping[str, Any], stopped: bool) -> tuple[State, str]:
    """Return the state of an ending, and the reason. An unknown ending is never a failure."""
    why = str(result.get("error") or "")
    if stopped and code != 0:
        return "stopped", "It was stopped."
    if code in (HANGUP, INTERRUPTED, TERMINATED):
        return "lost", "The agent was terminated, and not by this batch."
    if not result or code is None or code < 0:
        how = f"exit code {code}" if code is not None else "nobody knows how"
        return "lost", f"The agent ended without a result ({how}); see stderr.txt."
    if "billing" in why or "quota" in why.lower() or is_full(why):
        return "held", why
    return _ENDINGS.get(code, "failed"), why


async def _check(work: Work, tree: Path, interrupt: asyncio.Event) -> Bounded:
    """Run the check in the sandbox without secrets, because it runs the agent's code, within limits of time and size.

    A check with input needs no files, and cannot read anything that the agent may not read.
    """
    argv: Sequence[str] = ["/bin/sh", "-c", work.task.check]
    folder = trees.workplace(work.repo, tree, work.plan.isolation)
    if work.plan.boxed:
        settings = (*work.plan.settings, "general.sandbox=require")
        program = program_of(Options(cwd=str(folder), settings=settings, trust="--trust" in work.plan.flags))
        policy = program.workspace_policy
        workspace = policy.workspace()
        denials = parse_rules((), (), work.task.deny, "flag").deny if work.task.check_input else ()
        hidden = existing([rule for rule in denials if rule.pattern], workspace)
        network = program.config[General].sandbox_network
        boxed = policy.sandbox.wrap(argv, workspace, network=network, hidden=hidden)
    else:
        boxed = Boxed(argv)
    env = environment(os.environ, work.task.env)
    command = Command(argv, folder, env, work.task.check_input).within(boxed)
    # As long as the agent has, if that is limited.
    seconds = SECONDS if work.task.max_time is None else work.task.max_time
    ended = await run_bounded(command, interrupt, seconds=seconds)
    _keep(work, "check.txt", ended)
    return ended


def _record(work: Work, tree: Path) -> trees.Result:
    title = work.task.prompt.strip().splitlines()[0][:60]
    message = f"{work.task.id}: {title}\n\nBatch {work.plan.name}, attempt {work.start.attempt}."
    patch = work.folder / "patch.diff"
    return trees.record(work.repo, tree, work.base, work.ref, message, patch, work.plan.isolation)
