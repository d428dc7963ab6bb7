"""Comparison of batches: rates with intervals, their difference, cost, tokens, steps, time, tasks that flipped. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, field
from typing import Any

from agentcli.core.dataclass import dataclass
from agentcli.extras.batch.intervals import Interval, paired, unpaired, wilson
from agentcli.extras.batch.ledger import FINAL, TaskState
from agentcli.extras.batch.results import Batch

SHOWN = 20
"""Number of flipped tasks that are listed to people."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a task. `cost` is in USD; `tokens` are input, including cached, and output; `steps` are requests to
    the model.

    `ended` is False for a run without a final result, which no rate counts. `cause` is the cause of a failure, if
    known.
    """

    task: str
    repeat: int
    ended: bool
    passed: bool
    cost: float = 0.0
    tokens: int = 0
    steps: int = 0
    seconds: float = 0.0
    cause: str = ""


@dataclass(frozen=True, slots=True)
class Side:
    """Runs of one variant."""

    name: str
    runs: tuple[Run, ...]

    @property
    def ended(self) -> Sequence[Run]:
        """Runs with a final result."""
        return [run for run in self.runs if run.ended]

    @property
    def rate(self) -> Interval:
        """Share of the runs with a final result that passed."""
        return wilson(sum(run.passed for run in self.ended), len(self.ended))

    def mean(self, name: str) -> float:
        """Return the mean of a number over the runs with a final result; 0 without any."""
        return float(sum(getattr(run, name) for run in self.ended)) / (len(self.ended) or 1)


@dataclass(frozen=True, slots=True)
class Difference:
    """A side compared with the first one. `pairs` is the number of paired runs, 0 if they are independent; `alone` have no partner.

    `flipped` maps tasks to passes and runs before and after.
    """

    before: Side
    after: Side
    rate: Interval
    pairs: int
    alone: int
    flipped: Mapping[str, tuple[int, int, int, int]] = field(default_factory=dict)

    @property
    def verdict(self) -> str:
        """Verdict on the difference, in a word."""
        if not self.rate.shown:
            return "no difference shown"
        return "better" if self.rate.low > 0 else "worse"


def sides_of(batch: Batch) -> Sequence[Side]:
    """Return a side for each variant of a batch, in the order of its tasks."""
    found: dict[str, list[Run]] = {}
    for id, task in batch.tasks.items():
        place = task.get("run") or {"of": id, "variant": "", "repeat": 1}
        found.setdefault(place["variant"], []).append(_run(place, batch.states.get(id)))
    several = len(found) > 1
    return [Side(label if several and label else batch.name, tuple(runs)) for label, runs in found.items()]


def compared(sides: Sequence[Side]) -> Sequence[Difference]:
    """Compare each side with the first one."""
    return [difference(sides[0], side) for side in sides[1:]]


def difference(before: Side, after: Side) -> Difference:
    """Compare two sides. If both have the same tasks, runs of the same task and number are paired; otherwise they count
    as independent.

    Pairs remove the difference between easy and hard tasks, the largest part of the variance, from the interval.
    """
    first, second = ({(run.task, run.repeat): run for run in side.ended} for side in (before, after))
    flipped = _flipped(before, after)
    if {run.task for run in before.runs} != {run.task for run in after.runs}:
        return Difference(before, after, unpaired(before.rate, after.rate), 0, 0, flipped)
    both = [(first[key].passed, second[key].passed) for key in first if key in second]
    alone = len(first) + len(second) - 2 * len(both)
    if not both:
        return Difference(before, after, Interval(0.0, -1.0, 1.0), 0, alone, flipped)
    counts = [both.count(pair) for pair in ((True, True), (True, False), (False, True), (False, False))]
    return Difference(before, after, paired(*counts), len(both), alone, flipped)


def _flipped(before: Side, after: Side) -> Mapping[str, tuple[int, int, int, int]]:
    """Return tasks with different pass rates, the greatest loss first."""
    first, second = _by_task(before), _by_task(after)
    both = {task: (*first[task], *second[task]) for task in first if task in second}
    changed = {task: each for task, each in both.items() if each[0] * each[3] != each[2] * each[1]}
    return dict(sorted(changed.items(), key=lambda item: item[1][2] / item[1][3] - item[1][0] / item[1][1]))


def _by_task(side: Side) -> Mapping[str, tuple[int, int]]:
    found: dict[str, tuple[int, int]] = {}
    for run in side.ended:
        passed, runs = found.get(run.task, (0, 0))
        found[run.task] = passed + run.passed, runs + 1
    return found


def _run(place: Mapping[str, Any], state: TaskState | None) -> Run:
    if state is None:
        return Run(place["of"], place["repeat"], False, False)
    row = state.newest
    kinds = ("input", "output", "cache_read", "cache_write")
    return Run(
        task=place["of"],
        repeat=place["repeat"],
        ended=row.state in FINAL,
        passed=row.state == "passed",
        cost=state.cost,
        tokens=sum(row.usage.get(kind, 0) for kind in kinds),
        steps=row.turns,
        seconds=row.seconds,
    )


def in_lines(found: Sequence[Difference]) -> Iterator[str]:
    """Describe the comparison to people."""
    sides = [found[0].before, *(each.after for each in found)]
    wide = max(len(side.name) for side in sides)
    yield f"{'':{wide}}  passed       rate  95 % interval   $/run   tokens/run  steps  seconds"
    for side in sides:
        rate = side.rate
        passed = f"{sum(run.passed for run in side.ended)}/{len(side.ended)}"
        yield (
            f"{side.name:{wide}}  {passed:9} {rate.value:7.1%}  {rate.low:5.1%} – {rate.high:<6.1%} "
            f"{side.mean('cost'):7.4f}  {side.mean('tokens'):11,.0f}  {side.mean('steps'):5.1f}  {side.mean('seconds'):7.1f}"
        )
        if missing := len(side.runs) - len(side.ended):
            yield f"{'':{wide}}  {missing} without a final result, not counted"
    for each in found:
        yield from ("", *_difference_lines(each))


def _difference_lines(found: Difference) -> Iterator[str]:
    rate = found.rate
    how = f"{found.pairs} pairs of runs of the same tasks" if found.pairs else "independent runs: the tasks differ"
    yield (
        f"{found.after.name} against {found.before.name}: {_points(rate.value)} points, "
        f"95 % interval {_points(rate.low)} to {_points(rate.high)} ({how}): {found.verdict}"
    )
    if found.alone:
        yield f"{found.alone} runs have no partner and are left out of the difference."
    for task, (passed, runs, passed_now, runs_now) in list(found.flipped.items())[:SHOWN]:
        yield f"  {task}  {passed}/{runs} → {passed_now}/{runs_now}"
    if len(found.flipped) > SHOWN:
        yield f"  … and {len(found.flipped) - SHOWN} more tasks that differ"


def _points(share: float) -> str:
    return f"{100 * share:+.1f}".replace("-", "−")


def as_json(found: Sequence[Difference]) -> Mapping[str, Any]:
    """Return the comparison for scripts: rates and differences are shares, means are per run."""
    sides = [found[0].before, *(each.after for each in found)]
    return {
        "sides": [side_as_json(side) for side in sides],
        "differences": [
            {
                "before": each.before.name,
                "after": each.after.name,
                "difference": asdict(each.rate),
                "method": "Newcombe 1998, paired" if each.pairs else "Newcombe 1998, independent",
                "pairs": each.pairs,
                "without_partner": each.alone,
                "verdict": each.verdict,
                "flipped": {
                    task: {"before": list(counts[:2]), "after": list(counts[2:])}
                    for task, counts in each.flipped.items()
                },
            }
            for each in found
        ],
    }


def side_as_json(side: Side) -> Mapping[str, Any]:
    """Return a side for scripts."""
    return {
        "name": side.name,
        "runs": len(side.ended),
        "unfinished": len(side.runs) - len(side.ended),
        "passed": sum(run.passed for run in side.ended),
        "rate": asdict(side.rate),
        "mean": {name: side.mean(name) for name in ("cost", "tokens", "steps", "seconds")},
    }
