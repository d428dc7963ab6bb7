"""Driver of a batch: starts tasks while workers and money are available, and records each outcome."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

from agentcli.core.errors import InputError, StoreError
from agentcli.core.tasks import start_task
from agentcli.extras.batch import mirrors, trees
from agentcli.extras.batch.attempt import run_attempt
from agentcli.extras.batch.ledger import DIED, Ledger, Row, TaskState, accepted, fold, rows
from agentcli.extras.batch.plan import WAITS, Plan, Start, as_json, next_starts
from agentcli.extras.batch.tasks import Task
from agentcli.extras.batch.work import Work, session_cost
from agentcli.system import probe
from agentcli.system.locked_file import FileLock
from agentcli.system.paths import AppDirs, replace_file

POLL = 0.5
"""Time in seconds between two checks for a stop request."""
HOLD, LONGEST_HOLD = 30.0, 600.0
"""First and longest pause in seconds after a temporary refusal by the provider; it doubles each time."""
STOP = "stop"
"""File in the batch's folder that requests a stop: ids of tasks, one per line, or empty for all."""
CAP, QUOTA = 53, 75
"""Exit codes of a batch that reached its cap, or used up a quota."""
HELD = (41, 52, 55)
"""Exit codes of an agent that apply to all other tasks: no key, wrong configuration, no trust."""

Attempt = Callable[[Work, asyncio.Event, Callable[[Row], Row]], Coroutine[Any, Any, Row]]
"""Runs one start of a task to its end."""


