"""The imperfect model: every kind of slip is used, a run without a slip is solved, and what only ends a run is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bench.bench_imperfect import SIDES, run
from tests.bench.imperfect import AGENTCLI, SLIPS, Imperfect, tasks, with_slips
from tests.sampling import first


def test_the_twenty_tasks_use_all_slips_and_each_action_has_one_at_most() -> None:
    assert (len(SLIPS), len(tasks())) == (38, 20)
    chosen = [slip for seed, task in enumerate(tasks()) for _, slip in with_slips(task, seed, 3, raw=True) if slip]
    assert {slip.name for slip in chosen} == {slip.name for slip in SLIPS}
    assert len(chosen) == 60


def test_a_model_that_learns_nothing_gives_up_an_action(tmp_path: Path) -> None:
    model = Imperfect(AGENTCLI, tmp_path, [(action, None) for action in tasks()[0].actions])
    said = [model._next("no such file") for _ in range(8)][-1]
    assert model.ended == "gave up"
    assert not [part for part in said.parts if hasattr(part, "input")]


@pytest.mark.parametrize("seed", first(1, [0, 12]))
def test_a_task_with_slips_is_solved_by_agentcli(seed: int) -> None:
    task = tasks()[seed]
    assert run(SIDES[0], task, with_slips(task, seed, 3, raw=True)).solved
