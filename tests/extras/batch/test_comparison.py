"""Comparisons of batches that are written down, not run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agentcli.core.errors import UsageError
from agentcli.extras.batch.comparison import compared, in_lines, sides_of
from agentcli.extras.batch.intervals import unpaired, wilson
from agentcli.extras.batch.ledger import Ledger, Row, State
from agentcli.extras.batch.results import load
from agentcli.frontends.cli.parser import invoke


def batch(out: Path, states: dict[str, State], variant: str = "m", **more: object) -> Path:
    """A batch whose tasks, `NAME` or `NAME.REPEAT`, are in these states."""
    out.mkdir(parents=True, exist_ok=True)
    tasks = {}
    for id in states:
        name, _, number = id.partition(".")
        run = {"of": name, "variant": variant, "repeat": int(number or 1)}
        tasks[id] = {"digest": "", "repo": "", "base": "", "run": run}
    (out / "batch.json").write_text(json.dumps({"version": 1, "name": out.name, "options": {}, "tasks": tasks}))
    ledger = Ledger(out)
    for id, state in states.items():
        usage = {"input": 90, "output": 10, "reasoning": 5}
        ledger.write(Row(id, 1, "x", state, cost=0.5, seconds=2.0, usage=usage, turns=4, **more))  # type: ignore[arg-type]
    return out


def states(passed: int, failed: int, letter: str = "t") -> dict[str, State]:
    return {f"{letter}{n}": "passed" if n < passed else "failed" for n in range(passed + failed)}


def test_a_planted_regression_of_fifteen_points_in_forty_runs_is_called_one_and_noise_of_three_is_not(
    tmp_path: Path,
) -> None:
    before = batch(tmp_path / "before", states(36, 4))
    worse = batch(tmp_path / "worse", states(30, 10))
    noise = batch(tmp_path / "noise", {**states(36, 4), "t0": "failed"})
    sides = [side for out in (before, worse, noise, before) for side in sides_of(load(out))]
    found = compared(sides)
    assert [each.verdict for each in found] == ["worse", "no difference shown", "no difference shown"]
    assert [round(100 * each.rate.value, 1) for each in found] == [-15.0, -2.5, 0.0]
    assert [each.pairs for each in found] == [40, 40, 40]
    assert found[0].flipped == {f"t{n}": (1, 1, 0, 1) for n in range(30, 36)}
    assert compared(sides[1::-1])[0].verdict == "better"


def test_repeats_are_paired_by_task_and_number_and_runs_without_a_result_are_said_and_not_counted(
    tmp_path: Path,
) -> None:
    before = batch(tmp_path / "a", {"t": "passed", "t.2": "failed", "u": "passed", "u.2": "passed", "u.3": "passed"})
    after = batch(tmp_path / "b", {"t": "limited", "t.2": "lost", "u": "passed", "u.2": "passed"})
    [found] = compared([*sides_of(load(before)), *sides_of(load(after))])
    assert (found.pairs, found.alone) == (3, 2)
    assert (found.before.rate.value, found.after.rate.value) == (4 / 5, 2 / 3)
    assert found.flipped == {"t": (1, 2, 0, 1)}
    text = "\n".join(in_lines([found]))
    assert "1 without a final result, not counted" in text
    assert "2 runs have no partner" in text
    assert "t  1/2 → 0/1" in text


def test_batches_with_other_tasks_are_compared_as_independent_runs(tmp_path: Path) -> None:
    before, after = batch(tmp_path / "a", states(9, 1)), batch(tmp_path / "b", states(3, 7, "u"))
    [found] = compared([*sides_of(load(before)), *sides_of(load(after))])
    assert (found.pairs, found.rate) == (0, unpaired(wilson(9, 10), wilson(3, 10)))
    assert "independent runs" in "\n".join(in_lines([found]))


def test_the_command_compares_variants_and_batches(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before, after = batch(tmp_path / "a", states(20, 0)), batch(tmp_path / "b", states(0, 20))
    assert invoke(["batch", "compare", str(before), str(after), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [side["passed"] for side in found["sides"]] == [20, 0]
    assert found["sides"][0]["mean"] == {"cost": 0.5, "tokens": 100.0, "steps": 4.0, "seconds": 2.0}
    assert (found["differences"][0]["difference"]["value"], found["differences"][0]["verdict"]) == (-1.0, "worse")
    assert invoke(["batch", "compare", str(before), str(after)]) == 0
    assert "b against a: −100.0 points" in capsys.readouterr().out
    with pytest.raises(UsageError, match="Name a second batch"):
        invoke(["batch", "compare", str(before)])