class Driver:
    """A running batch. `report` receives every row; `attempt` runs one start; `hold` returns the pause in seconds after n refusals in a row.

    `slots` returns the number of concurrent starts if an engine knows better than the plan.
    """

    def __init__(
        self,
        plan: Plan,
        tasks: Sequence[Task],
        out: Path,
        dirs: AppDirs,
        report: Callable[[Row], object] = lambda _: None,
        attempt: Attempt = run_attempt,
        hold: Callable[[int], float] = lambda times: min(LONGEST_HOLD, HOLD * 2.0 ** (times - 1)),
        slots: Callable[[], int] | None = None,
    ) -> None:
        number, count = plan.shard
        self.plan, self.tasks, self.out = plan, list(tasks)[number::count], out
        self._wanted = frozenset(task.id for task in self.tasks)
        self._all, self._dirs, self._report, self._attempt, self._hold_for = tasks, dirs, report, attempt, hold
        self._slots = slots or (lambda: plan.workers)
        self._retried: set[str] = set()
        self._ledger = Ledger(out)
        self._rows: dict[str, list[Row]] = {}
        self._states: dict[str, TaskState] = {}
        self._running: dict[tuple[str, int], tuple[Work, asyncio.Task[Row], asyncio.Event]] = {}
        self._started: dict[str, float] = {}
        self._refusals, self._held_until = 0, 0.0
        self._stopped: int | None = None
        self._unwritten: OSError | None = None
        self._bases: Mapping[str, str] = {}
        self._old_wish: object = None

    @property
    def states(self) -> Mapping[str, TaskState]:
        """State of each task of this run that was ever started."""
        return self._states

    @property
    def running(self) -> Sequence[Work]:
        """The running starts."""
        return [work for work, _, _ in self._running.values()]

    @property
    def held(self) -> float:
        """Seconds for which the provider still pauses the batch."""
        return max(0.0, self._held_until - time.monotonic())

    def seconds(self, work: Work) -> float:
        """Return the seconds since a start began."""
        return time.monotonic() - self._started[work.token]

    def stop(self, code: int) -> None:
        """Stop everything; the batch ends with this exit code."""
        self._stopped = self._stopped or code
        for _, _, interrupt in self._running.values():
            interrupt.set()

    async def run(self) -> int:
        """Run until every task has its result, or nothing more may start; return the exit code.

        Raise StoreError if another driver works on the same folder, InputError for a changed task.
        """
        locks = _locked(self.out, self.plan.shard)
        try:
            self._bases = prepared(self.plan, self._all, self.out, self._dirs.cache)
            self._old_wish = self._wish()
            self._read_ledgers()
            while True:
                self._start_more()
                if not self._running and not self._waiting_for_hold():
                    break
                await self._next_event()
            if self._unwritten is not None:
                raise StoreError(
                    f"Can't write the results to {self.out}: {self._unwritten.strerror}. Free some space, and run the batch again: it continues."
                )
            return self._exit_code()
        finally:
            for lock in locks:
                lock.release()

    def _read_ledgers(self) -> None:
        """Read the recorded rows of this run's tasks. Mark starts of a dead driver as stopped, with the cost of their sessions."""
        mine = self._wanted if self.plan.shard[1] > 1 else None
        for row in rows(self.out):
            if mine is None or row.id in mine:
                self._rows.setdefault(row.id, []).append(row)
        for id, found in self._rows.items():
            self._states.update(fold(found))
            for attempt in self._states[id].attempts.values():
                row = attempt.newest
                total = session_cost(self._dirs, row.session) if row.state == "running" else None
                if total is not None:
                    self._write(replace(row, state="stopped", cost=max(0.0, total - attempt.session_cost), why=DIED))

    def _start_more(self) -> None:
        if self._stopped is not None or time.monotonic() < self._held_until:
            return
        cap = self.plan.share
        spent = sum(state.cost for state in self._states.values()) if cap is not None else 0.0
        for task in self.tasks:
            for start in self._next(task):
                if len(self._running) >= self._slots():
                    return
                reserved = sum(work.limit or 0.0 for work in self.running)
                limit = self._limit(start)
                if fits(spent, reserved, limit, cap):
                    self._begin(start, limit)

    def _next(self, task: Task) -> Sequence[Start]:
        """Return the tasks' next starts that are not running yet; a task of `retry` is started again only once."""
        state = self._states.get(task.id)
        retry = () if task.id in self._retried else self.plan.retry
        found = next_starts(task, state, retry, self.plan.together)
        return [start for start in found if (task.id, start.attempt) not in self._running]

    def _limit(self, start: Start) -> float | None:
        """Return the money for a start. It gets the rest of its budget if it continues, or a new budget if that is used
        up.
        """
        limit = limit_of(start.task, self.plan.share)
        if limit is not None and start.goes_on is not None and start.goes_on.state != "limited":
            limit = max(0.0, limit - start.goes_on.session_cost)
        return limit

    def _begin(self, start: Start, limit: float | None) -> None:
        self._retried.add(start.task.id)
        work = Work(start, uuid4().hex[:12], self.plan, self._bases[start.task.id], self.out, self._dirs, limit)
        interrupt = asyncio.Event()
        running = start_task(self._attempt(work, interrupt, self._write))
        self._running[start.task.id, start.attempt] = work, running, interrupt
        self._started[work.token] = time.monotonic()

    def _write(self, row: Row) -> Row:
        row = self._ledger.write(accepted(row, self._rows.get(row.id, ())))
        self._rows.setdefault(row.id, []).append(row)
        self._states.update(fold(self._rows[row.id]))
        self._report(row)
        return row

    def _waiting_for_hold(self) -> bool:
        """Return True if starts wait until the provider accepts requests again."""
        if self._stopped is not None or time.monotonic() >= self._held_until:
            return False
        return any(self._next(task) for task in self.tasks)

    async def _next_event(self) -> None:
        tasks = [running for _, running, _ in self._running.values()]
        if tasks:
            await asyncio.wait(tasks, timeout=POLL, return_when=asyncio.FIRST_COMPLETED)
        else:
            await asyncio.sleep(min(POLL, max(0.0, self._held_until - time.monotonic())))
        for key, (_, running, _) in list(self._running.items()):
            if running.done():
                del self._running[key]
                if isinstance(error := running.exception(), OSError):
                    self._unwritten = error
                    self.stop(QUOTA)
                else:
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

    def _wish(self) -> object:
        """Return a mark that differs for each stop request, because its file is always rewritten; None without a
        request.
        """
        try:
            found = (self.out / STOP).stat()
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns

    def _heed_wishes(self) -> None:
        """Stop the tasks in a stop file from another shell. The file stays: other drivers of the batch must see it."""
        wish = self._wish()
        if wish in (None, self._old_wish):
            return
        self._old_wish = wish
        wanted = (self.out / STOP).read_text().split()
        if not wanted:
            self.stop(130)
        for work, _, interrupt in self._running.values():
            if work.task.id in wanted:
                interrupt.set()
        self.tasks = [task for task in self.tasks if task.id not in wanted]

    def _exit_code(self) -> int:
        if self._stopped is not None:
            return self._stopped
        if any(self._next(task) for task in self.tasks):
            return CAP
        passed = {id for id, state in self._states.items() if state.state == "passed"}
        return 0 if self._wanted <= passed else 1


