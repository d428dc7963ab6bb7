"""Run a set of tasks, and show or export its results."""

from __future__ import annotations

import asyncio
import os
import sys
from itertools import chain
from pathlib import Path

from agentcli.core.errors import AgentError, CredentialsError, InputError, UsageError
from agentcli.core.sanitise import safe
from agentcli.core.text.secrets import known_secrets
from agentcli.core.text.words import one_of, plural
from agentcli.extras.batch.comparison import as_json as compared_as_json
from agentcli.extras.batch.comparison import in_lines
from agentcli.extras.batch.display import run_shown
from agentcli.extras.batch.examination import examined
from agentcli.extras.batch.ledger import Row
from agentcli.extras.batch.matrix import variants
from agentcli.extras.batch.plan import Plan, name_of
from agentcli.extras.batch.results import load
from agentcli.extras.batch.tasks import Task, text_of
from agentcli.extras.batch.work import folder_of
from agentcli.extras.bench.causes import steps_of, words_of_check
from agentcli.extras.bench.chart import write_pictures
from agentcli.extras.bench.flags import BenchFlags
from agentcli.extras.bench.inspect_log import write_logs
from agentcli.extras.bench.results import Result, against, as_json, measured, parting, read_result, table
from agentcli.extras.bench.running import Bench, attempt, find, folder_for, most, prepared, require_visible
from agentcli.extras.bench.task_file import OWN, read_set
from agentcli.program.command_line.output import aside, confirmed, page, say, say_json
from agentcli.sessions.exporting import Redactor
from agentcli.sessions.record_text import as_text
from agentcli.sessions.store import Store
from agentcli.system import probe
from agentcli.system.key_store import KeyStore
from agentcli.system.paths import app_dirs


def run(asked: BenchFlags) -> int:
    """Run a set of tasks, and show the share that pass."""
    bench, dirs = _bench(asked), app_dirs()
    out, known = (asked.out.resolve(), False) if asked.out else folder_for(bench, dirs)
    former = find(asked.against, dirs, besides=out, set=bench.set) if asked.against else None
    if known and probe.exists(out / "batch.json"):
        aside(f"Continuing {out}.", "agentcli")
    return _ran(asked, bench, out, former)


def _bench(asked: BenchFlags) -> Bench:
    """Return what to measure. Raise InputError for an unknown set, task or file."""
    found = read_set(asked.set)
    wanted = [id for id in asked.only.split(",") if id]
    for id in wanted:
        if id not in [task.id for task in found]:
            raise InputError(f"There is no task {id!r} in the set.{one_of(id, [task.id for task in found])}")
    chosen = [task for task in found if not wanted or task.id in wanted]
    prompts = {name: "" if name == "built-in" else text_of(Path(name)) for name in asked.prompts or ()}
    each = variants(tuple(dict.fromkeys(asked.models or ())), prompts, asked.settings or ())
    name = asked.set if asked.set == OWN else str(Path(asked.set).resolve())
    return Bench(name, chosen, each, asked.repeat, asked.max_cost)


def _ran(asked: BenchFlags, bench: Bench, out: Path, former: Path | None) -> int:
    """Run the rest of a run, and show the results; return the exit code."""
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
    say("\n" + "\n".join(table(result)))


def show(name: str, task: str, json_: bool) -> None:
    """Show the table of a run, and why runs failed."""
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


def export(name: str, folder: Path | None, keep_secrets: bool) -> None:
    """Write a run as logs of Inspect AI."""
    dirs = app_dirs()
    out = find(name, dirs)
    redactor = Redactor((*known_secrets(os.environ), *KeyStore(dirs.config).secrets()))
    for path in write_logs(out, folder or out / "inspect", str if keep_secrets else redactor):
        say(str(path))
    for note in () if keep_secrets else redactor.notes():
        aside(note, "agentcli")
