"""Input of one start of a task."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from agentcli.core.errors import StoreError
from agentcli.extras.batch.ledger import Row
from agentcli.extras.batch.results import load
from agentcli.extras.batch.work import Work
from tests.extras.batch.test_driver import Played, run, tasks


def test_a_provider_that_refuses_for_the_time_being_is_asked_again_without_an_attempt(tmp_path: Path) -> None:
    calls = {"left": 3}

    def ends(work: Work) -> Row:
        calls["left"] -= 1
        return Row("", 0, "", "waiting" if calls["left"] >= 0 else "passed", tries=work.start.tries + 1)

    played = Played(ends)
    assert run(tmp_path / "out", played, tasks(1)) == 0
    assert played.started == [("t0", 1)] * 4
    assert (
        run(tmp_path / "never", Played(lambda work: Row("", 0, "", "waiting", tries=work.start.tries + 1)), tasks(1))
        == 1
    )


def test_attempts_are_made_together_and_the_smallest_patch_that_passed_counts(tmp_path: Path) -> None:
    lines = {1: 9, 2: 5, 3: 7, 4: 1}

    def ends(work: Work) -> Row:
        attempt = work.start.attempt
        return Row("", 0, "", "failed" if attempt == 4 else "passed", cost=0.1, patch_lines=lines[attempt])

    played = Played(ends)
    assert run(tmp_path / "out", played, tasks(1, attempts=4, check="x"), together=True, workers=8) == 0
    assert (played.most, sorted(played.started)) == (4, [("t0", n) for n in (1, 2, 3, 4)])
    state = load(tmp_path / "out").states["t0"]
    assert (state.newest.attempt, state.cost) == (2, pytest.approx(0.4))
    assert run(tmp_path / "out", again := Played(ends), tasks(1, attempts=4, check="x"), together=True) == 0
    assert again.started == []


def test_results_that_cannot_be_written_stop_the_batch_and_start_nothing_more(tmp_path: Path) -> None:
    def full(work: Work) -> Row:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    played = Played(full)
    with pytest.raises(StoreError, match=r"No space left on device\. Free some space, and run the batch again"):
        run(tmp_path / "out", played, tasks(3), workers=1)
    assert played.started == [("t0", 1)]
