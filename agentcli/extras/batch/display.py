"""A running batch on a terminal, in a pipe, or as JSON lines."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentcli.core.sanitise import safe_line
from agentcli.core.tasks import run_beside
from agentcli.extras.batch.agent_process import EVENTS
from agentcli.extras.batch.attempt import run_attempt
from agentcli.extras.batch.driver import Attempt, Driver
from agentcli.extras.batch.engines import EngineAttempt
from agentcli.extras.batch.ledger import FINAL, Row
from agentcli.extras.batch.plan import Plan, counted
from agentcli.extras.batch.results import load, result_lines, summary, write_report
from agentcli.extras.batch.tasks import Task
from agentcli.extras.batch.warm import WarmServer
from agentcli.program.command_line.output import aside, say
from agentcli.program.command_line.printing import console, on_terminal
from agentcli.sessions.info import stamp
from agentcli.system.paths import app_dirs

if TYPE_CHECKING:
    from rich.console import Group

    from agentcli.extras.batch.engines import Engine

EVERY = 0.25
"""Seconds between two pictures of the display."""
_MOST = 4_000_000
"""Bytes of an agent's stream to read for one frame."""


async def run_shown(
    plan: Plan,
    tasks: tuple[Task, ...],
    out: Path,
    form: str,
    engine: Engine | None = None,
    kinds: Collection[str] = (),
    attempt: Attempt = run_attempt,
) -> int:
    """Run a batch and show it; return the exit code. The form is `text`, `stream-json`, or `json` for the last line
    only.

    `attempt` runs one start on this machine. With `kinds`, the wire formats of the models, agents are forked from a
    process that has imported their modules.
    """
    report = {"text": _as_line, "stream-json": _as_json}.get(form, lambda _: None)
    if form == "stream-json":
        _line("batch_init", name=plan.name, out=str(out), tasks=[task.id for task in tasks])
    with _attempts(engine, kinds, attempt) as attempts:
        slots = engine.slots if engine is not None else None
        code = await _run(Driver(plan, tasks, out, app_dirs(), report, attempts, slots=slots), form)
    gone = engine.gone() if engine is not None else ""
    if gone:
        aside(f"{gone} Run the same command again once it is back: finished tasks are not repeated.", "agentcli")
        code = 1
    batch = load(out)
    write_report(batch)
    if form != "text":
        _line("batch_result", exit_code=code, summary=summary(batch), tasks=list(result_lines(batch)))
    else:
        say(f"{summary(batch)}\n{out}")
    return code


@contextlib.contextmanager
def _attempts(engine: Engine | None, kinds: Collection[str], attempt: Attempt) -> Iterator[Attempt]:
    """Choose how starts run. They run on an engine, forked from a process with the imports of `kinds`, or with
    `attempt`.
    """
    if engine is not None:
        yield EngineAttempt(engine)
    elif kinds:
        with contextlib.closing(WarmServer(kinds)) as server:
            yield partial(run_attempt, start=server.start)
    else:
        yield attempt


async def _run(driver: Driver, form: str) -> int:
    loop = asyncio.get_running_loop()
    for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)):
        loop.add_signal_handler(number, _stopping(driver), code)
    showing = run_beside(_live(driver)) if on_terminal(sys.stdout) and form == "text" else None
    try:
        return await driver.run()
    finally:
        if showing is not None:
            showing.cancel()
            await asyncio.gather(showing, return_exceptions=True)


def _stopping(driver: Driver) -> Callable[[int], None]:
    """Return a signal handler. The first signal stops the batch cleanly. A second one exits at once, and the agents end
    with the process.
    """
    seen: list[int] = []

    def stop(code: int) -> None:
        if seen:
            os._exit(code)
        seen.append(code)
        driver.stop(code)

    return stop


def _as_line(row: Row) -> None:
    if row.state != "running":
        why = f"  {row.why}" if row.why else ""
        say(f"{row.state:8} {row.id}  attempt {row.attempt}  {row.seconds:.0f} s  ${row.cost:.3f}{why}")


def _as_json(row: Row) -> None:
    _line("task", event="started" if row.state == "running" else "finished", **asdict(row))


def _line(kind: str, **fields: Any) -> None:
    print(json.dumps({"type": kind, "timestamp": stamp(), **fields}), flush=True)


async def _live(driver: Driver) -> None:
    """Show the batch until cancelled; finished tasks are printed above."""
    from rich.live import Live

    began = time.monotonic()
    streams: dict[str, AgentStream] = {}
    with Live(console=console(sys.stdout), refresh_per_second=4, transient=True) as live:
        while True:
            live.update(_picture(driver, time.monotonic() - began, streams))
            await asyncio.sleep(EVERY)


def _picture(driver: Driver, seconds: float, streams: dict[str, AgentStream]) -> Group:
    from rich.console import Group
    from rich.progress import BarColumn, Progress, TextColumn
    from rich.table import Table

    states = driver.states
    counts = counted(states)
    total = len(driver.tasks)
    done = sum(counts.get(state, 0) for state in FINAL)
    spent = sum(state.cost for state in states.values())
    cap = f" of ${driver.plan.cap:g}" if driver.plan.cap else ""
    left = f" · ~{seconds / done * (total - done) / 60:.0f} min" if done else ""
    held = f" · held {driver.held:.0f} s by the provider" if driver.held else ""
    listed = " ".join(f"{number} {state}" for state, number in sorted(counts.items()))
    head = Progress(
        TextColumn("{task.completed:.0f}/{task.total:.0f}"), BarColumn(30), TextColumn("{task.description}")
    )
    head.add_task(f"{listed} · ${spent:.2f}{cap}{left}{held}", total=total, completed=done)
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for work in driver.running:
        minutes, rest = divmod(int(driver.seconds(work)), 60)
        stream = streams.setdefault(work.token, AgentStream(work.folder))
        stream.read()
        money = f"${stream.cost:.2f}"
        cells = (safe_line(work.task.id), f"attempt {work.start.attempt}", f"{minutes}:{rest:02}", money)
        table.add_row(*cells, stream.activity)
    return Group(head, table)


class AgentStream:
    """The growing event stream of a running agent: its current activity, and its cost so far in USD."""

    def __init__(self, folder: Path) -> None:
        self.activity, self.cost = "is being set up", 0.0
        self._path, self._offset = folder / EVENTS, 0

    def read(self) -> None:
        """Take in the new events."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._offset)
                whole, end, _ = file.read(_MOST).rpartition(b"\n")
        except OSError:
            return
        self._offset += len(whole) + len(end)
        for line in whole.split(b"\n"):
            with contextlib.suppress(ValueError):
                self._note(json.loads(line))

    def _note(self, event: object) -> None:
        match event:
            case {"type": "init"}:
                self.activity = "thinks"
            case {"type": "tool_call", "name": str(name), "input": dict(given)}:
                about = next((value for value in given.values() if isinstance(value, str)), "")
                self.activity = safe_line(f"{name} {about}")[:80]
            case {"type": "message", "role": "assistant", "text": str(text), **rest} if not rest.get("delta"):
                self.activity = safe_line(text)[:80]
            case {"type": "retry", "delay": int(delay) | float(delay), "reason": str(reason)}:
                self.activity = safe_line(f"waits {delay:.0f} s: {reason}")[:80]
            case {"type": "warning", "message": str(said)} if said.startswith("Waiting "):
                self.activity = safe_line(said)[:80]
            case {"type": "usage", "cost": int(cost) | float(cost)}:
                self.cost += cost
            case _:
                pass
