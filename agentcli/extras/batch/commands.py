"""Run a batch; show, compare and merge its results; stop it and remove its trees."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast, get_args

from agentcli.core.errors import InputError, UsageError
from agentcli.core.text.words import instead, plural
from agentcli.extras.batch import mirrors
from agentcli.extras.batch.comparison import as_json, compared, in_lines, sides_of
from agentcli.extras.batch.display import run_shown
from agentcli.extras.batch.driver import STOP, limit_of
from agentcli.extras.batch.engines import engine_named
from agentcli.extras.batch.examination import examined
from agentcli.extras.batch.flags import BatchFlags
from agentcli.extras.batch.ledger import present_rows
from agentcli.extras.batch.matrix import expanded, variants
from agentcli.extras.batch.merging import merge as merged_into
from agentcli.extras.batch.plan import WORKERS, Keep, Plan, name_of
from agentcli.extras.batch.results import Batch, load, predictions, result_lines, summary, write_pages, write_report
from agentcli.extras.batch.results import clean as cleaned
from agentcli.extras.batch.tasks import DEFAULTS, Isolation, Task, chosen, each_path, read_tasks, text_of
from agentcli.extras.batch.work import folder_of
from agentcli.frontends.opening import program_of, project_of
from agentcli.program.command_line.output import say, say_json
from agentcli.program.command_line.progress import Progress
from agentcli.program.options import Options
from agentcli.system import probe
from agentcli.system.paths import app_dirs, replace_file


def run(asked: BatchFlags) -> int:
    """Start or continue a batch; return the exit code."""
    _check_together(asked)
    models = tuple(dict.fromkeys(asked.models or ()))
    model = models[0] if len(models) == 1 else ""
    defaults = {"model": model, **{name: getattr(asked, name) for name in DEFAULTS if name != "model"}}
    found, folder = _tasks(asked.tasks, asked.out, asked.each, asked.prompt, defaults)
    found = chosen(found, filter(None, asked.only.split(",")))
    prompts = {path: text_of(Path(path)) for path in asked.prompt_files or ()}
    each = variants(models if len(models) > 1 else (), prompts, ())
    found = tuple(expanded(found, each, asked.repeat))
    plan = _plan(asked, folder)
    for note in examined(plan, found, elsewhere=asked.engine != "local"):
        print(f"agentcli: {note}", file=sys.stderr)
    if asked.dry:
        say(f"{len(found)} tasks, {plan.workers} at once, {_worst(asked, found)}. Nothing was started.")
        return 0
    return _executed(asked, plan, found, folder)


def _check_together(asked: BatchFlags) -> None:
    """Raise UsageError for options that do not go together."""
    if asked.attempts > 1 and not asked.check:
        raise UsageError("--attempts needs a --check that decides which attempt is right.")
    if asked.shard and (asked.only or not asked.out):
        raise UsageError("--shard needs OUT, the same folder for all shards, and does not go with --only.")
    if asked.warm and asked.engine != "local":
        raise UsageError("--warm is for the local engine.")
    if asked.ray_address and asked.engine != "ray":
        raise UsageError("--ray-address needs --engine ray.")


def _worst(asked: BatchFlags, tasks: Sequence[Task]) -> str:
    """Describe the maximum cost of the tasks to people."""
    limits = [limit_of(task, asked.cap) for task in tasks]
    most = sum((limit or 0.0) * task.attempts for limit, task in zip(limits, tasks, strict=True))
    return "without a limit of cost" if None in limits else f"at most ${most:.2f}"


def _executed(asked: BatchFlags, plan: Plan, tasks: tuple[Task, ...], folder: Path) -> int:
    """Run the tasks on the chosen engine; return the exit code."""
    if asked.engine == "local":
        kinds = _kinds(plan, tasks) if asked.warm else ()
        return asyncio.run(run_shown(plan, tasks, folder, asked.form.value, kinds=kinds))
    options = {"name": plan.name, "out": str(folder), "workers": plan.workers, "workers_given": bool(asked.workers)}
    engine = engine_named(asked.engine, {**options, "cap": plan.cap, "ray_address": asked.ray_address})
    try:
        code = asyncio.run(run_shown(plan, tasks, folder, asked.form.value, engine))
    finally:
        engine.close()
    if engine.gone():
        # Otherwise exit handlers of an engine's library would wait for running starts.
        sys.stdout.flush()
        os._exit(code)
    return code


def _plan(asked: BatchFlags, folder: Path) -> Plan:
    """Return the plan from the options. Raises UsageError for an unknown value."""
    for name, value, known in (("isolate", asked.isolate, Isolation), ("keep", asked.keep, Keep)):
        if value not in get_args(known):
            raise UsageError(f"--{name} takes {', '.join(get_args(known))}, not {value!r}.")
    flags = [word for setting in asked.settings or () for word in ("--set", setting)] + ["--trust"] * asked.trust
    return Plan(
        name=name_of(folder),
        workers=asked.workers or WORKERS,
        cap=asked.cap,
        isolation=cast(Isolation, asked.isolate),
        boxed=not asked.unboxed,
        keep=cast(Keep, asked.keep),
        retry=tuple(asked.retry or ()),
        flags=tuple(flags),
        shard=_shard(asked.shard),
        together=asked.together,
    )


def _kinds(plan: Plan, tasks: tuple[Task, ...]) -> tuple[str, ...]:
    """Return the wire formats of the tasks' models."""
    kinds = set()
    for repo, model, own in dict.fromkeys((task.repo, task.model, task.settings) for task in tasks):
        folder = mirrors.local(app_dirs().cache, repo)
        program = program_of(Options(cwd=folder, model=model, settings=(*plan.settings, *own)))
        kinds.add(program.models.spec(model or program.selection.model_name()).kind)
    return tuple(kinds)


