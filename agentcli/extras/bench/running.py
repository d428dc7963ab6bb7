"""Runs of a set: each task with each variant, several times, as a batch in its own folder."""

from __future__ import annotations

import asyncio
import hashlib
import json
import shlex
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import AgentError, InputError
from agentcli.core.tasks import start_task
from agentcli.core.text.path_pattern import literal
from agentcli.extras.batch.agent_process import EVENTS, Agent, Streams, start_process
from agentcli.extras.batch.attempt import run_attempt
from agentcli.extras.batch.ledger import FINAL, Row
from agentcli.extras.batch.matrix import Variant, expanded
from agentcli.extras.batch.results import load
from agentcli.extras.batch.tasks import Task
from agentcli.extras.batch.work import Work
from agentcli.extras.bench.task_file import TaskFile, encoded, make_repository
from agentcli.frontends.opening import program_of
from agentcli.program.options import Options
from agentcli.system import probe
from agentcli.system.paths import AppDirs, folder, replace_file

NOTE = "bench.json"
"""File that describes what a run measures."""
LAST = "LAST"
"""Name of the newest finished run."""
_PLACE = "bench"
_OWN_IN_SANDBOX = ("/tmp", "/var/tmp")
_KILLED = "killed"
_POLL = 0.1
"""Seconds between two looks at the calls of an agent that is to be killed."""


@dataclass(frozen=True, slots=True)
class Bench:
    """Subject of a run: `set` is the set's name; `max_cost` in USD replaces a task's limit if it is lower."""

    set: str
    tasks: Sequence[TaskFile]
    variants: Sequence[Variant]
    repeat: int = 1
    max_cost: float | None = None

    def note(self) -> Mapping[str, Any]:
        """Return its description: two runs with the same description measure the same."""
        digests = {task.id: hashlib.sha256(task.path.read_bytes()).hexdigest() for task in self.tasks}
        variants = [{**asdict(each), "settings": [*each.settings]} for each in self.variants]
        return {"version": 1, "set": self.set, "tasks": digests, "variants": variants, "repeat": self.repeat}


def place(dirs: AppDirs) -> Path:
    """Return the folder of all runs."""
    return folder(dirs.data / _PLACE)


def folder_for(bench: Bench, dirs: AppDirs) -> tuple[Path, bool]:
    """Return the folder of the newest unfinished run of the same, with True; else a new one, with False."""
    for out in _newest_first(dirs):
        if note_of(out) == bench.note() and not is_finished(out):
            return out, True
    name = f"{Path(bench.set).stem}-{time.strftime('%Y%m%d-%H%M%S')}"
    names = [name, *(f"{name}-{number}" for number in range(2, 100))]
    return next(out for each in names if not probe.exists(out := place(dirs) / each)), False


def find(name: str, dirs: AppDirs, besides: Path | None = None, set: str = "") -> Path:
    """Return the folder of a run: the newest finished one for `LAST`, else by name or path. Raise InputError if there
    is none.

    `LAST` never means the folder `besides`, and only runs of `set` if it is given.
    """
    if name == LAST:
        for out in _newest_first(dirs):
            if out != besides and is_finished(out) and (not set or (note_of(out) or {}).get("set") == set):
                return out
        raise InputError(f"There is no finished run{f' of {set}' if set else ''} yet.")
    for out in (Path(name), place(dirs) / name):
        if probe.exists(out):
            return out.resolve()
    raise InputError(f"There is no run {name!r} in {place(dirs)}.")


def note_of(out: Path) -> Mapping[str, Any] | None:
    """Return the description of a run; None for a folder without one."""
    try:
        found: Mapping[str, Any] = json.loads((out / NOTE).read_text())
    except (OSError, ValueError):
        return None
    return found


def is_finished(out: Path) -> bool:
    """Return True if a folder has all runs of its description, each with a final result."""
    note = note_of(out)
    try:
        batch = load(out)
    except AgentError:
        return False
    wanted = len(note["tasks"]) * len(note["variants"]) * note["repeat"] if note else 0
    return len(batch.tasks) == wanted == sum(state.state in FINAL for state in batch.states.values())


def _newest_first(dirs: AppDirs) -> Sequence[Path]:
    notes = place(dirs).glob(f"*/{NOTE}")
    return [note.parent for note in sorted(notes, key=lambda note: note.stat().st_mtime_ns, reverse=True)]


