"""Results of a run: rates by task and variant. They are stored as JSON, shown as a table, and compared with an earlier
run.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from agentcli import __version__
from agentcli.core.dataclass import dataclass
from agentcli.core.errors import InputError
from agentcli.extras.batch.comparison import Difference, Run, Side, difference, side_as_json, sides_of
from agentcli.extras.batch.ledger import FINAL
from agentcli.extras.batch.results import Batch, load
from agentcli.extras.batch.work import folder_of
from agentcli.extras.bench.causes import cause_of, steps_of
from agentcli.extras.bench.running import note_of
from agentcli.system import probe
from agentcli.system.paths import replace_file

RESULT = "result.json"
"""Name of the file with the results of a run."""


@dataclass(frozen=True, slots=True)
class Result:
    """Results of a run. `causes` maps the ids of failed runs to the causes."""

    set: str
    sides: Sequence[Side]
    causes: Mapping[str, str]

    @property
    def tasks(self) -> Sequence[str]:
        """Ids of the tasks, in their order."""
        return list(dict.fromkeys(run.task for side in self.sides for run in side.runs))


def measured(out: Path) -> Result:
    """Return the results of the run in a folder, and store them there. Raise InputError if there is none."""
    note = note_of(out)
    batch = load(out)
    causes = _causes(batch)
    sides = [
        Side(side.name, tuple(replace(run, cause=causes.get(id, "")) for id, run in zip(ids, side.runs, strict=True)))
        for ids, side in zip(ids_by_side(batch), sides_of(batch), strict=True)
    ]
    if note:
        sides = [
            Side(each["label"] or "default", side.runs) for each, side in zip(note["variants"], sides, strict=True)
        ]
    found = Result(note["set"] if note else batch.name, sides, causes)
    replace_file(out / RESULT, json.dumps(as_json(found), indent=1) + "\n")
    return found


def ids_by_side(batch: Batch) -> Sequence[Sequence[str]]:
    """Return the ids of each side's runs, in the order of `sides_of` and of its runs."""
    found: dict[str, list[str]] = {}
    for id, task in batch.tasks.items():
        found.setdefault((task.get("run") or {"variant": ""})["variant"], []).append(id)
    return list(found.values())


def _causes(batch: Batch) -> Mapping[str, str]:
    found = {}
    for id, state in batch.states.items():
        row = state.newest
        if row.state in FINAL and row.state != "passed":
            found[id] = cause_of(row, folder_of(batch.out, id, row.attempt, row.token))
    return found


def as_json(result: Result) -> Mapping[str, Any]:
    """Return the results for scripts, with each run."""
    variants = []
    for side in result.sides:
        tasks = {task: side_as_json(of_task(side, task)) for task in result.tasks}
        runs = [asdict(run) for run in side.runs]
        variants.append({**side_as_json(side), "tasks": tasks, "each": runs})
    return {
        "version": 1,
        "agentcli": __version__,
        "set": result.set,
        "variants": variants,
        "causes": dict(result.causes),
    }


def read_result(path: Path) -> Result:
    """Read stored results from a run's folder or file. Raise InputError if there are none."""
    if probe.is_dir(path):
        return measured(path)
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
        sides = [Side(each["name"], tuple(Run(**run) for run in each["each"])) for each in raw["variants"]]
        return Result(raw["set"], sides, raw["causes"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} has no results of agentcli bench.") from error


def of_task(side: Side, task: str) -> Side:
    """Return the runs of one task."""
    return Side(side.name, tuple(run for run in side.runs if run.task == task))


def against(result: Result, former: Result) -> Sequence[Difference]:
    """Compare each variant with the earlier one of the same name, or with the only earlier one. Only common tasks
    count.
    """
    named = {side.name: side for side in former.sides}
    only = former.sides[0] if len(former.sides) == 1 else None
    pairs = [(named.get(side.name) or only, side) for side in result.sides]
    compared = []
    for before, side in pairs:
        common = {run.task for run in side.runs} & {run.task for run in before.runs} if before is not None else set()
        if before is not None and common:
            first, second = (tuple(run for run in each.runs if run.task in common) for each in (before, side))
            compared.append(difference(Side(f"{before.name} (before)", first), Side(side.name, second)))
    return compared


def table(result: Result) -> Iterator[str]:
    """Yield lines for people. Rows for each task and variant come first, then each variant as a whole, then the causes
    of failures.
    """
    wide = max(len(task) for task in [*result.tasks, "task"])
    name = max(len(side.name) for side in [*result.sides, Side("variant", ())])
    yield f"{'task':{wide}}  {'variant':{name}}  passed  95 % interval   $/run   tokens/run  steps  seconds"
    for task in result.tasks:
        for number, side in enumerate(result.sides):
            yield f"{'' if number else task:{wide}}  {side.name:{name}}  {_cells(of_task(side, task))}"
    yield ""
    for side in result.sides:
        rate = side.rate
        yield (
            f"{side.name}: {passes(side)} passed, {rate.value:.1%} (95 % interval {rate.low:.1%} to {rate.high:.1%}); a run: "
            f"${side.mean('cost'):.4f}, {side.mean('tokens'):,.0f} tokens, {side.mean('steps'):.1f} steps, {side.mean('seconds'):.1f} s"
        )
        if missing := len(side.runs) - len(side.ended):
            yield f"{side.name}: {missing} runs without a final result are not counted"
    if counts := causes_by_side(result):
        wide = max(len(cause) for cause in [*counts, "cause of failure"])
        names = [f"{side.name:>5}" for side in result.sides]
        yield f"\n{'cause of failure':{wide}}  {'  '.join(names)}"
        for cause, numbers in counts.items():
            yield f"{cause:{wide}}  {'  '.join(f'{each:>{len(name)}}' for name, each in zip(names, numbers, strict=True))}"


def _cells(side: Side) -> str:
    if not side.ended:
        return "–"
    rate = side.rate
    interval = f"{rate.low:.0%} – {rate.high:.0%}"
    spent = f"{side.mean('cost'):7.4f}  {side.mean('tokens'):11,.0f}  {side.mean('steps'):5.1f}  {side.mean('seconds'):7.1f}"
    return f"{passes(side):6}  {interval:13}  {spent}"


def causes_by_side(result: Result) -> Mapping[str, Sequence[int]]:
    """Return how many runs of each side failed for each cause, the most frequent cause first."""
    causes = [[run.cause for run in side.runs if run.cause] for side in result.sides]
    counts = {cause: [each.count(cause) for each in causes] for cause in dict.fromkeys(itertools.chain(*causes))}
    return dict(sorted(counts.items(), key=lambda item: -sum(item[1])))


def passes(side: Side) -> str:
    """Return the number of passes and of runs: `3/5`."""
    return f"{sum(run.passed for run in side.ended)}/{len(side.ended)}"


def parting(former: Path, out: Path, task: str) -> str:
    """Return where the first runs of a task in two folders diverge. The text has the number of the first different
    step, and both steps.
    """
    first, second = (_steps(folder, task) for folder in (former, out))
    for number, (one, two) in enumerate(zip([*first, "(end)"], [*second, "(end)"], strict=False), 1):
        if one != two:
            return f"{task}: they part at step {number}: {one[:60]} → {two[:60]}"
    return f"{task}: the same steps"


def _steps(out: Path, task: str) -> Sequence[str]:
    batch = load(out)
    for id, entry in batch.tasks.items():
        state = batch.states.get(id)
        if entry.get("run", {}).get("of", id) == task and state is not None:
            return steps_of(folder_of(out, id, state.newest.attempt, state.newest.token))
    return []
