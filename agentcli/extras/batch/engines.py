"""Engines: starts of tasks on an executor of `concurrent.futures` or on Ray; only the driver writes the ledger."""

from __future__ import annotations

import asyncio
import importlib
import os
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import BrokenExecutor, Executor, Future
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from agentcli.core.errors import AgentError, ConfigError, UsageError
from agentcli.core.tasks import start_task
from agentcli.extras.batch import trees
from agentcli.extras.batch.agent_process import STOP_SECONDS
from agentcli.extras.batch.attempt import Write
from agentcli.extras.batch.ledger import Row
from agentcli.extras.batch.ray_engine import RayEngine
from agentcli.extras.batch.remote import STOPPING, call_of, outcome, run_one
from agentcli.extras.batch.work import SESSION, Work, session_cost
from agentcli.sessions.store import Store

PATIENCE = 4 * STOP_SECONDS
"""Seconds that a start elsewhere may take to stop; then it counts as lost."""


class Engine(Protocol):
    """A place that runs `run_one`."""

    def submit(self, work: Work) -> Future[Mapping[str, Any]]:
        """Start it; return the future of its result."""
        ...

    def stop(self, work: Work, future: Future[Mapping[str, Any]]) -> None:
        """Request its stop."""
        ...

    def slots(self) -> int:
        """Return the number of concurrent starts, including those waiting in the engine."""
        ...

    def gone(self) -> str:
        """Return why nothing runs there any more; empty while it works."""
        ...

    def close(self) -> None:
        """Release all resources."""
        ...


class ExecutorEngine:
    """An executor from a user's function; a broken one is replaced."""

    def __init__(self, make: Callable[[], Executor], slots: int) -> None:
        self._make, self._slots = make, slots
        self._executor = make()

    def submit(self, work: Work) -> Future[Mapping[str, Any]]:
        """Submit it to the executor."""
        try:
            return self._executor.submit(run_one, *call_of(work))
        except BrokenExecutor:
            self._executor.shutdown(wait=False)
            self._executor = self._make()
            return self._executor.submit(run_one, *call_of(work))

    def stop(self, work: Work, future: Future[Mapping[str, Any]]) -> None:
        """Cancel it if it has not begun; else request its stop by a file in the batch's folder."""
        if not future.cancel():
            flag = work.out / STOPPING / work.token
            flag.parent.mkdir(parents=True, exist_ok=True)
            flag.touch()

    def slots(self) -> int:
        """Return the number of workers in the plan."""
        return self._slots

    def gone(self) -> str:
        """Return the empty string: a broken executor is replaced."""
        return ""

    def close(self) -> None:
        """Shut the executor down; starts that have not begun are cancelled."""
        self._executor.shutdown(wait=False, cancel_futures=True)


class EngineAttempt:
    """Attempt that runs starts on an engine and stores their outcome."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def __call__(self, work: Work, interrupt: asyncio.Event, write: Write) -> Row:
        """Run one start; return its last row. If its worker died too often for the engine, the start is lost."""
        work.folder.mkdir(parents=True, exist_ok=True)
        row, former = work.first_row, work.start.goes_on
        if former is not None:
            row = replace(row, session=former.newest.session, worktree=former.newest.worktree)
        write(row)
        future = await asyncio.to_thread(self._engine.submit, work)
        waiting = asyncio.wrap_future(future)
        stop = start_task(interrupt.wait())
        await asyncio.wait((waiting, stop), return_when=asyncio.FIRST_COMPLETED)
        stop.cancel()
        if not waiting.done():
            self._engine.stop(work, future)
            await asyncio.wait((waiting,), timeout=PATIENCE)
        if waiting.cancelled() or not waiting.done():
            waiting.cancel()
            return write(replace(row, state="stopped", why="It was stopped."))
        error, gone = waiting.exception(), self._engine.gone()
        if error and gone:
            # For a worker on this machine, the stored session has the cost.
            total = await asyncio.to_thread(session_cost, work.dirs, row.session)
            cost = max(0.0, (total or 0.0) - work.accounted(row.session))
            return write(replace(row, state="stopped", why=gone, cost=cost))
        if error:
            why = f"Its worker was lost: {type(error).__name__}: {str(error)[:300]}"
            return write(replace(row, state="lost", why=why, tries=row.tries + 1))
        row = await asyncio.to_thread(taken, work, waiting.result())
        if row.state == "stopped" and not interrupt.is_set():
            row = replace(row, state="lost", why="It was stopped, and not by this batch.", tries=row.tries + 1)
        return write(row)


def taken(work: Work, raw: Mapping[str, Any]) -> Row:
    """Store the outcome of a start: its files, its commit, its session; return the row."""
    found = outcome(raw)
    for name, data in (found.files or {}).items():
        (work.folder / Path(name).name).write_bytes(data)
    if found.session:
        try:
            Store(work.dirs.sessions).find(found.row.session)
        except AgentError:
            (work.folder / SESSION).write_bytes(found.session)
    try:
        trees.take_bundle(work.dirs.cache, work.repo, work.ref, found.row.commit, found.bundle)
    except AgentError as error:
        return replace(found.row, state="failed", why=f"Can't take over its commit: {error}")
    return found.row


def engine_named(name: str, options: Mapping[str, Any]) -> Engine:
    """Return the engine `ray`, or the engine of a `module:function`, which gets the options and returns an executor.

    Raise UsageError or ConfigError if there is none.
    """
    if name == "ray":
        return RayEngine(options)
    module, colon, function = name.partition(":")
    if not colon or not module or not function:
        raise UsageError(f"--engine takes local, ray or MODULE:FUNCTION, not {name!r}.")
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    try:
        make = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"Can't load the engine {name}: {error}.") from error

    def made() -> Executor:
        executor = make(options)
        if not isinstance(executor, Executor):
            raise ConfigError(f"{name} returned {type(executor).__name__}, not an Executor of concurrent.futures.")
        return executor

    return ExecutorEngine(made, int(options["workers"]))
