"""Driver of a batch: starts tasks while there are workers and money, and notes what becomes of each."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

from agentcli.batch import trees
from agentcli.batch.attempt import Work, run_attempt
from agentcli.batch.ledger import Ledger, Row, TaskState, fold, rows
from agentcli.batch.money import fits, limit_of
from agentcli.batch.plan import WAITS, Plan, Start, as_json, counted, next_start
from agentcli.batch.tasks import Task
from agentcli.core.errors import InputError, StoreError
from agentcli.paths import AppDirs, replace_file

POLL = 0.5
"""Seconds between two looks for a wish to stop."""
HOLD, LONGEST_HOLD = 30.0, 600.0
"""Seconds that the batch holds after a provider has refused for the time being: doubled each time, up to the longest."""
STOP = "stop"
"""The file in the batch's folder that asks to stop: the ids of tasks one a line, or nothing for all."""
CAP, QUOTA = 53, 75
"""Exit codes of a batch that ran into its cap, or into the end of a quota."""
HELD = (41, 52, 55)
"""Exit codes of an agent that mean the same for every other task: no key, wrong configuration, no trust."""

Attempt = Callable[[Work, asyncio.Event, Callable[[Row], Row]], Coroutine[Any, Any, Row]]
"""Runs one start of a task to its end."""


