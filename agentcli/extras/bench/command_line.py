"""`agentcli bench`: a set of tasks with checks, run with models, prompts and settings; rates with intervals."""

from __future__ import annotations

import os
import sys
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agentcli.core.dataclass import dataclass
from agentcli.core.errors import AgentError, CredentialsError, InputError, UsageError
from agentcli.core.sanitise import safe
from agentcli.core.text.words import plural
from agentcli.program.command_line.flags import Json, MaxCost, Trust, taking
from agentcli.program.command_line.output import aside, confirmed, page, say, say_json
from agentcli.system import probe
from agentcli.system.paths import app_dirs

if TYPE_CHECKING:
    from agentcli.extras.batch.ledger import Row
    from agentcli.extras.batch.tasks import Task
    from agentcli.extras.bench.results import Result
    from agentcli.extras.bench.running import Bench

app = typer.Typer(no_args_is_help=False, rich_markup_mode=None)
Models = Annotated[
    list[str] | None,
    typer.Option("-m", "--model", metavar="MODEL", help="provider/model or alias; several are compared"),
]
Named = Annotated[str, typer.Option("-m", "--model", metavar="MODEL", help="provider/model or alias")]
Count = Annotated[int | None, typer.Option("--tasks", min=1, metavar="N", help="run at most N tasks")]
Jobs = Annotated[int, typer.Option("-j", "--workers", min=1, metavar="N", help="runs at the same time")]
Dry = Annotated[bool, typer.Option("--dry-run", help="print the command, start nothing")]


@dataclass(frozen=True, slots=True)
class BenchFlags:
    """The options of `agentcli bench`."""

    set: Annotated[
        str, typer.Argument(metavar="SET", help="a folder of tasks, or own: the set that comes with agentcli")
    ] = "own"
    models: Models = None
    repeat: Annotated[int, typer.Option(min=1, metavar="N", help="run each task N times")] = 1
    prompts: Annotated[
        list[str] | None,
        typer.Option("--prompt", metavar="FILE", help="a system prompt, or built-in; several are compared"),
    ] = None
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="change a setting; several values of one are compared"),
    ] = None
    only: Annotated[str, typer.Option(metavar="IDS", help="run only these tasks, separated by commas")] = ""
    against: Annotated[
        str, typer.Option("--against", metavar="RUN", help="compare with LAST, a run, or the file of its results")
    ] = ""
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="folder of the run (default: in the data folder)")
    ] = None
    yes: Annotated[bool, typer.Option("-y", "--yes", help="do not ask about the cost")] = False
    workers: Jobs = 4
    max_cost: MaxCost = None
    cap: Annotated[
        float | None, typer.Option("--max-cost-total", min=0, metavar="USD", help="stop at this total cost in USD")
    ] = None
    unboxed: Annotated[bool, typer.Option("--unboxed", help="run without the sandbox")] = False
    trust: Trust = False
    dry: Annotated[bool, typer.Option("--dry-run", help="show what would run and its cost, start nothing")] = False
    json: Json = False


@app.command("run")
@taking(BenchFlags)
def run(asked: BenchFlags) -> int:
    """Run a set of tasks, and show the share that pass.

    It shows the maximum cost of the runs, then asks. The same command continues a run that was stopped or killed: no run is repeated. See
    `agentcli help bench`.
    """
    from agentcli.extras.bench.running import find, folder_for

    bench, dirs = _bench(asked), app_dirs()
    out, known = (asked.out.resolve(), False) if asked.out else folder_for(bench, dirs)
    former = find(asked.against, dirs, besides=out, set=bench.set) if asked.against else None
    if known and probe.exists(out / "batch.json"):
        aside(f"Continuing {out}.", "agentcli")
    return _ran(asked, bench, out, former)


def _bench(asked: BenchFlags) -> Bench:
    """Return what to measure. Raise InputError for an unknown set, task or file."""
    from agentcli.extras.batch.matrix import variants
    from agentcli.extras.batch.tasks import text_of
    from agentcli.extras.bench.running import Bench
    from agentcli.extras.bench.task_file import OWN, read_set

    found = read_set(asked.set)
    wanted = [id for id in asked.only.split(",") if id]
    for id in wanted:
        if id not in [task.id for task in found]:
            raise InputError(f"There is no task {id!r} in the set. It has: {', '.join(task.id for task in found)}.")
    chosen = [task for task in found if not wanted or task.id in wanted]
    prompts = {name: "" if name == "built-in" else text_of(Path(name)) for name in asked.prompts or ()}
    each = variants(tuple(dict.fromkeys(asked.models or ())), prompts, asked.settings or ())
    name = asked.set if asked.set == OWN else str(Path(asked.set).resolve())
    return Bench(name, chosen, each, asked.repeat, asked.max_cost)


