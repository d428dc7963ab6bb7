"""Batch of tasks, each with its own agent in its own worktree: `agentcli batch run` as a function."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import INTERRUPTED, InputError, UsageError, in_words
from agentcli.core.tasks import start_task
from agentcli.core.text.words import instead
from agentcli.extras.batch.driver import Driver
from agentcli.extras.batch.examination import examined
from agentcli.extras.batch.plan import WORKERS, Plan, name_of
from agentcli.extras.batch.results import load, result_line, result_lines, write_report
from agentcli.extras.batch.tasks import DEFAULTS, chosen, read_tasks
from agentcli.frontends.python.options import repeated, set_options
from agentcli.frontends.python.turn import settled
from agentcli.system.paths import app_dirs

if TYPE_CHECKING:
    from typing import Unpack


class BatchOptions(TypedDict, total=False):
    """Options of `run_batch`. All except the last mean the same as the flag of their name."""

    workers: int
    max_cost_total: float | None
    attempts: int
    together: bool
    check: str
    setup: str
    only: Sequence[str] | str
    isolate: Literal["worktree", "clone", "copy", "none"]
    unboxed: bool
    keep: Literal["failed", "all", "none"]
    retry: Sequence[str] | str
    model: str
    max_cost: float | None
    max_turns: int | None
    max_time: float | None
    allow: Sequence[str] | str
    deny: Sequence[str] | str
    set: Mapping[str, Any]
    trust: bool
    on_task: Callable[[BatchTask], object]
    """Called with each task that has ended."""


@dataclass(frozen=True, slots=True)
class BatchTask:
    """Outcome of a task, as in `results.jsonl`. `commit` is its result, `check` its check's exit code."""

    id: str
    state: str
    attempts: int
    cost: float
    seconds: float
    session: str
    commit: str
    check: int | None
    patch_lines: int
    text: str
    error: str


@dataclass(frozen=True, slots=True)
class BatchResult:
    """Outcome of a batch. `exit_code` is the command's: 0 if all tasks have passed."""

    exit_code: int
    out: Path
    tasks: tuple[BatchTask, ...]
    cost: float


async def run_batch(
    tasks: str | Path | Iterable[Mapping[str, Any]], out: str | Path, **options: Unpack[BatchOptions]
) -> BatchResult:
    """Start or continue a batch. `tasks` is a file of JSON lines, or mappings with the same keys. `out` is the batch's
    folder.

    Cancelling the call stops the batch cleanly; the same call continues it. Raise AgentError for invalid tasks
    and options.
    """
    _check(options)
    folder = Path(out).resolve()
    text, base = _lines(tasks)
    found = chosen(
        read_tasks(text, base, {name: options.get(name) for name in DEFAULTS}), repeated(options.get("only"))
    )
    on_task = options.get("on_task")

    def report(row: Any) -> None:
        if on_task is not None and row.state != "running":
            on_task(_task(result_line(row.id, driver.states[row.id])))

    plan = _plan(options, folder)
    await asyncio.to_thread(examined, plan, found, env=dict(os.environ))
    driver = Driver(plan, found, folder, app_dirs(dict(os.environ)), report)
    code = await _driven(driver)
    batch = load(folder)
    write_report(batch)
    return BatchResult(code, folder, tuple(map(_task, result_lines(batch))), batch.cost)


async def _driven(driver: Driver) -> int:
    """Run a batch and return its exit code; on cancellation, stop it cleanly."""
    running = start_task(driver.run())
    try:
        await asyncio.shield(running)
    except asyncio.CancelledError:
        driver.stop(INTERRUPTED)
        await settled(running)
        raise
    return running.result()


def _check(options: Mapping[str, Any]) -> None:
    known = BatchOptions.__annotations__
    for name in options:
        if name not in known:
            raise UsageError(f"Unknown option {name!r}.{instead(name, known)}")
    if options.get("attempts", 1) > 1 and not options.get("check"):
        raise UsageError("attempts needs a check that decides which attempt is right.")


def _lines(tasks: str | Path | Iterable[Mapping[str, Any]]) -> tuple[str, Path]:
    """Return the tasks as JSON lines, and the folder for their relative paths."""
    if not isinstance(tasks, str | Path):
        return "\n".join(json.dumps(dict(task), default=os.fspath) for task in tasks), Path.cwd()
    try:
        return Path(tasks).read_text(encoding="utf-8"), Path(tasks).resolve().parent
    except (OSError, ValueError) as error:
        raise InputError(f"Can't read {tasks}: {in_words(error)}.") from error


def _plan(options: BatchOptions, folder: Path) -> Plan:
    flags = [word for setting in set_options(options.get("set") or {}) for word in ("--set", setting)]
    return Plan(
        name=name_of(folder),
        workers=options.get("workers", WORKERS),
        together=options.get("together", False),
        cap=options.get("max_cost_total"),
        isolation=options.get("isolate", "worktree"),
        boxed=not options.get("unboxed"),
        keep=options.get("keep", "failed"),
        retry=repeated(options.get("retry")),
        flags=(*flags, *["--trust"] * bool(options.get("trust"))),
    )


def _task(line: Mapping[str, Any]) -> BatchTask:
    return BatchTask(**{each.name: line[each.name] for each in fields(BatchTask)})