class Driver:
    """A batch that runs. `report` hears of every row; `attempt` runs one start; `hold` gives the seconds to hold after so many refusals in a row."""

    def __init__(
        self,
        plan: Plan,
        tasks: Sequence[Task],
        out: Path,
        dirs: AppDirs,
        report: Callable[[Row], object] = lambda _: None,
        attempt: Attempt = run_attempt,
        hold: Callable[[int], float] = lambda times: min(LONGEST_HOLD, HOLD * 2.0 ** (times - 1)),
    ) -> None:
        self.plan, self.tasks, self.out = plan, tasks, out
        self._dirs, self._report, self._attempt, self._hold_for = dirs, report, attempt, hold
        self._retried: set[str] = set()
        self._ledger = Ledger(out)
        self._rows: list[Row] = []
        self._running: dict[str, tuple[Work, asyncio.Task[Row], asyncio.Event]] = {}
        self._started: dict[str, float] = {}
        self._refusals, self._held_until = 0, 0.0
        self._stopped: int | None = None
        self._bases: Mapping[str, str] = {}

    @property
    def states(self) -> Mapping[str, TaskState]:
        """The state of each task that was ever started."""
        return fold(self._rows)

    @property
    def running(self) -> Sequence[Work]:
        """The starts at work."""
        return [work for work, _, _ in self._running.values()]

    @property
    def held(self) -> float:
        """Seconds for which the provider still holds the batch."""
        return max(0.0, self._held_until - time.monotonic())

    def seconds(self, work: Work) -> float:
        """Seconds since a start began."""
        return time.monotonic() - self._started[work.task.id]

    def stop(self, code: int) -> None:
        """Stop everything; the batch ends with this exit code."""
        self._stopped = self._stopped or code
        for _, _, interrupt in self._running.values():
            interrupt.set()

    async def run(self) -> int:
        """Run until every task has its result, or nothing may be started any more; returns the exit code.

        Raises StoreError where another driver works on the same folder, InputError for a task that has changed.
        """
        lock = _locked(self.out)
        try:
            self._bases = self._prepared()
            self._rows = [*rows(self.out)]
            (self.out / STOP).unlink(missing_ok=True)
            while True:
                self._start_more()
                if not self._running and not self._waiting_for_hold():
                    break
                await self._next_event()
            return self._exit_code()
        finally:
            os.close(lock)

    def _prepared(self) -> Mapping[str, str]:
        """The base commits, from `batch.json` or resolved now and written there."""
        path = self.out / "batch.json"
        known = json.loads(path.read_text())["tasks"] if path.exists() else {}
        entries = dict(known)
        for task in self.tasks:
            entry = known.get(task.id)
            if entry and entry["digest"] != task.digest and task.id not in self.plan.retry:
                raise InputError(
                    f"Task {task.id} has changed since this batch started. Give it another id, or use --retry {task.id} to do it again."
                )
            if not entry or entry["digest"] != task.digest:
                plain = self.plan.isolation in ("copy", "none")
                base = "" if plain else trees.base_commit(task.repo, task.base)
                entries[task.id] = {"digest": task.digest, "repo": task.repo, "base": base}
        replace_file(path, json.dumps(as_json(self.plan, entries), indent=1) + "\n")
        return {id: entry["base"] for id, entry in entries.items()}

    def _start_more(self) -> None:
        if self._stopped is not None or time.monotonic() < self._held_until:
            return
        states = self.states
        for task in self.tasks:
            if len(self._running) >= self.plan.workers:
                return
            start = None if task.id in self._running else self._next(task, states)
            begun = [(work.task, 0.0) for work in self.running]
            if start is not None and fits(task, states, begun, self.plan.cap):
                self._retried.add(task.id)
                self._begin(start)

    def _next(self, task: Task, states: Mapping[str, TaskState]) -> Start | None:
        """The next start of a task that is not at work; what is asked for again is started once."""
        retry = () if task.id in self._retried else self.plan.retry
        return next_start(task, states.get(task.id), retry)

    def _begin(self, start: Start) -> None:
        limit = limit_of(start.task, self.plan.cap)
        if limit is not None and start.goes_on is not None and start.goes_on.state != "limited":
            limit = max(0.0, limit - start.goes_on.session_cost)
        work = Work(start, uuid4().hex[:12], self.plan, self._bases[start.task.id], self.out, self._dirs, limit)
        interrupt = asyncio.Event()
        running = asyncio.create_task(self._attempt(work, interrupt, self._write))
        self._running[start.task.id] = work, running, interrupt
        self._started[start.task.id] = time.monotonic()

    def _write(self, row: Row) -> Row:
        row = self._ledger.write(row)
        self._rows.append(row)
        self._report(row)
        return row

    def _waiting_for_hold(self) -> bool:
        """True if something is to be started once the provider takes requests again."""
        if self._stopped is not None or time.monotonic() >= self._held_until:
            return False
        states = self.states
        return any(self._next(task, states) for task in self.tasks)

    async def _next_event(self) -> None:
        tasks = [running for _, running, _ in self._running.values()]
        if tasks:
            await asyncio.wait(tasks, timeout=POLL, return_when=asyncio.FIRST_COMPLETED)
        else:
            await asyncio.sleep(min(POLL, max(0.0, self._held_until - time.monotonic())))
        for id, (_, running, _) in list(self._running.items()):
            if running.done():
                del self._running[id]
                self._ended(running.result())
        self._heed_wishes()

    def _ended(self, row: Row) -> None:
        match row.state:
            case "waiting":
                self._refusals += 1
                self._held_until = time.monotonic() + self._hold_for(self._refusals)
                if row.tries >= WAITS:
                    self._write(replace(row, state="failed", over=True))
            case "held":
                self.stop(QUOTA if row.exit not in HELD else row.exit)
            case "passed" | "failed" | "limited":
                self._refusals = 0
            case _:
                pass

    def _heed_wishes(self) -> None:
        """Stop what somebody wants stopped by a file, from another shell."""
        try:
            wanted = (self.out / STOP).read_text().split()
        except OSError:
            return
        (self.out / STOP).unlink(missing_ok=True)
        if not wanted:
            self.stop(130)
        for id in wanted:
            if id in self._running:
                self._running[id][2].set()
                self.tasks = [task for task in self.tasks if task.id != id]

    def _exit_code(self) -> int:
        if self._stopped is not None:
            return self._stopped
        states = self.states
        if any(self._next(task, states) for task in self.tasks):
            return CAP
        wanted = {task.id for task in self.tasks}
        return (
            0 if counted({id: state for id, state in states.items() if id in wanted}) == {"passed": len(wanted)} else 1
        )


def _locked(out: Path) -> int:
    """A lock on the folder of a batch, which ends with this process. Raises StoreError where another has it."""
    out.mkdir(parents=True, exist_ok=True)
    file = os.open(out / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(file)
        raise StoreError(f"Another process works on {out} already: `agentcli batch status {out}`.") from None
    return file
