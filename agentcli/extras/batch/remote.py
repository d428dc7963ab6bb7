"""One start of a task on any machine with agentcli. Plain values go in. The row, commit, session and files are
returned by value.
"""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import AgentError
from agentcli.core.tasks import run_beside
from agentcli.core.text.secrets import known_secrets
from agentcli.extras.batch import trees
from agentcli.extras.batch.attempt import RESULT, run_attempt
from agentcli.extras.batch.ledger import Row, TaskState, parsed
from agentcli.extras.batch.plan import Plan, Start
from agentcli.extras.batch.tasks import LISTS, Task
from agentcli.extras.batch.work import Work, folder_of
from agentcli.sessions.exporting import collect, export
from agentcli.sessions.store import Store
from agentcli.system import probe
from agentcli.system.paths import app_dirs

POLL = 1.0
"""Time in seconds between two checks of the stop flag."""
SCRATCH = "batch"
"""Folder in the cache folder for files of starts if the batch's folder is not accessible."""
FILE_BYTES = 50_000_000
"""Maximum bytes of each file that is sent back; only the end of a longer file is sent."""
STOPPING = "stopping"
"""Folder below the batch's folder with a file for each start that must stop, named by its token."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Outcome of a start: its last row, and its files by name. The commit is a thin bundle, the session compressed
    JSON.
    """

    row: Row
    bundle: bytes = b""
    session: bytes = b""
    files: Mapping[str, bytes] | None = None


def call_of(work: Work) -> tuple[dict[str, Any], int, str, dict[str, Any]]:
    """Return the arguments of `run_one` for a start, as plain values."""
    start = work.start
    former = start.goes_on
    options = {
        "plan": asdict(work.plan),
        "base": work.base,
        "limit": work.limit,
        "out": str(work.out),
        "tries": start.tries,
        "round": start.round,
        "goes_on": asdict(former) | {"attempts": {}} if former else None,
    }
    return asdict(work.task), start.attempt, work.token, options


def run_one(
    task: Mapping[str, Any],
    attempt: int,
    token: str,
    options: Mapping[str, Any],
    stopped: Callable[[], bool] | None = None,
) -> dict[str, Any]:
    """Run one start of a task to its end; return its outcome as plain values (see `Outcome`).

    It needs an installed agentcli but no shared folder. The repository comes by path or URL, the key from the
    environment. Called again with the same token after its worker has died, it continues the session if the tree still
    exists. `stopped` is called every second; by default it checks for a file in the batch's folder.
    """
    work = _work(task, attempt, token, options)
    row = _row_of(work.folder / RESULT)
    if row is None:
        flag = Path(options["out"], STOPPING, token)
        with _without_interrupts():
            row = asyncio.run(_run(work, stopped or flag.exists))
    shared = str(work.out) == options["out"]
    return {
        "row": asdict(row),
        "bundle": trees.bundle(work.dirs.cache, work.repo, work.base, work.ref, row.commit),
        "session": _session(work, row),
        "files": {} if shared else _files(work.folder),
    }


def outcome(raw: Mapping[str, Any]) -> Outcome:
    """Return the outcome that `run_one` has returned as plain values."""
    return Outcome(Row(**raw["row"]), raw["bundle"], raw["session"], raw["files"])


def _work(task: Mapping[str, Any], attempt: int, token: str, options: Mapping[str, Any]) -> Work:
    dirs = app_dirs()
    lists = {name: tuple(task[name]) for name in LISTS}
    plan = Plan(**{**options["plan"], **{name: tuple(options["plan"][name]) for name in ("retry", "flags", "shard")}})
    former = options["goes_on"]
    goes_on = TaskState(**{**former, "newest": Row(**former["newest"])}) if former else None
    start = Start(Task(**{**task, **lists}), attempt, options["tries"], goes_on, options["round"])
    out = Path(options["out"])
    # The token is unique, so a folder of that name exists only in this batch's folder, created by its driver.
    if not probe.is_dir(folder_of(out, task["id"], attempt, token)):
        out = dirs.cache / SCRATCH / plan.name
    return Work(start, token, plan, options["base"], out, dirs, options["limit"])


async def _run(work: Work, stopped: Callable[[], bool]) -> Row:
    interrupt = asyncio.Event()
    polling = run_beside(_poll(stopped, interrupt))
    try:
        return await run_attempt(work, interrupt, lambda row: row)
    finally:
        polling.cancel()


async def _poll(stopped: Callable[[], bool], interrupt: asyncio.Event) -> None:
    while not interrupt.is_set():
        await asyncio.sleep(POLL)
        if await asyncio.to_thread(stopped):
            interrupt.set()


@contextlib.contextmanager
def _without_interrupts() -> Iterator[None]:
    """Ignore Ctrl-C, which reaches all processes of a terminal: the driver stops this one with the flag."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    former = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, former)


def _row_of(file: Path) -> Row | None:
    """Return the last row of this start if a worker recorded it before it died, else None."""
    try:
        return parsed(file.read_bytes())
    except OSError:
        return None


def _session(work: Work, row: Row) -> bytes:
    """Return the session of a start, with secrets redacted; empty if there is none."""
    try:
        store = Store(work.dirs.sessions)
        info = store.find(row.session)
        source = collect(store.open(info.project_id, info.id, read_only=True))
    except AgentError:
        return b""
    text = export(source, "json", secrets=known_secrets(os.environ))
    return gzip.compress(text.encode("utf-8", "surrogatepass"), mtime=0)


def _files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes()[-FILE_BYTES:] for path in sorted(folder.iterdir()) if probe.is_file(path)}