def _ran(asked: BenchFlags, bench: Bench, out: Path, former: Path | None) -> int:
    """Run the rest of a run, and show the results; return the exit code."""
    import asyncio

    from agentcli.extras.batch.display import run_shown
    from agentcli.extras.batch.examination import examined
    from agentcli.extras.batch.plan import Plan, name_of
    from agentcli.extras.bench.running import attempt, prepared, require_visible

    if not asked.unboxed:
        require_visible(Path(sys.prefix))
    tasks = prepared(bench, out)
    flags = ("--trust",) * asked.trust
    plan = Plan(
        name_of(out), asked.workers, asked.cap, "clone", not asked.unboxed, keep="none", flags=flags, retry=("lost",)
    )
    for note in () if asked.dry else examined(plan, tasks):
        aside(note, "agentcli")
    if not _accepted(asked, tasks, out):
        return 0 if asked.dry else 1
    code = asyncio.run(run_shown(plan, tasks, out, "" if asked.json else "text", attempt=attempt))
    _show(asked, out, former)
    return code if code not in (0, 1) else 0


def _accepted(asked: BenchFlags, tasks: tuple[Task, ...], out: Path) -> bool:
    """Show the maximum cost of the runs, and return whether to start them. Raise UsageError if nobody can be asked."""
    from agentcli.extras.batch.results import load
    from agentcli.extras.bench.running import most

    known = load(out).states if probe.exists(out / "batch.json") else {}
    left = tuple(
        task for task in tasks if task.id not in known or known[task.id].state not in ("passed", "failed", "limited")
    )
    try:
        cost, limit = most(left, ()), "an unknown amount: the price of a model is not known"
    except CredentialsError:
        if not asked.dry:
            raise
        cost, limit = None, "an unknown amount: no model can be chosen without a key"
    limit = limit if cost is None else f"${cost:.2f}"
    if cost is not None and asked.cap is not None and asked.cap < cost:
        limit = f"${asked.cap:.2f}"
    runs = plural(len(left), "run")
    aside(f"{runs} of {plural(len({task.of or task.id for task in tasks}), 'task')}, at most {limit}.", "agentcli")
    if asked.dry:
        return False
    if asked.yes or cost == 0 or not left:
        return True
    if not sys.stdin.isatty():
        raise UsageError(f"These runs can cost {limit}. Start them with --yes.")
    return confirmed("Start?")


def _show(asked: BenchFlags, out: Path, former: Path | None) -> None:
    from agentcli.extras.batch.comparison import as_json as compared_as_json
    from agentcli.extras.batch.comparison import in_lines
    from agentcli.extras.bench.chart import write_pictures
    from agentcli.extras.bench.results import against, as_json, measured, parting, read_result

    result = measured(out)
    found = against(result, read_result(former)) if former else ()
    if former and not found and not asked.json:
        say(f"Nothing is compared: {former} has no task of this run.")
    if asked.json:
        say_json({**as_json(result), "against": [compared_as_json([each]) for each in found], "folder": str(out)})
    else:
        _say_table(result)
        for each in found:
            say("\n".join(("", *in_lines([each]))))
            if former and probe.is_dir(former):
                for task in list(each.flipped)[:5]:
                    say("  " + parting(former, out, task))
    page = write_pictures(result, out)
    if not asked.json:
        say(f"\n{page}")


def _say_table(result: Result) -> None:
    from agentcli.extras.bench.results import table

    say("\n" + "\n".join(table(result)))


@app.command("show")
def show(
    name: Annotated[str, typer.Argument(metavar="RUN", help="a folder of a run, or LAST")] = "LAST",
    task: Annotated[str, typer.Argument(metavar="TASK", help="a task, or one run of it")] = "",
    json_: Json = False,
) -> None:
    """Show the table of a run, and why runs failed.

    With TASK it shows the steps of its runs and the output of its check. For a single run it also shows the session.
    """
    from agentcli.extras.bench.results import as_json, measured
    from agentcli.extras.bench.running import find

    out = find(name, app_dirs())
    result = measured(out)
    if task:
        _show_runs(out, task, result)
    elif json_:
        say_json(as_json(result))
    else:
        _say_table(result)
        for id, cause in result.causes.items():
            say(f"  {id}: {cause}")