def prepared(bench: Bench, out: Path) -> tuple[Task, ...]:
    """Make a run's repositories and its description; return its tasks."""
    out.mkdir(parents=True, exist_ok=True)
    known = note_of(out)
    if known is not None and known != bench.note():
        raise InputError(f"{out} contains a run that measures something else. Choose another folder.")
    if known is None:
        replace_file(out / NOTE, json.dumps(bench.note(), indent=1) + "\n")
    for task in bench.tasks:
        make_repository(task, out / "repositories" / task.id)
    plain = [_task(task, out, bench.max_cost) for task in bench.tasks]
    return tuple(expanded(plain, bench.variants, bench.repeat))


def require_visible(prefix: Path) -> None:
    """Raise InputError if checks can't run in the sandbox because it hides the folder of the Python at `prefix`."""
    if hidden := next((top for top in _OWN_IN_SANDBOX if prefix.resolve().is_relative_to(top)), ""):
        raise InputError(
            f"Checks run in the sandbox, which has a {hidden} of its own, so they would not find the Python in {prefix}. Install agentcli elsewhere, or "
            "run with --unboxed."
        )


def _task(task: TaskFile, out: Path, max_cost: float | None) -> Task:
    return Task(
        task.id,
        task.prompt,
        str(out / "repositories" / task.id),
        setup=task.setup,
        check=shlex.join([sys.executable, "-I", "-m", "agentcli.extras.bench.check"]),
        check_input=encoded(task),
        deny=(f"read({literal(str(task.path.parent))}/*.txt)", f"read({literal(str(out / 'tasks'))}/**)"),
        max_cost=task.max_cost if max_cost is None else min(max_cost, task.max_cost),
        max_time=task.max_time,
        max_turns=task.max_turns,
        settings=tuple(task.settings),
        meta={"kill_after": task.kill_after} if task.kill_after else None,
    )


def most(tasks: Sequence[Task], settings: tuple[str, ...]) -> float | None:
    """Return the maximum cost of the runs in USD; None if a model's price is unknown. Scripted models cost nothing.

    Raise AgentError for an unknown model.
    """
    total = 0.0
    priced: dict[tuple[str, tuple[str, ...]], bool | None] = {}
    for task in tasks:
        key = task.model, task.settings
        if key not in priced:
            program = program_of(Options(cwd=task.repo, model=task.model, settings=(*settings, *task.settings)))
            spec = program.models.spec(task.model or program.selection.model_name())
            priced[key] = False if spec.provider in ("script", "demo") else (True if spec.prices else None)
        if priced[key] is None:
            return None
        total += (task.max_cost or 0.0) * bool(priced[key])
    return total


async def attempt(work: Work, interrupt: asyncio.Event, write: Callable[[Row], Row]) -> Row:
    """Run one start; kill its agent once if its task says so."""
    after = work.task.meta["kill_after"] if work.task.meta else 0
    mark = work.folder.parent / _KILLED
    if not after or probe.exists(mark):
        return await run_attempt(work, interrupt, write)
    return await run_attempt(work, interrupt, write, partial(_start_to_kill, work.folder / EVENTS, after, mark))


async def _start_to_kill(
    events: Path, after: int, mark: Path, arguments: Sequence[str], cwd: Path, env: Mapping[str, str], streams: Streams
) -> Agent:
    return _Killed(await start_process(arguments, cwd, env, streams), events, after, mark)


class _Killed:
    """An agent that is killed after so many calls; the file `mark` records that it was."""

    def __init__(self, agent: Agent, events: Path, after: int, mark: Path) -> None:
        self._agent, self._events, self._after, self._mark = agent, events, after, mark
        self.send_signal = agent.send_signal

    async def wait(self) -> int | None:
        """Wait for its end; return the exit code."""
        watching = start_task(self._kill())
        try:
            return await self._agent.wait()
        finally:
            watching.cancel()

    async def _kill(self) -> None:
        # Another process writes the file.
        while self._events.read_bytes().count(b'"type": "tool_result"') < self._after:  # noqa: ASYNC110
            await asyncio.sleep(_POLL)
        self._mark.touch()
        with suppress(ProcessLookupError):
            self._agent.send_signal(signal.SIGKILL)