def prepared(plan: Plan, tasks: Sequence[Task], out: Path, cache: Path) -> Mapping[str, str]:
    """Return the base commits, from `batch.json` or resolved now and written there.

    Raise InputError for a changed task.
    """
    path = out / "batch.json"
    with FileLock(out / ".batch.lock"):  # shards share this file
        known = json.loads(path.read_text())["tasks"] if probe.exists(path) else {}
        entries = dict(known)
        repos: dict[str, str] = {}
        for task in tasks:
            entry = known.get(task.id)
            if entry and entry["digest"] != task.digest and task.id not in plan.retry:
                raise InputError(
                    f"Task {task.id}, or an option that applies to it such as --check or -m, has changed since this batch started. "
                    f"Repeat the former options, give the task another id, or use --retry {task.id} to do it again."
                )
            if not entry or entry["digest"] != task.digest:
                plain = plan.isolation in ("copy", "none")
                if task.repo not in repos:
                    repos[task.repo] = mirrors.fetched(cache, task.repo)
                base = "" if plain else trees.base_commit(repos[task.repo], task.base)
                entries[task.id] = {"digest": task.digest, "repo": repos[task.repo], "base": base}
            entries[task.id]["meta"] = task.meta
            entries[task.id]["run"] = {"of": task.of or task.id, "variant": task.variant, "repeat": task.repeat}
        replace_file(path, json.dumps(as_json(plan, entries), indent=1) + "\n")
    return {id: entry["base"] for id, entry in entries.items()}


def _locked(out: Path, shard: tuple[int, int]) -> list[FileLock]:
    """Lock a shard of the batch in a folder until this process ends. Raise StoreError if another process has it.

    Shards of one division run at the same time; no other driver may.
    """
    out.mkdir(parents=True, exist_ok=True)
    number, count = shard
    with ExitStack() as taken:
        try:
            locks = [taken.enter_context(FileLock(out / ".lock", shared=count > 1, patience=0))]
            if count > 1:
                locks.append(taken.enter_context(FileLock(out / f".lock-{number}-{count}", patience=0)))
        except BlockingIOError:
            raise StoreError(f"Another process is already working on {out}: `agentcli batch status {out}`.") from None
        taken.pop_all()
    return locks


SHARE = 20
"""Divisor of the cap that gives the limit of a task without its own."""


def limit_of(task: Task, cap: float | None) -> float | None:
    """Return the cost limit of one attempt at a task in USD; None without one."""
    if task.max_cost is not None or cap is None:
        return task.max_cost
    return cap / SHARE


def fits(spent: float, reserved: float, wanted: float | None, cap: float | None) -> bool:
    """Return True if a start fits the cap, in USD. The money spent, the money reserved by running starts and this
    start's limit count.
    """
    return cap is None or spent + reserved + (wanted or 0.0) <= cap + 1e-9