def _show_runs(out: Path, task: str, result: Result) -> None:
    """Show the runs of a task, and the session of a single run. Raise InputError for a task without runs."""
    from agentcli.extras.batch.results import load
    from agentcli.sessions.record_text import as_text
    from agentcli.sessions.store import Store

    batch = load(out)
    known = [id for id, entry in batch.tasks.items() if task in (id, entry.get("run", {}).get("of"))]
    rows = {id: batch.states[id].newest for id in known if id in batch.states}
    if not rows:
        raise InputError(f"No run of {task!r} in {out}.")
    lines = [line for id, row in rows.items() for line in _about(out, id, row, result.causes.get(id, ""))]
    try:
        [row] = rows.values()
        store = Store(app_dirs().sessions)
        info = store.find(row.session)
        session = store.open(info.project_id, info.id, read_only=True)
    except (ValueError, AgentError):
        say("\n".join(lines))
        return
    page(chain(map(safe, lines), filter(None, map(as_text, session.records()))))


def _about(out: Path, id: str, row: Row, cause: str) -> list[str]:
    """Describe a run: state, cause, steps, check, files, session."""
    from agentcli.extras.batch.work import folder_of
    from agentcli.extras.bench.causes import steps_of, words_of_check

    place = folder_of(out, id, row.attempt, row.token)
    why = f" ({cause})" if cause else ""
    return [
        f"{id}: {row.state}{why}, {row.seconds:.0f} s, ${row.cost:.4f}",
        *(f"  {number}. {step[:150]}" for number, step in enumerate(steps_of(place), 1)),
        f"  check: {words_of_check(place)[:500] or '-'}",
        f"  files: {place}",
        f"  session: agentcli sessions show {row.session}",
        "",
    ]


@app.command("export")
def export(
    name: Annotated[str, typer.Argument(metavar="RUN", help="a folder of a run, or LAST")] = "LAST",
    folder: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="DIR", help="write to this folder (default: in the run)")
    ] = None,
    keep_secrets: Annotated[bool, typer.Option("--keep-secrets", help="do not redact secrets")] = False,
) -> None:
    """Write a run as logs of Inspect AI.

    There is one for each variant; `inspect view` shows them.
    """

    from agentcli.core.text.secrets import known_secrets
    from agentcli.extras.bench.inspect_log import write_logs
    from agentcli.extras.bench.running import find
    from agentcli.sessions.exporting import Redactor
    from agentcli.system.key_store import KeyStore

    dirs = app_dirs()
    out = find(name, dirs)
    redactor = Redactor((*known_secrets(os.environ), *KeyStore(dirs.config).keys().values()))
    for path in write_logs(out, folder or out / "inspect", str if keep_secrets else redactor):
        say(str(path))
    for note in () if keep_secrets else redactor.notes():
        aside(note, "agentcli")


@app.command("terminal-bench")
def terminal_bench(
    model: Named = "",
    tasks: Count = None,
    dataset: Annotated[str, typer.Option(metavar="NAME", help="a Harbor dataset")] = "terminal-bench@2.0",
    workers: Jobs = 4,
    package: Annotated[str, typer.Option(metavar="WHEEL", help="the wheel of agentcli to install in containers")] = "",
    dry: Dry = False,
) -> int:
    """Run Terminal-Bench with Harbor, and show the rate.

    Harbor runs through uvx, in containers of docker.
    """
    from agentcli.extras.bench.harbor_run import run_harbor

    return run_harbor(dataset, model, tasks or 0, workers, package, dry)


@app.command("swebench")
def swebench(
    model: Named = "",
    tasks: Count = None,
    dataset: Annotated[str, typer.Option(metavar="NAME", help="a Harbor dataset")] = "swebench-verified@1.0",
    workers: Jobs = 4,
    package: Annotated[str, typer.Option(metavar="WHEEL", help="the wheel of agentcli to install in containers")] = "",
    dry: Dry = False,
) -> int:
    """Run SWE-bench Verified with Harbor.

    Harbor runs through uvx, in containers of docker; the rate is shown.
    """
    from agentcli.extras.bench.harbor_run import run_harbor

    return run_harbor(dataset, model, tasks or 0, workers, package, dry)
