"""Drivers that are killed at each row of their ledger: `python -m tests.extras.batch.killed_drivers FOLDER` prints what went wrong.

The agents are played: a request is a line in the file `paid`, a reply a line in the file of its session. Nothing waits between the
two, so no request is under way when a driver is killed, and each step of each task must be paid once.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from agentcli.extras.batch.driver import Driver
from agentcli.extras.batch.ledger import FINAL, Row, rows
from agentcli.extras.batch.plan import Plan
from agentcli.extras.batch.tasks import Task
from agentcli.extras.batch.work import Work
from agentcli.system.paths import app_dirs

TASKS, STEPS = 4, 3


def run(out: Path, kill_at: int) -> None:
    """Be a driver until its end, or until it has written so many rows."""
    seen: list[Row] = []

    def report(row: Row) -> None:
        seen.append(row)
        if len(seen) == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    async def attempt(work: Work, interrupt: asyncio.Event, write: Callable[[Row], Row]) -> Row:
        former = work.start.goes_on
        row = write(replace(work.first_row, session=former.newest.session if former else work.token))
        session = out / f"session-{row.session}"
        replies = session.read_text().count("\n") if session.exists() else 0
        for step in range(replies, STEPS):
            await asyncio.sleep(0)
            with (out / "paid").open("a") as paid, session.open("a") as file:
                paid.write(f"{row.id} {step}\n")
                file.write("reply\n")
        return write(replace(row, state="passed"))

    tasks = [Task(f"t{number}", "do it", "/") for number in range(TASKS)]
    dirs = app_dirs({"HOME": str(out)})
    code = asyncio.run(Driver(Plan("b", workers=2, isolation="none"), tasks, out, dirs, report, attempt).run())
    os._exit(code)


def forked(out: Path, kill_at: int) -> int:
    """A driver in a process of its own; its exit code, negative for a signal."""
    if not (pid := os.fork()):
        run(out, kill_at)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def problem(out: Path, kill_at: int, torn: bool) -> str:
    """Kill a driver, have another finish, and look; empty where all is well."""
    out.mkdir()
    if forked(out, kill_at) != -signal.SIGKILL:
        return "it was not killed"
    if torn:
        [ledger] = out.glob("ledger-*")
        whole = ledger.read_bytes()
        ledger.write_bytes(whole[: len(whole) - len(whole.splitlines()[-1]) // 2])
    if code := forked(out, 0):
        return f"exit code {code}"
    finals = Counter(row.id for row in rows(out) if row.state in FINAL)
    paid = Counter((out / "paid").read_text().splitlines())
    if set(finals.values()) != {1} or len(finals) != TASKS:
        return f"finals: {finals}"
    return "" if set(paid.values()) == {1} and len(paid) == TASKS * STEPS else f"paid: {paid}"


def main(folder: Path) -> int:
    """Kill a driver at every row, whole and torn; the number of problems."""
    found = 0
    for kill_at in range(1, 2 * TASKS + 1):
        for torn in (False, True):
            if wrong := problem(folder / f"{kill_at}-{torn}", kill_at, torn):
                found += 1
                print(f"killed at row {kill_at}{', torn' if torn else ''}: {wrong}", flush=True)
    return found


if __name__ == "__main__":
    sys.exit(bool(main(Path(sys.argv[1]))))