def _shard(text: str) -> tuple[int, int]:
    """Return the number of a shard and the number of shards. Raises UsageError unless the text is I/N."""
    if not text:
        return 0, 1
    number, _, count = text.partition("/")
    if not (number.isdecimal() and count.isdecimal() and int(number) < int(count)):
        raise UsageError(f"--shard takes I/N with I from 0 to N-1, such as 0/4, not {text!r}.")
    return int(number), int(count)


def _tasks(
    tasks: Path | None, out: Path | None, each: str, prompt: str, defaults: Mapping[str, Any]
) -> tuple[tuple[Task, ...], Path]:
    """Read the tasks; return them with the batch's folder."""
    fresh = Path(time.strftime("batch-%Y%m%d-%H%M%S"))
    if each:
        if not prompt:
            raise UsageError("--each needs -p TEXT, in which {path} is replaced by the file.")
        return each_path(each, prompt, Path.cwd(), defaults), (tasks or fresh).resolve()
    if tasks is None:
        raise UsageError("Name a file of tasks, or use --each GLOB -p TEXT.")
    return read_tasks(text_of(tasks), tasks.resolve().parent, defaults), (out or fresh).resolve()


def status(out: Path, json_: bool) -> None:
    """Show the progress of a batch, also while it runs."""
    batch = load(out)
    if json_:
        say_json(list(result_lines(batch)))
        return
    say(summary(batch))
    for id, state in batch.states.items():
        if state.state != "passed":
            say(f"{state.state:8} {id}  attempt {state.newest.attempt}  ${state.cost:.3f}  {state.newest.why}".rstrip())


def report(out: Path, form: str) -> None:
    """Write results.jsonl, report.html and a page for each session."""
    if form not in ("html", "jsonl", "swebench"):
        raise UsageError(f"There is no format {form!r}. Use html, jsonl or swebench.")
    batch = load(out)
    if form == "swebench":
        sys.stdout.writelines(f"{json.dumps(line)}\n" for line in predictions(batch))
        return
    with Progress("Exporting sessions") as progress:
        write_pages(batch, project_of(Options()), progress.of(len(batch.states)))
    page = write_report(batch)
    if form == "jsonl":
        sys.stdout.write((out / "results.jsonl").read_text())
    else:
        say(str(page))


def compare(outs: list[Path], json_: bool) -> None:
    """Compare batches, or the variants of one."""
    sides = [side for out in outs for side in sides_of(load(out))]
    if len(sides) < 2:
        raise UsageError("There is only one variant to compare. Name a second batch.")
    found = compared(sides)
    if json_:
        say_json(as_json(found))
        return
    say("\n".join(in_lines(found)))


def show(out: Path, id: str) -> None:
    """Show a task: its attempts, answer and files."""
    batch = _with_tasks(load(out), [id])
    for row in (row for row in present_rows(out) if row.id == id):
        say(f"{row.state:8} attempt {row.attempt}  {row.seconds:.0f} s  ${row.cost:.3f}  {row.why}".rstrip())
    state = batch.states.get(id)
    if state is None:
        return
    row = state.newest
    folder = folder_of(out, id, row.attempt, row.token)
    say(f"session: {row.session}\ncommit: {row.commit or '-'}\nfolder: {folder}")
    if row.worktree and probe.is_dir(Path(row.worktree)):
        say(f"tree: {row.worktree}")
    if row.text:
        say(f"\n{row.text}")


def stop(out: Path, ids: list[str] | None) -> None:
    """Stop a running batch, or some of its tasks; `run` continues it."""
    batch = _with_tasks(load(out), ids or ())
    at_work = any(state.state == "running" for id, state in batch.states.items() if not ids or id in ids)
    replace_file(out / STOP, "\n".join(ids or ()))
    say(f"Asked to stop: {'agents get ten seconds to end' if at_work else 'no agent is at work now'}.")


def merge(out: Path, ids: list[str] | None, into: str) -> int:
    """Merge the results of passed tasks into a branch."""
    batch = _with_tasks(load(out), ids or ())
    branch = into or f"agentcli/{batch.name}"
    wanted = ids or [id for id, state in batch.states.items() if state.state == "passed"]
    with Progress("Merging tasks") as progress:
        result = merged_into(batch, branch, app_dirs().cache, ids or (), through=progress.of(len(wanted)))
    say(f"{plural(len(result.merged), 'task')} merged into {branch}.")
    for id, files in result.conflicts.items():
        say(f"{id} conflicts in {', '.join(files)}: git show {batch.states[id].newest.commit[:12]}")
    return 1 if result.conflicts else 0


def clean(out: Path) -> None:
    """Remove the worktrees and refs of a batch."""
    with Progress("Removing trees") as progress:
        removed = cleaned(load(out), app_dirs().cache, progress.through)
    say(f"Removed {plural(removed, 'tree')}.")


def _with_tasks(batch: Batch, ids: Sequence[str]) -> Batch:
    """Return the batch if it has all these tasks. Raises InputError if one is missing."""
    for id in ids:
        if id not in batch.tasks:
            raise InputError(f"Unknown task {id!r} in {batch.out}.{instead(id, batch.tasks)}")
    return batch
