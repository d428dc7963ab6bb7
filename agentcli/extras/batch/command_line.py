"""`agentcli batch`: many tasks, each with its own agent in its own worktree."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast, get_args

import typer

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import InputError, UsageError
from agentcli.core.text.words import did_you_mean, near_names, plural
from agentcli.frontends.opening import program_of, project_of
from agentcli.program.command_line.flags import (
    Allow,
    Deny,
    Format,
    Json,
    MaxCost,
    MaxTime,
    MaxTurns,
    Set,
    Trust,
    taking,
)
from agentcli.program.command_line.output import say, say_json
from agentcli.program.command_line.progress import Progress
from agentcli.program.options import Options
from agentcli.system import probe
from agentcli.system.paths import app_dirs, replace_file

if TYPE_CHECKING:
    from agentcli.extras.batch.plan import Plan
    from agentcli.extras.batch.results import Batch
    from agentcli.extras.batch.tasks import Task

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
Out = Annotated[Path, typer.Argument(metavar="OUT", help="the folder of the batch")]
Ids = Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help="tasks (default: all)")]


@dataclass(frozen=True, slots=True)
class BatchFlags:
    """The options of `agentcli batch run`."""

    tasks: Annotated[Path | None, typer.Argument(metavar="TASKS", help="a file of JSON lines: id, prompt, …")] = None
    out: Annotated[Path | None, typer.Argument(metavar="OUT", help="folder of the batch (default: ./batch-TIME)")] = (
        None
    )
    each: Annotated[
        str, typer.Option("--each", metavar="GLOB", help="make a task of each file; then only OUT is given")
    ] = ""
    prompt: Annotated[
        str, typer.Option("-p", "--prompt", metavar="TEXT", help="with --each: the prompt; {path} is the file")
    ] = ""
    workers: Annotated[
        int | None,
        typer.Option("-j", "--workers", min=1, metavar="N", help="tasks that run at the same time (default: 4)"),
    ] = None
    cap: Annotated[
        float | None, typer.Option("--max-cost-total", min=0, metavar="USD", help="stop at this total cost in USD")
    ] = None
    attempts: Annotated[
        int, typer.Option(min=1, metavar="N", help="try a task up to N times until its check passes")
    ] = 1
    together: Annotated[
        bool, typer.Option("--together", help="make all attempts at the same time; the best counts")
    ] = False
    check: Annotated[str, typer.Option(metavar="CMD", help="a task passes if this command exits with 0")] = ""
    setup: Annotated[str, typer.Option(metavar="CMD", help="run this command in each tree first")] = ""
    only: Annotated[str, typer.Option(metavar="IDS", help="run only these tasks, separated by commas")] = ""
    isolate: Annotated[
        str, typer.Option(metavar="HOW", help="what each task gets: a worktree, clone, copy or none")
    ] = "worktree"
    unboxed: Annotated[bool, typer.Option("--unboxed", help="run without the sandbox")] = False
    keep: Annotated[str, typer.Option(metavar="WHICH", help="worktrees to keep: failed, all or none")] = "failed"
    retry: Annotated[
        list[str] | None, typer.Option(metavar="WHICH", help="repeat failed, lost or limited tasks, or an id")
    ] = None
    shard: Annotated[str, typer.Option(metavar="I/N", help="run every N-th task from number I on, counted from 0")] = ""
    engine: Annotated[str, typer.Option(metavar="ENGINE", help="run tasks with local, ray or MODULE:FUNCTION")] = (
        "local"
    )
    ray_address: Annotated[
        str, typer.Option("--ray-address", metavar="ADDRESS", help="join a Ray cluster (default: one on this machine)")
    ] = ""
    warm: Annotated[bool, typer.Option("--warm", help="fork agents from a process with their imports done")] = False
    dry: Annotated[bool, typer.Option("--dry-run", help="check everything, start nothing")] = False
    form: Annotated[
        Format, typer.Option("-o", "--output-format", metavar="FORMAT", help="text, json or stream-json")
    ] = Format.text
    models: Annotated[
        list[str] | None,
        typer.Option("-m", "--model", metavar="MODEL", help="provider/model or alias; several run each task with each"),
    ] = None
    repeat: Annotated[int, typer.Option(min=1, metavar="N", help="run each task N times, as separate runs")] = 1
    prompt_files: Annotated[
        list[str] | None,
        typer.Option("--system-prompt-file", metavar="FILE", help="replace the system prompt; several run with each"),
    ] = None
    max_cost: MaxCost = None
    max_turns: MaxTurns = None
    max_time: MaxTime = None
    allow: Allow = None
    deny: Deny = None
    settings: Set = None
    trust: Trust = False


@app.command("run")
@taking(BatchFlags)
def run(asked: BatchFlags) -> int:
    """Start or continue a batch.

    Each task runs in its own worktree, in the sandbox; its result is a commit. Run the same command again to
    continue: finished tasks are not repeated, and interrupted ones continue in their sessions. See `agentcli help batch`.
    """
    return _begun(asked)


def _begun(asked: BatchFlags) -> int:
    """Run a batch with the options of `run`; return the exit code."""
    from agentcli.extras.batch.examination import examined
    from agentcli.extras.batch.matrix import expanded, variants
    from agentcli.extras.batch.tasks import DEFAULTS, chosen, text_of

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
    from agentcli.extras.batch.driver import limit_of

    limits = [limit_of(task, asked.cap) for task in tasks]
    most = sum((limit or 0.0) * task.attempts for limit, task in zip(limits, tasks, strict=True))
    return "without a limit of cost" if None in limits else f"at most ${most:.2f}"


def _executed(asked: BatchFlags, plan: Plan, tasks: tuple[Task, ...], folder: Path) -> int:
    """Run the tasks on the chosen engine; return the exit code."""
    import asyncio

    from agentcli.extras.batch.display import run_shown

    if asked.engine == "local":
        kinds = _kinds(plan, tasks) if asked.warm else ()
        return asyncio.run(run_shown(plan, tasks, folder, asked.form.value, kinds=kinds))
    from agentcli.extras.batch.engines import engine_named

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
    from agentcli.extras.batch.plan import WORKERS, Keep, Plan, name_of
    from agentcli.extras.batch.tasks import Isolation

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
    from agentcli.extras.batch import mirrors

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
    from agentcli.extras.batch.tasks import each_path, read_tasks, text_of

    fresh = Path(time.strftime("batch-%Y%m%d-%H%M%S"))
    if each:
        if not prompt:
            raise UsageError("--each needs -p TEXT, in which {path} is replaced by the file.")
        return each_path(each, prompt, Path.cwd(), defaults), (tasks or fresh).resolve()
    if tasks is None:
        raise UsageError("Name a file of tasks, or use --each GLOB -p TEXT.")
    return read_tasks(text_of(tasks), tasks.resolve().parent, defaults), (out or fresh).resolve()


@app.command("status")
def status(out: Out, json_: Json = False) -> None:
    """Show the progress of a batch, also while it runs."""
    from agentcli.extras.batch.results import load, result_lines, summary

    batch = load(out)
    if json_:
        say_json(list(result_lines(batch)))
        return
    say(summary(batch))
    for id, state in batch.states.items():
        if state.state != "passed":
            say(f"{state.state:8} {id}  attempt {state.newest.attempt}  ${state.cost:.3f}  {state.newest.why}".rstrip())


@app.command("report")
def report(
    out: Out,
    form: Annotated[str, typer.Option("--format", metavar="FORMAT", help="html, jsonl or swebench")] = "html",
) -> None:
    """Write results.jsonl, report.html and a page for each session.

    It prints the path of report.html. With --format jsonl or swebench it prints lines. Those of swebench are
    predictions for its harness, one for each finished task.
    """
    import json

    from agentcli.extras.batch.results import load, predictions, write_pages, write_report

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


@app.command("compare")
def compare(
    outs: Annotated[list[Path], typer.Argument(metavar="OUT...", help="folders of batches")], json_: Json = False
) -> None:
    """Compare batches, or the variants of one.

    It shows pass rates, their difference, cost, tokens, steps, time and tasks that flipped.

    The others are compared with the first. Rates have Wilson's interval of 95 %. If both have the same tasks, runs of
    the same task are compared in pairs (Newcombe's paired interval). This interval is narrower because it does not
    count how hard tasks are. Otherwise the runs count as independent.
    """
    from agentcli.extras.batch.comparison import as_json, compared, in_lines, sides_of
    from agentcli.extras.batch.results import load

    sides = [side for out in outs for side in sides_of(load(out))]
    if len(sides) < 2:
        raise UsageError("There is only one variant to compare. Name a second batch.")
    found = compared(sides)
    if json_:
        say_json(as_json(found))
        return
    say("\n".join(in_lines(found)))


@app.command("show")
def show(out: Out, id: Annotated[str, typer.Argument(metavar="ID", help="a task")]) -> None:
    """Show a task: its attempts, answer and files."""
    from agentcli.extras.batch.ledger import present_rows
    from agentcli.extras.batch.results import load
    from agentcli.extras.batch.work import folder_of

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


@app.command("stop")
def stop(out: Out, ids: Ids = None) -> None:
    """Stop a running batch, or some of its tasks; `run` continues it."""
    from agentcli.extras.batch.driver import STOP
    from agentcli.extras.batch.results import load

    batch = _with_tasks(load(out), ids or ())
    at_work = any(state.state == "running" for id, state in batch.states.items() if not ids or id in ids)
    replace_file(out / STOP, "\n".join(ids or ()))
    say(f"Asked to stop: {'agents get ten seconds to end' if at_work else 'no agent is at work now'}.")


@app.command("merge")
def merge(
    out: Out,
    ids: Ids = None,
    into: Annotated[
        str, typer.Option("--into", metavar="BRANCH", help="merge into this branch (default: agentcli/NAME)")
    ] = "",
) -> int:
    """Merge the results of passed tasks into a branch.

    Nothing is checked out. Conflicting results are left out and listed with their files; the exit code is 1 then.
    """
    from agentcli.extras.batch.merging import merge as merged_into
    from agentcli.extras.batch.results import load

    batch = _with_tasks(load(out), ids or ())
    branch = into or f"agentcli/{batch.name}"
    wanted = ids or [id for id, state in batch.states.items() if state.state == "passed"]
    with Progress("Merging tasks") as progress:
        result = merged_into(batch, branch, app_dirs().cache, ids or (), through=progress.of(len(wanted)))
    say(f"{plural(len(result.merged), 'task')} merged into {branch}.")
    for id, files in result.conflicts.items():
        say(f"{id} conflicts in {', '.join(files)}: git show {batch.states[id].newest.commit[:12]}")
    return 1 if result.conflicts else 0


@app.command("clean")
def clean(out: Out) -> None:
    """Remove the worktrees and refs of a batch.

    Its folder and sessions stay.
    """
    from agentcli.extras.batch.results import clean as cleaned
    from agentcli.extras.batch.results import load

    with Progress("Removing trees") as progress:
        removed = cleaned(load(out), app_dirs().cache, progress.through)
    say(f"Removed {plural(removed, 'tree')}.")


def _with_tasks(batch: Batch, ids: Sequence[str]) -> Batch:
    """Return the batch if it has all these tasks. Raises InputError if one is missing."""
    for id in ids:
        if id not in batch.tasks:
            near = did_you_mean(near_names(id, batch.tasks))
            raise InputError(f"Unknown task {id!r} in {batch.out}.{near}")
    return batch
